"""What transactions wrote, how each ended, and who waits for one."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import committed_readers
from analysis.statements.facts import fact_named

_LOG = ("topic", "partition")
_OF_ID = (*_LOG, "producer_id", "_number")


writes = fact_named("transactional_writes")
stored_of_transactions = fact_named("stored_of_transactions")


def waiting(moments: Frame, trace: Trace) -> Frame:
    """(group, topic, partition, position, at_micros, open_at): moments at the last stable offset.

    open_at is where the first transaction began that was open then. It is at the position, or
    below; or above if only control records and aborted batches lie between, which a client need not
    count into its position.

    Args:
        moments: with group, topic, partition, position, at_micros.
        trace: the run.
    """
    moment = ("group", *_LOG, "position", "at_micros")
    asked = trace.engine.materialized(
        moments.where("position is not null")
        .join(committed_readers(trace), on=["group", "topic"], how="left_semi")
        .select(*moment)
        .distinct()
    )
    if asked.isEmpty():
        return asked.withColumn("open_at", F.lit(None).cast("bigint"))
    batches = _batches(trace).join(asked.select(*_LOG).distinct(), on=list(_LOG))
    spans = trace.engine.materialized(_spans(batches))
    next_data = (
        batches.where("not is_control")
        .drop("control_type")
        .join(spans, on=list(_OF_ID), how="left")
        .where("not (is_transactional and control_type <=> 'abort')")
        .join(asked, on=list(_LOG), how="inner")
        .where("last_offset >= position")
        .groupBy(*moment)
        .agg(F.min("base_offset").alias("_next"))
    )
    return (
        asked.join(next_data, on=list(moment), how="left")
        .join(spans, on=list(_LOG), how="inner")
        .where(f"ended_micros is null or ended_micros > at_micros - {trace.clock_micros}")
        .where("first_offset <= greatest(position, _next)")
        .groupBy(*moment)
        .agg(F.min("first_offset").alias("open_at"))
    )


def _batches(trace: Trace) -> Frame:
    """Batches of the surviving log; _number counts the transactions of their producer id before."""
    of_id = Window.partitionBy(*_LOG, "producer_id").orderBy("base_offset")
    before = of_id.rowsBetween(Window.unboundedPreceding, -1)
    return (
        trace["replica_batches"]
        .join(trace.survivors, on=[*_LOG, "broker"], how="left_semi")
        .select(
            *_LOG,
            "producer_id",
            "base_offset",
            "last_offset",
            "max_timestamp_micros",
            "control_type",
            F.coalesce("is_control", F.expr("false")).alias("is_control"),
            F.coalesce("is_transactional", F.expr("false")).alias("is_transactional"),
        )
        .distinct()
        .withColumn("_control", F.col("is_control").cast("int"))
        .withColumn("_number", F.coalesce(F.sum("_control").over(before), F.lit(0)))
    )


def _spans(batches: Frame) -> Frame:
    """_OF_ID, first_offset, ended_micros and control_type: of its marker, null without one.

    A marker's batch has the time at which the leader appended it.
    """
    return (
        batches.where("is_transactional")
        .groupBy(*_OF_ID)
        .agg(
            F.min(F.when(~F.col("is_control"), F.col("base_offset"))).alias("first_offset"),
            F.min(F.when(F.col("is_control"), F.col("max_timestamp_micros"))).alias("ended_micros"),
            F.min(F.when(F.col("is_control"), F.col("control_type"))).alias("control_type"),
        )
        .where("first_offset is not null")
    )

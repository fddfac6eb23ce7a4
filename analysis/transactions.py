"""What transactions wrote and how each ended: what several checks ask.

How a transaction ended is what its client was told, else the marker that ends it in the log.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.load import Trace
from harness.contract.outcomes import Isolation

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")


def committed_readers(trace: Trace) -> DataFrame:
    """(group, topic): the plan's groups that read committed values only."""
    committed = trace.readers.where(F.col("isolation") == str(Isolation.READ_COMMITTED))
    return committed.select("group", "topic")


def writes(trace: Trace) -> DataFrame:
    """Each value of a transaction with its fate.

    Columns: topic, partition, producer, transaction, value, offset (where acknowledged, else where
    a replica holds it, else null), fate (committed, aborted, failed, unknown), reason.
    """
    return trace.shared("transactional_writes", lambda: _judged_writes(trace))


def _judged_writes(trace: Trace) -> DataFrame:
    held = trace["replica_records"].groupBy(*_LOG, "value").agg(F.min("offset").alias("held_at"))
    sends = (
        trace["sends"]
        .where("transaction is not null")
        .join(held, on=[*_LOG, "value"], how="left")
        .withColumn("offset", F.coalesce("offset", "held_at"))
        .select(*_LOG, *_TRANSACTION, "value", "offset", "outcome")
    )
    judged = (
        sends.join(F.broadcast(_ends(trace)), on=list(_TRANSACTION), how="left")
        .join(_markers(trace, sends), on=[*_LOG, "offset"], how="left")
        .withColumn("told", F.coalesce("told", F.lit("unknown")))
    )
    is_failed = F.col("outcome") == "failed"
    fate = (
        F.when(is_failed, "failed")
        .when(F.col("told") == "aborted", "aborted")
        .when(F.col("told") == "committed", "committed")
        .when(F.col("marker") == "abort", "aborted")
        .when(F.col("marker") == "commit", "committed")
        .otherwise("unknown")
    )
    reason = (
        F.when(is_failed, "the send failed")
        .when(F.col("told") == "aborted", "the client was told that it is not committed")
        .when(F.col("marker") == "abort", "an abort marker ends it")
        .otherwise("nothing tells how it ended")
    )
    return judged.select(
        *_LOG, *_TRANSACTION, "value", "offset", fate.alias("fate"), reason.alias("reason")
    )


def _ends(trace: Trace) -> DataFrame:
    """(producer, transaction, told): committed, aborted or unknown, as the client was told."""
    ends = trace["transactions"].where("step in ('commit', 'abort')")
    is_ok = F.col("outcome") == "ok"
    return ends.groupBy(*_TRANSACTION).agg(
        F.when(F.max((is_ok & (F.col("step") == "commit")).cast("int")) == 1, "committed")
        .when(F.max((is_ok & (F.col("step") == "abort")).cast("int")) == 1, "aborted")
        .when(F.max((F.col("outcome") == "unknown").cast("int")) == 1, "unknown")
        .otherwise("aborted")
        .alias("told")
    )


def _markers(trace: Trace, sends: DataFrame) -> DataFrame:
    """(topic, partition, offset, marker): the control record that ends each offset's transaction.

    It is the first one of the same producer id behind it, in any replica: commit or abort.
    """
    batches = trace["replica_batches"].where("is_transactional and producer_id >= 0")
    control = batches.where("is_control").select(
        *_LOG, "producer_id", F.col("base_offset").alias("_at"), "control_type"
    )
    data = batches.where("not is_control").select(
        *_LOG, "producer_id", "base_offset", "last_offset"
    )
    ended = (
        data.distinct()
        .join(control.distinct(), on=[*_LOG, "producer_id"], how="inner")
        .where("_at > last_offset")
        .groupBy(*_LOG, "base_offset", "last_offset")
        .agg(F.min_by("control_type", "_at").alias("marker"))
    )
    wanted = sends.where("offset is not null").select(*_LOG, "offset").distinct()
    return (
        wanted.join(ended, on=list(_LOG), how="inner")
        .where("offset >= base_offset and offset <= last_offset")
        .groupBy(*_LOG, "offset")
        .agg(F.min("marker").alias("marker"))
    )

"""Whether transactions are whole, and aborted ones hidden (taxonomy A8, C).

How a transaction ended is what its client was told, else the marker that ends it in the log.
"""

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings, spans
from analysis.load import Trace, local_frame
from analysis.progress import final_positions
from harness.contract.outcomes import Isolation

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_READERS = pa.schema({"group": pa.string(), "topic": pa.string()})


def aborted_read(trace: Trace) -> CheckOutcome:
    """A8: a read_committed group was delivered what no committed transaction wrote.

    That is a value of a failed send, or of a transaction that the client was told is not committed,
    or that an abort marker ends in the log. Undecided where neither client nor log tells its end.
    """
    untaken = _writes(trace).where("fate != 'committed'")
    readers = F.broadcast(_committed_readers(trace))
    owed = untaken.join(readers, on="topic", how="inner")
    delivered = trace["polls"].select("group", *_LOG, "offset", "value", "polled_micros")
    read = owed.drop("offset").join(delivered, on=["group", *_LOG, "value"], how="inner")
    found = spans(
        read,
        "group",
        *_LOG,
        *_TRANSACTION,
        "fate",
        "reason",
        at=F.min("polled_micros"),
    )
    return CheckOutcome(
        findings(
            found,
            evidence=("records", *_TRANSACTION, "reason"),
            kind=F.col("fate"),
            verdict=F.when(F.col("fate") == "unknown", "undecided").otherwise("violation"),
            cause=F.format_string(
                "%s values of transaction %s of %s were delivered as committed: %s",
                "records",
                "transaction",
                "producer",
                "reason",
            ),
        ),
        count(owed),
    )


def torn_transaction(trace: Trace) -> CheckOutcome:
    """C: of a committed transaction, a read_committed group went past writes and never got them.

    Kind `torn` where it got others, `hidden` where it got none. Judged is each committed write that
    a group went past. Permitted where an unclean election may have removed the write; undecided
    where nothing tells that it was ever appended.
    """
    passed = (
        _writes(trace)
        .where("fate = 'committed'")
        .join(F.broadcast(_committed_readers(trace)), on="topic", how="inner")
        .join(final_positions(trace), on=["group", *_LOG], how="inner")
        .where("offset is null or (offset >= first_offset and offset < final_position)")
    )
    delivered = trace["polls"].select("group", *_LOG, "value").distinct()
    judged = (
        passed.join(
            delivered.withColumn("_got", F.lit(1)), on=["group", *_LOG, "value"], how="left"
        )
        .withColumn("is_missed", F.col("_got").isNull())
        .withColumn(
            "seen",
            F.sum(F.coalesce("_got", F.lit(0))).over(Window.partitionBy("group", *_TRANSACTION)),
        )
    )
    missed = (
        judged.where("is_missed")
        .join(
            trace.surviving.select(*_LOG, "value", F.lit(1).alias("_kept")),
            on=[*_LOG, "value"],
            how="left",
        )
        .join(F.broadcast(trace.topics.select("topic", "unclean_election")), on="topic", how="left")
        .withColumn("verdict", _verdict_of_missed())
        .groupBy("group", *_LOG, *_TRANSACTION, "verdict", "seen")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("offset").alias("offset_last"),
            F.count(F.lit(1)).alias("records"),
        )
    )
    return CheckOutcome(
        findings(
            missed,
            evidence=("records", *_TRANSACTION, "seen"),
            kind=F.when(F.col("seen") > 0, "torn").otherwise("hidden"),
            verdict=F.col("verdict"),
            cause=F.format_string(
                "%s values of committed transaction %s of %s were passed and never delivered;"
                " %s others were",
                "records",
                "transaction",
                "producer",
                "seen",
            ),
        ),
        count(judged),
    )


def _verdict_of_missed() -> Column:
    is_lost = F.col("_kept").isNull()
    return (
        F.when(F.col("offset").isNull(), "undecided")
        .when(is_lost & F.col("unclean_election"), "permitted")
        .otherwise("violation")
    )


def _committed_readers(trace: Trace) -> DataFrame:
    """(group, topic): the plan's groups that read committed values only."""
    groups = [
        {"group": group.group, "topic": group.topic}
        for group in trace.plan.groups
        if group.isolation == Isolation.READ_COMMITTED
    ]
    return local_frame(trace.spark, pa.Table.from_pylist(groups, schema=_READERS))


def _writes(trace: Trace) -> DataFrame:
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

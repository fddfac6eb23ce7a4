"""How each transaction ended: by the marker that ends it in the log, else by its client's answer.

A refused EndTxn proves nothing: an earlier attempt, whose answer was lost, may have come through.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import client_offsets
from analysis.facts.declared import of_table
from analysis.facts.trace import Trace, fact, view
from contract.outcomes import Isolation
from contract.table_columns import int32, int64, string
from contract.tables import MICROS_PER_SECOND

RETRY_MICROS = MICROS_PER_SECOND // 10
"""`retry.backoff.ms`: a request that took less was tried once."""

MARKED_SECONDS = 10
"""Every partition of a transaction that has ended has its marker after so long."""

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_OF_TRANSACTION = of_table("transactions", *_TRANSACTION)
OUTCOME = (
    string("reported", "as of `ends`; unknown where the client did not set out to end it"),
    string("marker", "the control record that ends it in the log; null where none does"),
    int64("marker_at"),
    string("ended_as", "committed, aborted, failed, unknown"),
    string("reason"),
)


@view(string("group"), string("topic"))
def committed_readers(trace: Trace) -> Frame:
    """The plan's groups that read committed values only."""
    return trace.readers.where(F.col("isolation") == str(Isolation.READ_COMMITTED))


def with_outcomes(sends: Frame, trace: Trace) -> Frame:
    """Add how each send's transaction ended.

    Further columns: those of OUTCOME.

    Where both kinds of markers end a transaction's writes in one partition, one of them came too
    early or too late (KAFKA-17754). The transaction's own marker is the one that agrees with the
    response to its client.

    Args:
        sends: with topic, partition, producer, transaction, offset, outcome.
        trace: the run.
    """
    of_partition = Window.partitionBy(*_LOG, *_TRANSACTION)
    judged = (
        sends.join(
            ends(trace).select(*_TRANSACTION, "reported"),
            on=list(_TRANSACTION),
            how="left",
        )
        .join(markers(trace, sends), on=[*_LOG, "offset"], how="left")
        .withColumn("reported", F.coalesce("reported", F.lit("unknown")))
        .withColumn("_least", F.min("marker").over(of_partition))
        .withColumn("_most", F.max("marker").over(of_partition))
    )
    is_failed = F.col("outcome") == "failed"
    is_reported = F.col("reported").isin("committed", "aborted")
    is_of_another = is_reported & (F.col("_least") != F.col("_most")) & F.col("marker").isNotNull()
    ended_as = (
        F.when(is_failed, "failed")
        .when(is_of_another, F.col("reported"))
        .when(F.col("marker") == "abort", "aborted")
        .when(F.col("marker") == "commit", "committed")
        .when(is_reported, F.col("reported"))
        .otherwise("unknown")
    )
    reason = (
        F.when(is_failed, "the send failed")
        .when(
            is_of_another,
            F.concat(
                F.lit("commit and abort markers have its producer id; its own is: "), "reported"
            ),
        )
        .when(F.col("marker") == "abort", "an abort marker ends it")
        .when(F.col("marker") == "commit", "a commit marker ends it")
        .when(is_reported, F.concat(F.lit("its client reported it as "), "reported"))
        .otherwise("neither a marker nor its client shows how it ended")
    )
    return judged.select(
        *sends.columns,
        "reported",
        "marker",
        "marker_at",
        ended_as.alias("ended_as"),
        reason.alias("reason"),
    )


@view(
    *_OF_TRANSACTION,
    string("reported", "committed, aborted, refused or unknown: the last outcome at the client"),
    int64("commit_micros", "when it set out to commit; null if it never did"),
    int64("waited_micros", "the longest wait for a response to that"),
    string("worker"),
)
def ends(trace: Trace) -> Frame:
    """How each transaction ended that its client set out to end.

    A transaction that its client only tried to abort is aborted, whatever the answer: no other
    client may commit it. One whose commit was refused is `refused`.
    """
    steps = trace["transactions"].where("step in ('commit', 'abort')")
    is_ok = F.col("outcome") == "ok"
    return steps.groupBy(*_TRANSACTION).agg(
        F.when(F.max((is_ok & (F.col("step") == "commit")).cast("int")) == 1, "committed")
        .when(F.max((is_ok & (F.col("step") == "abort")).cast("int")) == 1, "aborted")
        .when(F.max((F.col("outcome") == "unknown").cast("int")) == 1, "unknown")
        .when(F.max((F.col("step") == "commit").cast("int")) == 1, "refused")
        .otherwise("aborted")
        .alias("reported"),
        F.min(F.when(F.col("step") == "commit", F.col("began_micros"))).alias("commit_micros"),
        F.max(F.when(F.col("step") == "commit", F.col("at_micros") - F.col("began_micros"))).alias(
            "waited_micros"
        ),
        F.min("worker").alias("worker"),
    )


@fact(
    *of_table(
        "committed_offsets",
        "group",
        *_LOG,
        "offset",
        "offsets_partition",
        "offsets_offset",
        "marker",
    ),
    *_OF_TRANSACTION,
)
def offset_commits(trace: Trace) -> Frame:
    """Stored offsets that belong to transactions.

    Which transaction it is follows from producer id and epoch; where several have the same, it is
    the last that had begun. Empty for older runs, whose commits have no producer id.
    """
    begun = (
        trace["transactions"]
        .where("change = 'begun' and producer_id >= 0")
        .select("producer_id", "producer_epoch", *_TRANSACTION, "began_micros")
    )
    stored = (
        client_offsets(trace)
        .where("producer_id >= 0 and not is_tombstone")
        .select(
            "group",
            *_LOG,
            "offset",
            "offsets_partition",
            "offsets_offset",
            "marker",
            "producer_id",
            "producer_epoch",
            "committed_micros",
        )
    )
    latest = F.max_by(F.struct(*_TRANSACTION), "began_micros")
    return (
        stored.join(begun, on=["producer_id", "producer_epoch"], how="inner")
        .where(f"began_micros <= committed_micros + {trace.clock_micros}")
        .groupBy(*stored.columns)
        .agg(latest.alias("_of"))
        .select(*stored.columns[:7], "_of.producer", "_of.transaction")
    )


def markers(trace: Trace, sends: Frame) -> Frame:
    """(topic, partition, offset, marker, marker_at): what ends each offset's transaction, where.

    It is the first control record of the same producer id behind it, in any replica.
    """
    of_id = Window.partitionBy(*_LOG, "producer_id").orderBy(F.desc("base_offset"), "control_type")
    behind = of_id.rowsBetween(Window.unboundedPreceding, -1)
    control = F.when(F.col("is_control"), F.struct("control_type", "base_offset"))
    ended = (
        trace["replica_batches"]
        .where("is_transactional and producer_id >= 0")
        .select(*_LOG, "producer_id", "base_offset", "last_offset", "is_control", "control_type")
        .distinct()
        .withColumn("_end", F.last(control, ignorenulls=True).over(behind))
        .where("not is_control and _end is not null")
        .select(
            *_LOG,
            F.col("base_offset").alias("offset"),
            F.struct("last_offset", "_end").alias("_batch"),
        )
    )
    wanted = sends.where("offset is not null").select(*_LOG, "offset").distinct()
    by_offset = Window.partitionBy(*_LOG).orderBy("offset", "_is_wanted")
    return (
        wanted.withColumn("_is_wanted", F.lit(1))
        .unionByName(ended.withColumn("_is_wanted", F.lit(0)), allowMissingColumns=True)
        .withColumn("_batch", F.last("_batch", ignorenulls=True).over(by_offset))
        .where("_is_wanted = 1 and offset <= _batch.last_offset")
        .selectExpr(
            *_LOG,
            "offset",
            "_batch._end.control_type as marker",
            "_batch._end.base_offset as marker_at",
        )
    )


@fact(
    *_OF_TRANSACTION,
    string("transactional_id"),
    int64("producer_id"),
    int32("producer_epoch"),
    int32("_reported", "the newer epoch"),
    int64("raised_micros"),
    string("raised_by", "the worker"),
)
def fenced(trace: Trace) -> Frame:
    """Transactions with every report of a newer epoch of their transactional.id.

    Where the client reports no epoch, _reported is null, and another producer's initialization
    counts.
    """
    steps = trace["transactions"]
    begun = steps.where("change = 'begun'").select(
        *_TRANSACTION, "transactional_id", "producer_id", "producer_epoch"
    )
    reported = steps.where("outcome = 'ok'").select(
        "transactional_id",
        F.col("worker").alias("raised_by"),
        F.col("producer").alias("_teller"),
        F.col("step").alias("_step"),
        F.col("producer_epoch").alias("_reported"),
        F.col("at_micros").alias("raised_micros"),
    )
    is_newer = (F.col("producer_epoch") >= 0) & (F.col("_reported") > F.col("producer_epoch"))
    is_unreported = (
        (F.col("producer_epoch") < 0)
        & (F.col("_step") == "initialize")
        & (F.col("_teller") != F.col("producer"))
    )
    return (
        begun.join(reported, on="transactional_id", how="inner")
        .where(is_newer | is_unreported)
        .withColumn("_reported", F.when(is_newer, F.col("_reported")))
    )

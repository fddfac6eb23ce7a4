"""Whether a producer is refused once a newer producer epoch is in force (taxonomy G13).

With transaction.version=2 (KIP-890) each commit and abort raises the producer epoch, and its marker
has the raised one. So which epoch is low is judged by the order of the log, never by counting.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.checks.base import CheckOutcome, count, findings
from analysis.fates import fenced
from analysis.load import Trace

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_FENCING = ("ProducerFencedException", "InvalidProducerEpochException")


def zombie_producer_accepted(trace: Trace) -> CheckOutcome:
    """G13: an old producer epoch in a log after a newer one, or acknowledged after it was raised.

    Judged are the batches of producer ids whose epoch was raised within a log, and what a producer
    began to send or commit after a newer epoch of its transactional.id was told. A refusal
    with another error than a fencing one is permitted, and counted.
    """
    batches = _raised_batches(trace)
    acts = _acts_of_fenced(trace)
    old = batches.where("producer_epoch < highest.producer_epoch")
    appended = (
        old.withColumn("newer_epoch", F.col("highest.producer_epoch"))
        .groupBy(*_LOG, "producer_id", "producer_epoch", "newer_epoch")
        .agg(
            F.min("base_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.count(F.lit(1)).alias("batches"),
        )
    )
    in_log = findings(
        appended,
        evidence=("producer_id", "producer_epoch", "newer_epoch", "batches"),
        kind=F.lit("appended"),
        verdict=F.lit("violation"),
        cause=F.format_string(
            "%s batches of producer id %s, epoch %s, lie behind one of epoch %s",
            "batches",
            "producer_id",
            "producer_epoch",
            "newer_epoch",
        ),
    )
    evaluated = count(batches.select("producer_id").union(acts.select("producer_id")))
    return CheckOutcome(in_log.unionByName(_told_acts(acts, trace.clock_micros)), evaluated)


def _raised_batches(trace: Trace) -> DataFrame:
    """Surviving batches of ids with several epochs in a log, with the highest epoch before each."""
    key = ("base_offset", "last_offset", "producer_id", "producer_epoch")
    of_id = Window.partitionBy(*_LOG, "producer_id")
    before = of_id.orderBy("base_offset").rowsBetween(Window.unboundedPreceding, -1)
    return (
        trace["replica_batches"]
        .where("producer_id >= 0")
        .join(F.broadcast(trace.survivors), on=[*_LOG, "broker"], how="left_semi")
        .select(*_LOG, *key)
        .distinct()
        .withColumn("highest", F.max(F.struct("producer_epoch", "base_offset")).over(before))
        .withColumn("_first", F.min("producer_epoch").over(of_id))
        .withColumn("_last", F.max("producer_epoch").over(of_id))
        .where("_first < _last")
        .drop("_first", "_last")
    )


def _acts_of_fenced(trace: Trace) -> DataFrame:
    """What producers began to send or commit after a newer epoch of their id was told.

    Columns: worker, producer, transaction, transactional_id, producer_id, producer_epoch, act,
    topic, partition, sequence, offset, outcome, error, began_micros, newer_epoch, raised_micros,
    raised_by (worker). Where the client tells no epoch, newer_epoch is null, and another producer's
    initialization counts.
    """
    steps = trace["transactions"]
    about = ("act", *_LOG, "sequence", "offset", "outcome", "error", "began_micros")
    sends = (
        closeup.sends(trace)
        .where("transaction is not null")
        .withColumn("act", F.lit("send"))
        .withColumn("began_micros", F.col("intended_micros"))
        .select("worker", *_TRANSACTION, *about)
    )
    ends = steps.where("step in ('commit', 'send_offsets')").select(
        "worker",
        *_TRANSACTION,
        F.col("step").alias("act"),
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("bigint").alias("sequence"),
        F.lit(None).cast("bigint").alias("offset"),
        "outcome",
        "error",
        "began_micros",
    )
    raised = F.broadcast(fenced(trace))
    acts = sends.unionByName(ends).join(raised, on=list(_TRANSACTION), how="inner")
    raisings = ("_told", "raised_by", "raised_micros")
    keys = [name for name in acts.columns if name not in raisings]
    earliest = F.min(F.struct("raised_micros", "raised_by", F.col("_told").alias("new")))
    return trace.materialized(
        acts.where("began_micros > raised_micros")
        .groupBy(*keys)
        .agg(earliest.alias("_raised"))
        .withColumn("newer_epoch", F.col("_raised.new"))
        .withColumn("raised_micros", F.col("_raised.raised_micros"))
        .withColumn("raised_by", F.col("_raised.raised_by"))
        .drop("_raised"),
        is_close=True,
    )


def _told_acts(acts: DataFrame, clock_micros: int) -> DataFrame:
    """Findings of acts that were acknowledged, may have been, or were refused otherwise."""
    after = F.col("began_micros") - F.col("raised_micros")
    is_near = (F.col("worker") != F.col("raised_by")) & (after <= clock_micros)
    is_taken = F.col("outcome") == "ok"
    is_unclear = (F.col("outcome") == "unknown") & (F.col("act") != "send")
    is_other = (F.col("outcome") == "failed") & ~F.col("error").isin(*_FENCING)
    judged = (
        acts.where(is_taken | is_unclear | is_other)
        .withColumn("kind", F.when(is_other, "refused otherwise").otherwise(F.col("act")))
        .withColumn(
            "verdict",
            F.when(is_other, "permitted")
            .when(is_unclear | is_near | F.col("newer_epoch").isNull(), "undecided")
            .otherwise("violation"),
        )
        .groupBy(
            *_TRANSACTION,
            *_LOG,
            "transactional_id",
            "producer_epoch",
            "newer_epoch",
            "act",
            "outcome",
            "error",
            "kind",
            "verdict",
        )
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("offset").alias("offset_last"),
            F.count(F.lit(1)).alias("acts"),
            F.min("began_micros").alias("at"),
        )
    )
    return findings(
        judged,
        evidence=(
            *_TRANSACTION,
            "transactional_id",
            "producer_epoch",
            "newer_epoch",
            "acts",
            "outcome",
            "error",
        ),
        kind=F.col("kind"),
        verdict=F.col("verdict"),
        cause=F.format_string(
            "%s times %s of %s under epoch %s, begun after epoch %s was told: %s (%s)",
            "acts",
            "act",
            "producer",
            "producer_epoch",
            F.coalesce(F.col("newer_epoch").cast("string"), F.lit("of another producer")),
            "outcome",
            F.coalesce("error", F.lit("no error")),
        ),
    )

"""Who may be in an ISR, and who may acknowledge (taxonomy G)."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings, spans
from analysis.load import Trace

_LOG = ("topic", "partition")
_CLOCK_MICROS = 50_000
"""Times of different nodes are compared within this bound; inside it, nothing is decided."""
_MICROS_PER_SECOND = 1_000_000


def fenced_in_isr(trace: Trace) -> CheckOutcome:
    """G7: a partition changed, and had a broker in its ISR that was fenced (KIP-841).

    States are judged at the end of each metadata batch: the controller fences a broker and takes it
    out of the ISRs in one. A partition without a leader keeps its last ISR, which breaks nothing.
    Undecided where the metadata log does not tell of the broker before.
    """
    changes, states = _batch_ends(trace)
    members = changes.withColumn("broker", F.explode("isr"))
    known = members.join(F.broadcast(states), on="broker", how="inner").where(
        "batch_end >= since_batch and (until_batch is null or batch_end < until_batch)"
    )
    key = (*_LOG, "metadata_offset", "broker")
    untold = members.join(known.select(*key), on=list(key), how="left_anti").select(
        *members.columns,
        F.lit(None).cast("bigint").alias("broker_epoch"),
        F.lit(None).cast("bigint").alias("fenced_micros"),
    )
    fenced = known.where("is_fenced").select(*members.columns, "broker_epoch", "fenced_micros")
    is_told = F.col("fenced_micros").isNotNull()
    return CheckOutcome(
        findings(
            fenced.unionByName(untold),
            evidence=(
                "broker",
                "broker_epoch",
                "isr",
                "leader",
                "leader_epoch",
                "metadata_offset",
                "fenced_micros",
            ),
            kind=F.when(is_told, "fenced").otherwise("unknown broker"),
            verdict=F.when(is_told, "violation").otherwise("undecided"),
            topic=F.col("topic"),
            partition=F.col("partition"),
            at=F.col("at_micros"),
            cause=F.when(
                is_told,
                F.format_string(
                    "broker %s is in the ISR that metadata offset %s set, though it was fenced",
                    "broker",
                    "metadata_offset",
                ),
            ).otherwise(
                F.format_string(
                    "no registration of broker %s is known before metadata offset %s",
                    "broker",
                    "metadata_offset",
                )
            ),
        ),
        count(changes),
    )


def _batch_ends(trace: Trace) -> tuple[DataFrame, DataFrame]:
    """Partitions with a leader, and brokers, as they were at the end of each metadata batch.

    A batch is what was appended with one timestamp, in one piece of the log. The first frame is
    `leaderships` with batch_end, the metadata offset at which it ends; the second has broker,
    broker_epoch, is_fenced, fenced_micros, and the batches from which and until which it was so.
    """
    leaderships, states = trace["leaderships"], trace["broker_states"]
    moment = ("metadata_offset", "at_micros")
    in_log = Window.orderBy("metadata_offset")
    is_new = F.coalesce(F.col("at_micros") != F.lag("at_micros").over(in_log), F.lit(1) == 1)
    ends = (
        leaderships.select(*moment)
        .union(states.select(*moment))
        .distinct()
        .withColumn("_is_new", is_new.cast("int"))
        .withColumn("_batch", F.sum("_is_new").over(in_log))
        .withColumn("batch_end", F.max("metadata_offset").over(Window.partitionBy("_batch")))
        .select("metadata_offset", "batch_end")
    )

    def last_of_batch(rows: DataFrame, *keys: str) -> DataFrame:
        order = Window.partitionBy(*keys, "batch_end").orderBy(F.desc("metadata_offset"))
        return (
            rows.join(F.broadcast(ends), on="metadata_offset", how="inner")
            .withColumn("_rank", F.row_number().over(order))
            .where("_rank = 1")
            .drop("_rank")
        )

    of_broker = Window.partitionBy("broker").orderBy("batch_end")
    brokers = last_of_batch(states, "broker").select(
        "broker",
        "broker_epoch",
        "is_fenced",
        F.col("at_micros").alias("fenced_micros"),
        F.col("batch_end").alias("since_batch"),
        F.lead("batch_end").over(of_broker).alias("until_batch"),
    )
    return last_of_batch(leaderships, *_LOG).where("leader >= 0"), brokers


def served_under_fenced_epoch(trace: Trace) -> CheckOutcome:
    """G6, on the produce side: acknowledged by the leader of an epoch that was over by then.

    The epoch is that under which the value was polled, or stands in any replica. A lost value that
    nobody saw is told by its offset: if the epoch that was in force when it was sent gave that
    offset to another record, its leader can't have acknowledged it, so an earlier one did.

    Permitted with acks=1 and acks=0, and where the new leader had the record all the same: a
    controller's decision takes a moment to reach the leader that it replaces.
    """
    acknowledged = trace["sends"].where(
        "outcome = 'ok' and offset is not null and answered_micros is not null"
    )
    reigns = trace.shared("reigns", lambda: _reigns(trace))
    late = _with_seen_epoch(_after_a_change(acknowledged, reigns), trace)
    found = spans(
        _by_epoch(late, reigns, trace).unionByName(_by_offset(late, reigns, trace)),
        *_LOG,
        "acks",
        "epoch",
        "broker",
        "newer_epoch",
        "proof",
        "verdict",
        at=F.min("answered_micros"),
        seconds_after=F.max("micros_after") / _MICROS_PER_SECOND,
        producer=F.min("producer"),
    )
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "records",
                "acks",
                "broker",
                "epoch",
                "newer_epoch",
                "seconds_after",
                "proof",
                "producer",
            ),
            kind=F.lit("accepted_by_zombie"),
            verdict=F.col("verdict"),
            topic=F.col("topic"),
            partition=F.col("partition"),
            offset_first=F.col("offset_first"),
            offset_last=F.col("offset_last"),
            at=F.col("at"),
            cause=_cause_of_late_acknowledgement(),
        ),
        count(acknowledged),
    )


def _cause_of_late_acknowledgement() -> Column:
    untold = F.format_string(
        "%s records acknowledged (acks=%s) after a leader change, then lost unseen: under which"
        " epoch can't be told",
        "records",
        "acks",
    )
    told = F.format_string(
        "%s records acknowledged (acks=%s) by broker %s under epoch %s, up to %.3f s after epoch %s"
        " began; %s",
        "records",
        "acks",
        "broker",
        "epoch",
        "seconds_after",
        "newer_epoch",
        "proof",
    )
    return F.when(F.col("epoch").isNull(), untold).otherwise(told)


def _reigns(trace: Trace) -> DataFrame:
    """(topic, partition, epoch, broker, from_micros, newer_epoch, until_micros).

    Each leader epoch with its leader, and the next one; a topic that was created again begins anew.
    """
    in_log = Window.partitionBy(*_LOG).orderBy("metadata_offset")
    began = (
        trace["leaderships"]
        .withColumn("_last", F.lag("leader_epoch").over(in_log))
        .where("_last is null or _last != leader_epoch")
        .withColumn("_next", F.lead("leader_epoch").over(in_log))
        .withColumn("_next_micros", F.lead("at_micros").over(in_log))
    )
    is_newer = F.col("_next") > F.col("leader_epoch")
    return began.select(
        *_LOG,
        F.col("leader_epoch").alias("epoch"),
        F.col("leader").alias("broker"),
        F.col("at_micros").alias("from_micros"),
        F.when(is_newer, F.col("_next")).alias("newer_epoch"),
        F.when(is_newer, F.col("_next_micros")).alias("until_micros"),
    )


def _after_a_change(acknowledged: DataFrame, reigns: DataFrame) -> DataFrame:
    """Sends that were answered when an epoch had ended already, as far as the clocks can tell."""
    first_end = reigns.groupBy(*_LOG).agg(F.min("until_micros").alias("first_end"))
    return (
        acknowledged.join(F.broadcast(first_end), on=list(_LOG), how="inner")
        .where(F.col("answered_micros") >= F.col("first_end") - _CLOCK_MICROS)
        .select(*_LOG, "value", "offset", "acks", "producer", "intended_micros", "answered_micros")
    )


def _with_seen_epoch(late: DataFrame, trace: Trace) -> DataFrame:
    """Add epoch: under which the value stood at its offset, in any replica or poll; or null."""
    key = (*_LOG, "offset", "value")
    seen = (
        trace["polls"]
        .select(*key, "leader_epoch")
        .union(trace["replica_records"].select(*key, "leader_epoch"))
        .join(late.select(*key), on=list(key), how="left_semi")
        .groupBy(*key)
        .agg(F.max("leader_epoch").alias("epoch"))
    )
    return late.join(seen, on=list(key), how="left")


def _by_epoch(late: DataFrame, reigns: DataFrame, trace: Trace) -> DataFrame:
    """Sends whose epoch is known, answered after its end."""
    kept = trace.surviving.select(*_LOG, "value", F.lit("survives").alias("survival"))
    rows = (
        late.where("epoch is not null")
        .join(F.broadcast(reigns), on=[*_LOG, "epoch"], how="inner")
        .where(F.col("from_micros") <= F.col("answered_micros") + _CLOCK_MICROS)
        .groupBy(*late.columns)
        .agg(F.max_by(F.struct("broker", "newer_epoch", "until_micros"), "from_micros").alias("r"))
        .select("*", "r.*")
        .withColumn("micros_after", F.col("answered_micros") - F.col("until_micros"))
        .where(F.col("micros_after") >= -_CLOCK_MICROS)
        .join(kept, on=[*_LOG, "value"], how="left")
    )
    survives = F.col("survival").isNotNull()
    return _told(
        rows,
        verdict=F.when(F.col("micros_after") <= _CLOCK_MICROS, "undecided")
        .when((F.col("acks") != "all") | survives, "permitted")
        .otherwise("violation"),
        proof=F.when(survives, "the new leader has them").otherwise("they did not survive"),
    )


def _by_offset(late: DataFrame, reigns: DataFrame, trace: Trace) -> DataFrame:
    """Lost sends whose epoch nobody saw, sent after a leader change.

    The epoch in force gave the offset to another record: then an earlier leader acknowledged it.
    """
    surviving = trace.surviving
    lost = (
        late.where("epoch is null")
        .drop("epoch")
        .join(surviving.select(*_LOG, "value"), on=[*_LOG, "value"], how="left_anti")
    )
    has_begun = F.col("from_micros") <= F.col("intended_micros") - _CLOCK_MICROS
    has_ended = (F.col("until_micros") <= F.col("intended_micros") + _CLOCK_MICROS) & (
        F.col("broker") >= 0
    )
    reign = F.struct("epoch", "broker", "newer_epoch", "until_micros")
    holders = surviving.select(*_LOG, "offset", F.col("leader_epoch").alias("holder_epoch"))
    is_clear = F.col("r.until_micros") <= F.col("intended_micros") - _CLOCK_MICROS
    is_taken = F.col("holder_epoch") == F.col("epoch_then")
    rows = (
        lost.join(F.broadcast(reigns), on=list(_LOG), how="inner")
        .groupBy(*lost.columns)
        .agg(
            F.max_by("epoch", F.when(has_begun, F.col("from_micros"))).alias("epoch_then"),
            F.max_by(reign, F.when(has_ended, F.col("until_micros"))).alias("r"),
        )
        .where("r is not null")
        .join(holders, on=[*_LOG, "offset"], how="left")
        .withColumn("micros_after", F.col("answered_micros") - F.col("r.until_micros"))
        .withColumn("r", F.when(is_clear & is_taken, F.col("r")))
        .select("*", "r.*")
    )
    is_told = F.col("r").isNotNull()
    return _told(
        rows,
        verdict=F.when(~is_told, "undecided")
        .when(F.col("acks") != "all", "permitted")
        .otherwise("violation"),
        proof=F.when(is_told, "their offsets hold other records").otherwise("none"),
    )


def _told(rows: DataFrame, *, verdict: Column, proof: Column) -> DataFrame:
    return rows.select(
        *_LOG,
        "offset",
        "acks",
        "producer",
        "answered_micros",
        "epoch",
        "broker",
        "newer_epoch",
        "micros_after",
        proof.alias("proof"),
        verdict.alias("verdict"),
    )

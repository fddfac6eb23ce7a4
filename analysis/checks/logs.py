"""Whether replicas' logs agree, and hold what was committed (taxonomy G).

Batches are compared, never records: a follower appends what it fetched as it is, so a batch is the
same on all replicas to its checksum.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.acknowledgements import lost
from analysis.checks.base import CheckOutcome, count, findings
from analysis.creations import created_once
from analysis.load import Trace
from analysis.reigns import reigns
from analysis.stretches import given

_LOG = ("topic", "partition")
_BATCH = (
    "base_offset",
    "last_offset",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
    "size_bytes",
    "checksum",
)


def log_divergence(trace: Trace) -> CheckOutcome:
    """G1: two replicas differ at an offset that both hold as committed (Raft's Log Matching).

    A replica holds as committed what lies below its checkpointed high watermark; one of the last
    ISR also what lies below the newest that the last leader told. Below the lower of both bounds,
    a batch of one must be in the other (KIP-101). Ends may differ, and so may tails that nobody
    committed. A replica out of the ISR is not judged where elections may be unclean, or where the
    topic was created again: then what it had committed may be gone by right.
    """
    replicas = trace.shared("replica_bounds", lambda: _replica_bounds(trace))
    copies = (
        trace["replica_batches"]
        .join(F.broadcast(replicas.select(*_LOG, "broker", "bit")), on=[*_LOG, "broker"])
        .groupBy(*_LOG, *_BATCH)
        .agg(F.bit_or("bit").alias("holders"))
    )
    others = replicas.groupBy(*_LOG).agg(
        F.collect_list(F.struct("bit", "broker", "log_start_offset", "bound")).alias("replicas")
    )
    judged = (
        copies.join(F.broadcast(others), on=list(_LOG), how="inner")
        .withColumn(
            "covering",
            F.expr(
                "filter(replicas, r -> base_offset >= r.log_start_offset and base_offset < r.bound)"
            ),
        )
        .withColumn("held", F.expr("exists(covering, r -> (r.bit & holders) != 0)"))
        .where("held and size(covering) > 1")
        .withColumn("without", F.expr("filter(covering, r -> (r.bit & holders) = 0).broker"))
    )
    found = (
        judged.where("size(without) > 0")
        .groupBy(*_LOG, "without")
        .agg(
            F.min("base_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.count(F.lit(1)).alias("batches"),
            F.sort_array(F.collect_set("leader_epoch")).alias("epochs"),
        )
    )
    return CheckOutcome(
        findings(
            found,
            evidence=("without", "batches", "epochs"),
            kind=F.lit("differs"),
            verdict=F.lit("violation"),
            cause=F.format_string(
                "%s batches of epochs %s that other replicas committed are not in those of %s",
                "batches",
                F.to_json("epochs"),
                F.to_json("without"),
            ),
        ),
        count(judged),
    )


def leader_completeness(trace: Trace) -> CheckOutcome:
    """G2: a leader was elected without records that were committed before (Raft, Kafka's ISR).

    Known as committed in an epoch: what its leader's high watermark had passed when it told it,
    what a consumer got, and what was acknowledged with acks=all and lost. A later epoch that
    starts below began without it. Permitted where elections may be unclean.
    """
    committed = trace.shared("committed", lambda: _committed(trace))
    starts = trace.epoch_starts.select(*_LOG, F.explode("epochs").alias("next")).selectExpr(
        *_LOG, "next.leader_epoch as next_epoch", "next.start_offset as next_start"
    )
    followed = (
        committed.join(F.broadcast(starts), on=list(_LOG), how="inner")
        .where("next_epoch > leader_epoch")
        .groupBy(*_LOG, "leader_epoch", "committed")
        .agg(
            F.min_by("next_epoch", F.struct("next_start", "next_epoch")).alias("next_epoch"),
            F.min("next_start").alias("next_start"),
        )
    )
    elected = reigns(trace).selectExpr(
        *_LOG, "epoch as next_epoch", "broker as leader", "from_micros as at"
    )
    found = (
        followed.where("next_start < committed")
        .join(F.broadcast(elected), on=[*_LOG, "next_epoch"], how="left")
        .join(F.broadcast(trace.topics.select("topic", "unclean_election")), on="topic", how="left")
        .selectExpr("*", "next_start as offset_first", "committed - 1 as offset_last")
    )
    return CheckOutcome(
        findings(
            found,
            evidence=("leader", "next_epoch", "next_start", "leader_epoch", "committed"),
            kind=F.lit("incomplete"),
            verdict=F.expr("if(unclean_election, 'permitted', 'violation')"),
            cause=F.format_string(
                "broker %s began epoch %s at %s, but epoch %s had committed up to %s",
                "leader",
                "next_epoch",
                "next_start",
                "leader_epoch",
                "committed",
            ),
        ),
        count(followed),
    )


def isr_incomplete(trace: Trace) -> CheckOutcome:
    """G3: a replica in the last ISR ends below the high watermark that its leader told.

    The high watermark is what every replica in the ISR has (StrongIsr in the TLA+ model of Kafka's
    replication). Judged are the members at the end, where the last leader told one; undecided where
    a member's replica was not collected. Partitions without a leader owe nothing.
    """
    members = (
        trace.shared("last_states", lambda: _last_states(trace))
        .where("leader >= 0")
        .select(*_LOG, "leader_epoch", F.explode("isr").alias("broker"))
        .join(F.broadcast(_last_high_watermarks(trace)), on=[*_LOG, "leader_epoch"], how="inner")
        .join(
            trace["log_starts"].select(*_LOG, "broker", "log_end_offset"),
            on=[*_LOG, "broker"],
            how="left",
        )
    )
    is_missing = F.col("log_end_offset").isNull()
    return CheckOutcome(
        findings(
            members.where("log_end_offset is null or log_end_offset < high_watermark").selectExpr(
                "*", "log_end_offset as offset_first", "high_watermark - 1 as offset_last"
            ),
            evidence=("broker", "leader_epoch", "log_end_offset", "high_watermark"),
            kind=F.when(is_missing, "no replica").otherwise("behind"),
            verdict=F.when(is_missing, "undecided").otherwise("violation"),
            cause=F.format_string(
                "broker %s is in the ISR of epoch %s, ends at %s, and the high watermark was %s",
                "broker",
                "leader_epoch",
                F.coalesce(F.col("log_end_offset").cast("string"), F.lit("an unknown offset")),
                "high_watermark",
            ),
        ),
        count(members),
    )


def _last_states(trace: Trace) -> DataFrame:
    """(topic, partition, leader, leader_epoch, isr, replicas): the last of each."""
    state = F.struct("leader", "leader_epoch", "isr", "replicas")
    return (
        trace["leaderships"]
        .groupBy(*_LOG)
        .agg(F.max_by(state, "metadata_offset").alias("last"))
        .select(*_LOG, "last.*")
    )


def _last_high_watermarks(trace: Trace) -> DataFrame:
    """(topic, partition, leader_epoch, high_watermark): the largest that each last leader told."""
    last = trace.shared("last_states", lambda: _last_states(trace))
    return (
        trace["samples"]
        .where("broker = leader and log_end_offset >= 0")
        .join(F.broadcast(last.select(*_LOG, "leader_epoch")), on=[*_LOG, "leader_epoch"])
        .join(F.broadcast(created_once(trace)), on=list(_LOG), how="left_semi")
        .groupBy(*_LOG, "leader_epoch")
        .agg(F.max("log_end_offset").alias("high_watermark"))
    )


def _replica_bounds(trace: Trace) -> DataFrame:
    """(topic, partition, broker, bit, log_start_offset, bound): what each replica committed.

    `bit` tells the replicas of a partition apart; `bound` is exclusive, 0 where nothing is judged.
    """
    last = trace.shared("last_states", lambda: _last_states(trace))
    once = created_once(trace).withColumn("is_once", F.lit(1))
    return (
        trace["log_starts"]
        .join(F.broadcast(last.select(*_LOG, "isr", "replicas")), on=list(_LOG), how="inner")
        .join(F.broadcast(_last_high_watermarks(trace)), on=list(_LOG), how="left")
        .join(F.broadcast(trace.topics.select("topic", "unclean_election")), on="topic", how="left")
        .join(F.broadcast(once), on=list(_LOG), how="left")
        .selectExpr(
            *_LOG,
            "broker",
            "shiftleft(1L, greatest(array_position(replicas, broker), 0L)) as bit",
            "log_start_offset",
            """least(log_end_offset, case
                when array_contains(isr, broker) then
                    greatest(coalesce(high_watermark_checkpoint, 0), coalesce(high_watermark, 0))
                when unclean_election or is_once is null then 0
                else coalesce(high_watermark_checkpoint, 0)
            end) as bound""",
        )
    )


def _committed(trace: Trace) -> DataFrame:
    """(topic, partition, leader_epoch, committed): an offset below which all was committed then."""
    told = (
        trace["samples"]
        .where("broker = leader and log_end_offset >= 0")
        .groupBy(*_LOG, "leader_epoch")
        .agg(F.max("log_end_offset").alias("committed"))
    )
    read = (
        given(trace)
        .groupBy(*_LOG, "leader_epoch")
        .agg((F.max("last_offset") + 1).alias("committed"))
        .where("leader_epoch >= 0")
    )
    acknowledged = (
        lost(trace)
        .where("acks = 'all' and known_by != 'guess' and acknowledged_epoch is not null")
        .groupBy(*_LOG, F.col("acknowledged_epoch").alias("leader_epoch"))
        .agg((F.max("offset") + 1).alias("committed"))
    )
    return (
        told.unionByName(read)
        .unionByName(acknowledged)
        .join(F.broadcast(created_once(trace)), on=list(_LOG), how="left_semi")
        .groupBy(*_LOG, "leader_epoch")
        .agg(F.max("committed").alias("committed"))
    )

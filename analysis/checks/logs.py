"""Whether replicas' logs agree, and hold what was committed.

Batches are compared, never records: a follower appends what it fetched as it is, so a batch is the
same on all replicas to its checksum.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, by_election, findings, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.acknowledgements import lost
from analysis.facts.deliveries import deliveries
from analysis.facts.leader_epochs import HEARD_SECONDS, leader_epochs
from analysis.facts.permits import permitted_from, with_permit
from analysis.facts.replicas import ends_of_replicas
from analysis.facts.state import FOREVER, fork_then, with_timelines
from analysis.facts.topics import created_once, of_present_topic
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_SECOND

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

_DIFFERS = Cases(
    violation(
        "differs",
        "{batches} batches of epochs {to_json(epochs)}, committed on other replicas, are missing on"
        " brokers {to_json(without)}",
    ),
    evidence="without, batches, epochs",
)


def log_divergence(trace: Trace) -> CheckOutcome:
    """Two replicas have different batches at an offset that both have as committed.

    A replica has as committed what lies below its checkpointed high watermark; one of the last ISR
    also what lies below the high watermark that the last leader reported. Ends may differ, and so
    may tails. Of a replica out of the ISR, offsets at or above the start of an epoch whose election
    permits a loss are left out, and all of them if the topic was created again.

    Evaluates: batches that lie below this bound on two or more replicas.
    Source: KIP-101; Raft, Log Matching.
    """
    replicas = trace.shared("replica_bounds", lambda: _replica_bounds(trace))
    copies = (
        trace["replica_batches"]
        .join(replicas.select(*_LOG, "broker", "bit"), on=[*_LOG, "broker"])
        .groupBy(*_LOG, *_BATCH)
        .agg(F.bit_or("bit").alias("holders"))
    )
    others = replicas.groupBy(*_LOG).agg(
        F.collect_list(F.struct("bit", "broker", "log_start_offset", "bound")).alias("replicas")
    )
    judged = (
        copies.join(others, on=list(_LOG), how="inner")
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
    return CheckOutcome(findings(found, _DIFFERS), count(judged))


_LACKING = Cases(
    *by_election(
        "incomplete",
        "broker {leader} began epoch {next_epoch} at {next_start}, but epoch {leader_epoch} had"
        " committed up to {committed}",
    ),
    evidence="leader, next_epoch, next_start, leader_epoch, committed, permit",
)


def leader_completeness(trace: Trace) -> CheckOutcome:
    """A leader was elected without records that were committed in an earlier epoch.

    A later epoch starts below an offset of which the earlier one's leader had reported that it is
    below the high watermark, or that a consumer was delivered, or that was acknowledged with
    acks=all and is lost; or its leader's log had nothing of the earlier epoch.

    Permitted: by an election that permits the loss.
    Undecided: its election is not known.
    Evaluates: each epoch with committed records and a later epoch.
    Source: Kafka's documentation, Replication; Raft, Leader Completeness.
    """
    committed = trace.shared("committed", lambda: _committed(trace))
    is_later = "one.leader_epoch > leader_epoch and one.start_high is not null"
    followed = with_timelines(committed, trace).where(f"exists(timeline, one -> {is_later})")
    elected = leader_epochs(trace).selectExpr(
        *_LOG, "epoch as next_epoch", "broker as leader", "from_micros as at"
    )
    lacking = followed.selectExpr(
        "*",
        f"array_min(filter(timeline, one -> {is_later} and (one.start_high < committed"
        " or array_contains(one.lacked, leader_epoch)))) as next",
        f"{fork_then('leader_epoch', FOREVER)} as left_at",
    ).selectExpr(
        *followed.columns,
        "next.leader_epoch as next_epoch",
        "next.start_high as next_start",
        "least(next.start_high, if(array_contains(next.lacked, leader_epoch), left_at, null))"
        " as left_at",
    )
    found = (
        with_permit(
            lacking.where("next_epoch is not null"),
            trace,
            after="leader_epoch",
            to="next_epoch",
            offset="left_at",
        )
        .join(of_present_topic(elected, trace, "at"), [*_LOG, "next_epoch"], "left")
        .selectExpr("*", "left_at as offset_first", "committed - 1 as offset_last")
    )
    return CheckOutcome(findings(found, _LACKING), count(followed))


_ENDS_AT = "broker {broker} is in the ISR in epoch {leader_epoch}, but its log ends at"
_BEHIND = Cases(
    undecided(
        "no replica",
        f"{_ENDS_AT} an unknown offset; the high watermark was {{high_watermark}}",
    ),
    violation(
        "behind", f"{_ENDS_AT} {{log_end_offset}}; the high watermark was {{high_watermark}}"
    ),
    violation(
        "hole",
        "broker {broker} is in the ISR in epoch {leader_epoch} but lacks offsets {offset_first} to"
        " {offset_last}, which other members of the ISR have below high watermark"
        " {high_watermark}",
    ),
    evidence="broker, leader_epoch, log_end_offset, high_watermark",
)


def isr_incomplete(trace: Trace) -> CheckOutcome:
    """A member of the last ISR lacks records below the high watermark that its leader reported.

    It ends below the high watermark, or has a hole between two of its batches which other members
    do not have. Partitions without a leader are left out.

    Undecided: its replica was not collected.
    Evaluates: the members of each last ISR whose last leader reported a high watermark.
    Source: `Partition.maybeIncrementLeaderHW`: no member of the ISR is behind the high watermark.
    """
    members = (
        trace.shared("last_states", lambda: _last_states(trace))
        .where("leader >= 0")
        .select(*_LOG, "leader_epoch", F.explode("isr").alias("broker"))
        .join(_last_high_watermarks(trace), on=[*_LOG, "leader_epoch"], how="inner")
        .join(
            ends_of_replicas(trace).selectExpr(
                *_LOG,
                "broker",
                "log_start_offset",
                "greatest(log_end_offset, batches_end) as log_end_offset",
            ),
            on=[*_LOG, "broker"],
            how="left",
        )
    )
    behind = members.where("log_end_offset is null or log_end_offset < high_watermark").selectExpr(
        "*",
        "log_end_offset as offset_first",
        "high_watermark - 1 as offset_last",
        "if(log_end_offset is null, 'no replica', 'behind') as kind",
    )
    lacking = behind.unionByName(_holes(trace, members).withColumn("kind", F.lit("hole")))
    return CheckOutcome(findings(lacking, _BEHIND), count(members))


def _holes(trace: Trace, members: Frame) -> Frame:
    """Return the offsets that a member of the last ISR lacks, and another member has.

    They lie between two batches of the replica, at or above its log start and below the high
    watermark. Columns: those of `members`, offset_first, offset_last.
    """
    batches = trace["replica_batches"].select(*_LOG, "broker", "base_offset", "last_offset")
    in_log = Window.partitionBy(*_LOG, "broker").orderBy("base_offset")
    earlier = in_log.rowsBetween(Window.unboundedPreceding, -1)
    holes = (
        batches.withColumn("reached", F.max("last_offset").over(earlier))
        .where("base_offset > reached + 1")
        .join(members, on=[*_LOG, "broker"], how="inner")
        .selectExpr(
            *members.columns,
            "greatest(reached + 1, log_start_offset) as offset_first",
            "least(base_offset, high_watermark) - 1 as offset_last",
        )
        .where("offset_first <= offset_last")
    )
    others = batches.join(
        members.select(*_LOG, "broker"), on=[*_LOG, "broker"], how="left_semi"
    ).withColumnRenamed("broker", "other")
    return (
        others.join(trace.engine.materialized(holes), on=list(_LOG), how="inner")
        .where("other != broker and base_offset <= offset_last and last_offset >= offset_first")
        .select(*holes.columns)
        .distinct()
    )


def _last_states(trace: Trace) -> Frame:
    """Return the last state of each partition.

    Columns: topic, partition, leader, leader_epoch, isr, replicas.
    """
    state = ("leader", "leader_epoch", "isr", "replicas")
    return (
        trace["leaderships"]
        .groupBy(*_LOG)
        .agg(F.max_by(F.struct(*state), "metadata_offset").alias("last"))
        .select(*_LOG, *(f"last.{name}" for name in state))
    )


def _last_high_watermarks(trace: Trace) -> Frame:
    """Return the largest high watermark that the last leader of each partition reported.

    Columns: topic, partition, leader_epoch, high_watermark.
    """
    last = trace.shared("last_states", lambda: _last_states(trace))
    return (
        trace["samples"]
        .where("broker = leader and log_end_offset >= 0")
        .join(last.select(*_LOG, "leader_epoch"), on=[*_LOG, "leader_epoch"])
        .join(created_once(trace), on=list(_LOG), how="left_semi")
        .groupBy(*_LOG, "leader_epoch")
        .agg(F.max("log_end_offset").alias("high_watermark"))
    )


def _replica_bounds(trace: Trace) -> Frame:
    """(topic, partition, broker, bit, log_start_offset, bound): what each replica committed.

    `bit` identifies a replica of a partition; `bound` is exclusive, 0 where nothing is judged.
    """
    last = trace.shared("last_states", lambda: _last_states(trace))
    once = created_once(trace).withColumn("is_once", F.lit(1))
    return (
        trace["log_starts"]
        .join(last.select(*_LOG, "isr", "replicas"), on=list(_LOG), how="inner")
        .join(_last_high_watermarks(trace), on=list(_LOG), how="left")
        .join(permitted_from(trace), on=list(_LOG), how="left")
        .join(once, on=list(_LOG), how="left")
        .selectExpr(
            *_LOG,
            "broker",
            "shiftleft(1L, greatest(array_position(replicas, broker), 0L)) as bit",
            "log_start_offset",
            """least(log_end_offset, case
                when array_contains(isr, broker) then
                    greatest(coalesce(high_watermark_checkpoint, 0), coalesce(high_watermark, 0))
                when is_once is null then 0
                else least(coalesce(high_watermark_checkpoint, 0), permitted_from)
            end) as bound""",
        )
    )


def _committed(trace: Trace) -> Frame:
    """(topic, partition, leader_epoch, committed): an offset below which all was committed then.

    Of a topic that was created again, what was reported after every broker had heard of it.
    """
    since = f"{{}} - {HEARD_SECONDS * MICROS_PER_SECOND}"
    reported = (
        of_present_topic(trace["samples"], trace, since.format("at_micros"))
        .where("broker = leader and log_end_offset >= 0")
        .groupBy(*_LOG, "leader_epoch")
        .agg(F.max("log_end_offset").alias("committed"))
    )
    read = (
        of_present_topic(deliveries(trace), trace, since.format("at_micros"))
        .groupBy(*_LOG, "leader_epoch")
        .agg((F.max("last_offset") + 1).alias("committed"))
        .where("leader_epoch >= 0")
    )
    acknowledged = (
        of_present_topic(lost(trace), trace, since.format("answered_micros"))
        .where("acks = 'all' and known_by != 'guess' and acknowledged_epoch is not null")
        .groupBy(*_LOG, F.col("acknowledged_epoch").alias("leader_epoch"))
        .agg((F.max("last_offset") + 1).alias("committed"))
    )
    return (
        reported.unionByName(read)
        .unionByName(acknowledged)
        .groupBy(*_LOG, "leader_epoch")
        .agg(F.max("committed").alias("committed"))
    )


CHECKS = (
    CheckDefinition(
        "G1", log_divergence, needs=("replica_batches", "log_starts", "leaderships"), cases=_DIFFERS
    ),
    CheckDefinition(
        "G2",
        leader_completeness,
        needs=("epoch_checkpoints", "leaderships", "log_starts"),
        cases=_LACKING,
    ),
    CheckDefinition(
        "G3", isr_incomplete, needs=("leaderships", "samples", "log_starts"), cases=_BEHIND
    ),
)

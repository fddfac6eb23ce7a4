"""Whether the metadata log, and what servers make of it, keeps its own rules."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.elections import elections
from analysis.facts.replicas import in_order
from analysis.facts.topics import changes, created_once
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")

_REGRESSED = Cases(
    violation("leader epoch", "broker {broker} leads in epoch {epoch}, after epoch {epoch_before}"),
    violation("two leaders", "broker {broker} leads in epoch {epoch}, in which another broker led"),
    violation("partition epoch", "the partition epoch did not grow in epoch {epoch}"),
    violation(
        "log", "in the log of broker {broker}, epoch {epoch} comes after epoch {epoch_before}"
    ),
    violation("reported", "broker {broker} reported epoch {epoch} after epoch {epoch_before}"),
    evidence="broker, epoch, epoch_before, metadata_offset",
)


def epoch_regressed(trace: Trace) -> CheckOutcome:
    """A leader epoch or partition epoch went down, or two leaders had one epoch.

    In the metadata log; in the batches of a replica, whose epochs grow with the offset; or in what
    one broker reported of a partition that was created once.

    Evaluates: every change of a partition in the metadata log, every epoch of each replica and
        every sample.
    Source: `PartitionRegistration.merge`; `LeaderEpochFileCache.assign`; KIP-101.
    """
    changed = changes(trace).where("was is not null")
    regressed = changed.selectExpr(
        *_LOG,
        "at_micros as at",
        "leader as broker",
        "leader_epoch as epoch",
        "was.leader_epoch as epoch_before",
        "metadata_offset",
        """case
            when leader_epoch < was.leader_epoch then 'leader epoch'
            when leader_epoch = was.leader_epoch and leader != was.leader then 'two leaders'
            when partition_epoch <= was.partition_epoch then 'partition epoch'
        end as kind""",
    ).where("kind is not null")
    ranges = epoch_ranges(trace)
    in_replica = Window.partitionBy("broker", *_LOG).orderBy("base_offset", "leader_epoch")
    below = in_replica.rowsBetween(Window.unboundedPreceding, -1)
    in_logs = (
        ranges.withColumn("before", F.max("leader_epoch").over(below))
        .withColumn("end_before", F.max("last_offset").over(below))
        .where("before > leader_epoch or end_before >= base_offset")
        .selectExpr(
            *_LOG,
            "cast(null as bigint) as at",
            "broker",
            "leader_epoch as epoch",
            "before as epoch_before",
            "cast(null as bigint) as metadata_offset",
            "'log' as kind",
        )
    )
    once = created_once(trace)
    reported = in_order(
        trace["samples"].join(once, on=list(_LOG), how="left_semi"),
        trace,
        "broker",
        *_LOG,
        value="leader_epoch",
    )
    by_broker = reported.where("value < before").selectExpr(
        *_LOG,
        "at_micros as at",
        "broker",
        "value as epoch",
        "before as epoch_before",
        "cast(null as bigint) as metadata_offset",
        "'reported' as kind",
    )
    judged = changed.select("topic").union(ranges.select("topic")).union(reported.select("topic"))
    return CheckOutcome(
        findings(regressed.unionByName(in_logs).unionByName(by_broker), _REGRESSED), count(judged)
    )


_ELIGIBLE = (
    "metadata offset {metadata_offset}: eligible leaders {to_json(elr)}, ISR {to_json(isr)}: {kind}"
)
_INELIGIBLE = Cases(
    violation("also in the ISR", _ELIGIBLE),
    violation("no replica", _ELIGIBLE),
    violation("not needed", _ELIGIBLE),
    violation("passed over", _ELIGIBLE),
    evidence="leader, leader_epoch, isr, elr, metadata_offset",
)


def eligible_leader_replicas(trace: Trace) -> CheckOutcome:
    """The eligible leader replicas break KIP-966, or were passed over by an unclean election.

    None is in the ISR, each is a replica, and there are none while the ISR has
    `min.insync.replicas` members. There is no unclean election while one of them is in service.

    Evaluates: every change of a partition with eligible leader replicas before or after it.
    Source: KIP-966; `PartitionChangeBuilder.maybePopulateTargetElr`.
    """
    changed = changes(trace).join(
        trace.topics.select("topic", "min_insync", "unclean_election"),
        on="topic",
        how="inner",
    )
    judged = changed.where("size(elr) > 0 or size(was.elr) > 0")
    broken = judged.selectExpr(
        *_LOG,
        "at_micros as at",
        "leader",
        "leader_epoch",
        "isr",
        "elr",
        "metadata_offset",
        """case
            when arrays_overlap(elr, isr) then 'also in the ISR'
            when size(array_except(elr, replicas)) > 0 then 'no replica'
            when size(elr) > 0 and size(isr) >= least(min_insync, size(replicas)) then 'not needed'
        end as kind""",
    ).where("kind is not null")
    passed_over = (
        elections(trace)
        .where("is_unclean")
        .selectExpr(
            *_LOG,
            "at_micros",
            "leader",
            "epoch as leader_epoch",
            "array(leader) as isr",
            "metadata_offset",
            "explode(elr_before) as broker",
        )
        .join(
            trace["broker_states"].selectExpr(
                "broker", "metadata_offset as state_offset", "is_fenced"
            ),
            on="broker",
            how="inner",
        )
        .where("state_offset < metadata_offset")
        .groupBy(*_LOG, "at_micros", "leader", "leader_epoch", "isr", "metadata_offset", "broker")
        .agg(F.max_by("is_fenced", "state_offset").alias("is_fenced"))
        .where("not is_fenced")
        .groupBy(*_LOG, "at_micros", "leader", "leader_epoch", "isr", "metadata_offset")
        .agg(F.sort_array(F.collect_set("broker")).alias("elr"))
        .withColumnRenamed("at_micros", "at")
        .withColumn("kind", F.lit("passed over"))
    )
    return CheckOutcome(findings(broken.unionByName(passed_over), _INELIGIBLE), count(judged))


_NOT_IN_ISR = (
    "broker {leader} was elected in epoch {leader_epoch}, but was not in the ISR"
    " {to_json(isr_before)} ({kind})"
)
_UNCLEAN = Cases(
    violation("unconfigured", _NOT_IN_ISR),
    permitted("{kind}", _NOT_IN_ISR),
    evidence="leader, leader_epoch, isr_before, elr_before, metadata_offset",
)


def unclean_election_unconfigured(trace: Trace) -> CheckOutcome:
    """A leader was elected from outside the ISR and the eligible leader replicas.

    Such an election leaves the leader alone in the ISR.

    Permitted: by `unclean.leader.election.enable`; by an order of an administrator that came before
        (KIP-460); or no replica was in sync or eligible and the last leader came back (KIP-966).
    Evaluates: every election.
    Source: `PartitionChangeBuilder`; KIP-704.
    """
    elected = elections(trace)
    found = elected.where("is_unclean").selectExpr("*", "at_micros as at", "epoch as leader_epoch")
    return CheckOutcome(findings(found, _UNCLEAN), count(elected))


def epoch_ranges(trace: Trace) -> Frame:
    """(broker, topic, partition, leader_epoch, base_offset, last_offset): of each replica's log."""
    return trace.shared(
        "epoch_ranges",
        lambda: (
            trace["replica_batches"]
            .groupBy("broker", *_LOG, "leader_epoch")
            .agg(
                F.min("base_offset").alias("base_offset"), F.max("last_offset").alias("last_offset")
            )
        ),
    )


CHECKS = (
    CheckDefinition(
        "G5", epoch_regressed, needs=("leaderships", "replica_batches"), cases=_REGRESSED
    ),
    CheckDefinition(
        "G8", eligible_leader_replicas, needs=("leaderships", "broker_states"), cases=_INELIGIBLE
    ),
    CheckDefinition("G14", unclean_election_unconfigured, needs=("leaderships",), cases=_UNCLEAN),
)

"""How far logs may be read, deleted and acknowledged."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count, count_records
from analysis.checks.cases import Cases, by_election, findings, permitted, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.deliveries import acknowledged_sends
from analysis.facts.leader_epochs import HEARD_SECONDS, leader_epochs, small_isrs
from analysis.facts.permits import with_permit
from analysis.facts.replicas import ASKED, in_order
from analysis.facts.topics import created_once
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")

_REPORTED = (
    "the leader of epoch {leader_epoch} reported high watermark {offset_first} after a report of"
    " {offset_last} ({kind})"
)
_WENT_BACK = Cases(
    violation("within an epoch", _REPORTED),
    *by_election("across epochs", _REPORTED),
    evidence="leader_epoch, epoch_before, permit",
)


def high_watermark_regressed(trace: Trace) -> CheckOutcome:
    """A leader reported a high watermark below one that was reported before it was asked.

    Permitted: across epochs, by an election in between that permits the loss.
    Undecided: across epochs, and an election in between is not known.
    Evaluates: every high watermark that a leader reported, of partitions that were created once.
    Source: KIP-207: a new leader reports none until it has reached the start of its epoch.
    """
    reported = _of_leaders(trace).where("log_end_offset >= 0")
    within = (
        in_order(reported, trace, *_LOG, "leader_epoch", value="log_end_offset")
        .where("value < before")
        .groupBy(*_LOG, "leader_epoch")
        .agg(
            F.min("value").alias("offset_first"),
            F.max("before").alias("offset_last"),
            F.min("at_micros").alias("at"),
        )
        .withColumn("kind", F.lit("within an epoch"))
    )
    earlier = (
        Window.partitionBy(*_LOG).orderBy("leader_epoch").rowsBetween(Window.unboundedPreceding, -1)
    )
    across = (
        reported.groupBy(*_LOG, "leader_epoch")
        .agg(
            F.min("log_end_offset").alias("offset_first"),
            F.max("log_end_offset").alias("highest"),
            F.min_by("at_micros", F.struct("log_end_offset", "at_micros")).alias("at"),
        )
        .withColumn("_before", F.max(F.struct("highest", "leader_epoch")).over(earlier))
        .withColumn("offset_last", F.col("_before.highest"))
        .where("offset_first < offset_last")
        .withColumn("kind", F.lit("across epochs"))
        .withColumn("epoch_before", F.col("_before.leader_epoch"))
        .drop("highest", "_before")
    )
    found = with_permit(
        within.withColumn("epoch_before", F.col("leader_epoch")).unionByName(across),
        trace,
        after="epoch_before",
        to="leader_epoch",
        offset="offset_last - 1",
    )
    return CheckOutcome(findings(found, _WENT_BACK), count(reported))


_OVERREACH = Cases(
    violation(
        "above the high watermark", "log start {offset_first} is above high watermark {bound}"
    ),
    violation(
        "nothing allows deletion",
        "log start {offset_first}, but nothing allows deletion; expected {bound}",
    ),
    violation(
        "younger than retention.ms",
        "offset {offset_first} was deleted before its retention.ms of {bound}",
    ),
    violation("went back", "log start went back from {bound} to {offset_first}"),
    permitted(
        "went back with its leader",
        "log start went back from {bound} to {offset_first}; the leader had changed",
    ),
    evidence="bound",
)


def retention_overreach(trace: Trace) -> CheckOutcome:
    """Records were deleted that had to stay, or a log start is too high or went back.

    A log start is above the high watermark that the leader reported with it, or later in the same
    epoch; it is lower than before; records were deleted though neither a retention nor the plan
    allows it; or they were younger than `retention.ms`, by the producer's clock.

    Permitted: a log start that is lower than before under a new leader: followers learn of it
        later.
    Evaluates: every log start that a leader reported, and that of each replica at the end.
    Source: KIP-107; `UnifiedLog.deleteRetentionMsBreachedSegments`.
    """
    reported = _of_leaders(trace).where("log_start_offset >= 0")
    found = (
        _above_the_high_watermark(reported)
        .unionByName(_logged_above_the_high_watermark(trace, reported))
        .unionByName(_gone_back(trace, reported))
        .unionByName(_never_allowed(trace, reported))
        .unionByName(_too_young(trace, reported))
    )
    judged = reported.select("topic").union(trace["log_starts"].select("topic"))
    return CheckOutcome(findings(found, _OVERREACH), count(judged))


def _of_leaders(trace: Trace) -> Frame:
    """Reports of leaders about partitions that were created once."""
    return (
        trace["samples"]
        .where("broker = leader")
        .join(created_once(trace), on=list(_LOG), how="left_semi")
    )


def _above_the_high_watermark(reported: Frame) -> Frame:
    return reported.where("log_end_offset >= 0 and log_start_offset > log_end_offset").selectExpr(
        *_LOG,
        "log_start_offset as offset_first",
        "at_micros as at",
        "'above the high watermark' as kind",
        "log_end_offset as bound",
    )


def _logged_above_the_high_watermark(trace: Trace, reported: Frame) -> Frame:
    """Log starts that a leader's server logged, above the high watermark that it reported later.

    What it reported before proves nothing: the high watermark may have advanced in between.
    """
    answers = reported.where("log_end_offset >= 0").select(
        *_LOG,
        "broker",
        F.col("leader_epoch").alias("epoch"),
        F.col("log_end_offset").alias("bound"),
        F.expr(ASKED).alias("_asked"),
    )
    advances = (
        trace["log_start_changes"]
        .select(*_LOG, "broker", F.col("log_start_offset").alias("offset_first"), "at_micros")
        .join(leader_epochs(trace), on=[*_LOG, "broker"], how="inner")
        .where("at_micros >= from_micros and (until_micros is null or at_micros < until_micros)")
        .select(*_LOG, "broker", "epoch", "offset_first", F.col("at_micros").alias("at"))
    )
    return (
        answers.join(advances, on=[*_LOG, "broker", "epoch"], how="inner")
        .where(f"bound < offset_first and _asked > at + {trace.clock_micros}")
        .groupBy(*_LOG, "offset_first", "at")
        .agg(F.min("bound").alias("bound"))
        .select(
            *_LOG, "offset_first", "at", F.lit("above the high watermark").alias("kind"), "bound"
        )
    )


def _gone_back(trace: Trace, reported: Frame) -> Frame:
    """Log starts below one that was reported before, by the same leader or an earlier one."""
    order = Window.partitionBy(*_LOG).orderBy("leader_epoch")
    within = in_order(reported, trace, *_LOG, "leader_epoch", value="log_start_offset").where(
        "value < before"
    )
    lower = (
        reported.groupBy(*_LOG, "leader_epoch")
        .agg(
            F.min("log_start_offset").alias("value"),
            F.max("log_start_offset").alias("highest"),
            F.min_by("at_micros", F.struct("log_start_offset", "at_micros")).alias("at_micros"),
        )
        .withColumn(
            "before", F.max("highest").over(order.rowsBetween(Window.unboundedPreceding, -1))
        )
        .where("value < before")
        .select(*_LOG, "at_micros", "value", "before")
        .withColumn("kind", F.lit("went back with its leader"))
    )
    return (
        within.select(*_LOG, "at_micros", "value", "before")
        .withColumn("kind", F.lit("went back"))
        .unionByName(lower)
        .selectExpr(*_LOG, "value as offset_first", "at_micros as at", "kind", "before as bound")
    )


def _never_allowed(trace: Trace, reported: Frame) -> Frame:
    """The first sight of a log start above 0 in a topic without deletion."""
    keeps = trace.topics.where("not deletes and retention_ms is null").select("topic")
    starts = reported.select(*_LOG, "log_start_offset", "at_micros").union(
        trace["log_starts"].selectExpr(*_LOG, "log_start_offset", "bigint(null) as at_micros")
    )
    return (
        starts.where("log_start_offset > 0")
        .join(keeps, on="topic", how="left_semi")
        .groupBy(*_LOG)
        .agg(F.max("log_start_offset").alias("offset_first"), F.min("at_micros").alias("at"))
        .selectExpr(
            *_LOG,
            "offset_first",
            "at",
            "'nothing allows deletion' as kind",
            "cast(0 as bigint) as bound",
        )
    )


def _too_young(trace: Trace, reported: Frame) -> Frame:
    """Log starts that passed a value sooner than retention.ms after its producer accepted it."""
    timed = trace.topics.where("not deletes and retention_ms is not null").select(
        "topic", "retention_ms"
    )
    steps = (
        reported.join(timed, on="topic", how="inner")
        .where("log_start_offset > 0")
        .groupBy(*_LOG, "retention_ms", "log_start_offset")
        .agg(F.min("at_micros").alias("at"))
        .selectExpr(*_LOG, "log_start_offset as offset", "at", "retention_ms")
    )
    sends = (
        acknowledged_sends(trace)
        .join(timed, on="topic", how="left_semi")
        .selectExpr(*_LOG, "first_offset as offset", "written_micros as written")
    )
    below = Window.partitionBy(*_LOG).orderBy("offset").rangeBetween(Window.unboundedPreceding, -1)
    return (
        sends.unionByName(steps, allowMissingColumns=True)
        .withColumn("youngest", F.max("written").over(below))
        .where(f"at is not null and at - youngest < retention_ms * 1000 - {trace.clock_micros}")
        .selectExpr(
            *_LOG,
            "offset as offset_first",
            "at",
            "'younger than retention.ms' as kind",
            "retention_ms as bound",
        )
    )


_SMALL_ISR = Cases(
    violation(
        "acknowledged",
        "{records} records were acknowledged with acks=all in epoch {leader_epoch} while the ISR"
        " was {to_json(isr)}; min.insync.replicas is {min_insync}",
        permitted_if="not is_late",
    ),
    evidence="records, leader, leader_epoch, isr, min_insync, at_micros",
)


def min_insync_breached(trace: Trace) -> CheckOutcome:
    """A record was acknowledged with acks=all with fewer replicas in sync than required.

    It was sent after the metadata log had an ISR smaller than `min.insync.replicas`, and answered
    before it had another.

    Permitted: it was sent within 5 s of the change of the ISR, of which the leader may not have
        known.
    Evaluates: records acknowledged with acks=all, of topics with `min.insync.replicas` above 1.
    Source: `Partition.appendRecordsToLeader`; `min.insync.replicas`.
    """
    small = small_isrs(trace)
    asked = trace.topics.where("min_insync > 1").select("topic")
    sends = acknowledged_sends(trace).where("acks = 'all'")
    late = HEARD_SECONDS * MICROS_PER_SECOND
    found = (
        sends.join(small, on=list(_LOG), how="inner")
        .where(
            f"intended_micros > at_micros + {trace.clock_micros} and (until_micros is null"
            f" or answered_micros < until_micros - {trace.clock_micros})"
        )
        .withColumn("is_late", F.expr(f"intended_micros > at_micros + {late}"))
        .groupBy(*_LOG, "leader", "leader_epoch", "isr", "min_insync", "at_micros", "is_late")
        .agg(
            F.min("first_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.min("answered_micros").alias("at"),
        )
    )
    return CheckOutcome(
        findings(found, _SMALL_ISR), count_records(sends.join(asked, on="topic", how="left_semi"))
    )


CHECKS = (
    CheckDefinition(
        "G4", high_watermark_regressed, needs=("samples", "leaderships"), cases=_WENT_BACK
    ),
    CheckDefinition(
        "G11", retention_overreach, needs=("log_starts", "leaderships"), cases=_OVERREACH
    ),
    CheckDefinition("G9", min_insync_breached, needs=("sends", "leaderships"), cases=_SMALL_ISR),
)

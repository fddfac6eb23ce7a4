"""Commits that deletion of records overtook: by offset, and by epoch."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Case, Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.assignments import commits_at_start
from analysis.facts.positions import PARTITION, last_commits, offsets_of
from analysis.facts.state import timelines
from analysis.facts.topics import (
    deletion_in_words,
    log_start_reports,
    with_deletion,
    with_log_starts,
)
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_KEY = (*PARTITION, "offset", "committed_epoch", "committed_micros", "stood_micros")
_AT_END = "9223372036854775807"

_IS_PLANNED = "(retention_ms is not null or coalesce(deletes, true))"


def _expired(cause: str) -> tuple[Case, ...]:
    """By whether the plan deletes records, and which deletion is known to have removed them."""
    removed = f"{cause}; removed {{passed_by}}"
    return (
        permitted("{stood}", removed, when=f"{_IS_PLANNED} and passed_by != ''"),
        undecided("{stood}", cause, when=_IS_PLANNED),
        violation("{stood}", removed, when="passed_by != ''"),
        violation("{stood}", cause),
    )


_BELOW_LOG_START = Cases(
    *_expired("committed offset {offset} was below log start {start_low} by {records} records"),
    evidence="committed_epoch, start_low, records, headroom_seconds, passed_by, stood",
    offset_first="offset",
    offset_last="start_low - 1",
    at="coalesce(expired_micros, committed_micros)",
)


def commit_expired(trace: Trace) -> CheckOutcome:
    """A commit in force lay below the log start of that time, so that the group is out of range.

    Reports the headroom: the time from the commit to the first report of a log start above it.

    Permitted: the plan deletes or sets a retention; the finding names the deletion that passed the
        commit.
    Undecided: the plan deletes or sets a retention, and no source reports the deletion.
    Evaluates: commits in force when a member was assigned the partition, and at the end of the run.
    Source: KIP-107; `log.retention.*`: an offset below the log start is answered with
        OFFSET_OUT_OF_RANGE.
    """
    stood = _standing(trace)
    found = _with_passing(
        stood.where("start_low > offset").selectExpr("*", "start_low - offset as records"),
        trace,
        offset="offset",
    )
    return CheckOutcome(findings(found, _BELOW_LOG_START), count(stood))


_BELOW_OLDEST_EPOCH = Cases(
    *_expired(
        "epoch {committed_epoch} was committed; the oldest epoch left in the log was {oldest_epoch}"
    ),
    evidence="committed_epoch, oldest_epoch, start_low, headroom_seconds, passed_by, stood",
    offset_first="offset",
    offset_last="offset",
    at="coalesce(expired_micros, committed_micros)",
)


def committed_epoch_expired(trace: Trace) -> CheckOutcome:
    """The committed epoch is below the oldest epoch that the leader's epoch cache had at that time.

    The cache drops an epoch once a newer one starts at or below the log start. Reports a lower
    bound of the headroom: the time from the commit until the log start passed its offset.

    Permitted: as in `commit_expired`, by the deletion that brought the log start there.
    Undecided: as in `commit_expired`.
    Evaluates: the commits of `commit_expired` that have an epoch.
    Source: `LeaderEpochFileCache.truncateFromStartAsyncFlush`, and `endOffsetFor`, which can't
        answer for such an epoch (KAFKA-19902).
    """
    reported = (
        _standing(trace)
        .where("committed_epoch >= 0")
        .join(timelines(trace), on=list(_LOG), how="inner")
        .selectExpr(
            "*",
            "array_max(filter(timeline, one -> one.is_kept and one.start_high <= start_low"
            " and coalesce(one.from_micros <= stood_micros, true))).leader_epoch as oldest_epoch",
        )
    )
    found = _with_passing(
        reported.where("start_low > 0 and committed_epoch < oldest_epoch"),
        trace,
        offset="start_low - 1",
    )
    return CheckOutcome(findings(found, _BELOW_OLDEST_EPOCH), count(reported))


def _with_passing(expired: Frame, trace: Trace, *, offset: str) -> Frame:
    """Add passed_by: in words, the first event by which the log start passed an offset.

    That is a deletion that a broker logged, else the leader's first answer with such a log start;
    empty where neither came before the commit was asked for.

    Args:
        expired: rows of `_standing`.
        trace: the run.
        offset: the offset, in SQL.
    """
    reported = (
        expired.join(log_start_reports(trace), on=list(_LOG), how="inner")
        .where(f"is_low and log_start > {offset} and first_micros <= stood_micros")
        .groupBy(*_KEY)
        .agg(F.min(F.struct("first_micros", "log_start")).alias("_reported"))
    )
    return (
        with_deletion(expired, trace, offset=offset)
        .join(reported, on=list(_KEY), how="left")
        .withColumn("deletion", F.expr("if(deletion.at_micros <= stood_micros, deletion, null)"))
        .withColumn(
            "passed_by",
            F.when(F.col("deletion").isNotNull(), deletion_in_words())
            .when(
                F.col("_reported").isNotNull(),
                F.format_string(
                    " by a deletion before the leader reported log start %s", "_reported.log_start"
                ),
            )
            .otherwise(""),
        )
        .withColumn("passed_by", F.expr("ltrim(passed_by)"))
    )


def _standing(trace: Trace) -> Frame:
    """Commits in force when they were read, with the log start of that time.

    Left out where no source reports the log start of that time.

    _KEY, stood (`at an assignment`, `at the end`), start_low (the least that the log start was
    then), expired_micros and headroom_seconds (of the first log start above the commit since then;
    null where none is reported), retention_ms, deletes.
    """
    return trace.shared("standing_commits", lambda: _standing_commits(trace))


def _standing_commits(trace: Trace) -> Frame:
    at_assignments = commits_at_start(trace).selectExpr(
        *PARTITION,
        "committed_offset as offset",
        "committed_epoch",
        "committed_micros",
        "from_micros as stood_micros",
        "'at an assignment' as stood",
    )
    at_end = last_commits(offsets_of(trace)).selectExpr(
        *PARTITION,
        "committed_offset as offset",
        "committed_epoch",
        "committed_micros",
        f"{_AT_END} as stood_micros",
        "'at the end' as stood",
    )
    standing = trace.engine.materialized(at_assignments.union(at_end))
    moments = standing.where(f"stood_micros < {_AT_END}").selectExpr(
        *_LOG, "stood_micros as at_micros"
    )
    then = with_log_starts(moments.distinct(), trace).selectExpr(
        *_LOG, "at_micros as stood_micros", "start_low as started_then", "start_high"
    )
    reported = log_start_reports(trace).groupBy(*_LOG).agg(F.min("first_micros").alias("reported"))
    expired = (
        standing.select(*_KEY)
        .join(log_start_reports(trace), on=list(_LOG), how="inner")
        .where(
            "log_start > offset and first_micros > committed_micros"
            " and first_micros <= stood_micros"
        )
        .groupBy(*_KEY)
        .agg(F.min("first_micros").alias("expired_micros"))
    )
    topics = trace.topics.select("topic", "retention_ms", "deletes")
    return (
        standing.join(then, on=[*_LOG, "stood_micros"], how="left")
        .join(expired, on=list(_KEY), how="left")
        .join(reported, on=list(_LOG), how="left")
        .where(f"stood_micros = {_AT_END} or reported <= stood_micros or start_high <= offset")
        .join(trace.log_bounds, on=list(_LOG), how="inner")
        .join(topics, on="topic", how="left")
        .selectExpr(
            *_KEY,
            "stood",
            f"if(stood_micros = {_AT_END}, log_start, started_then) as start_low",
            "expired_micros",
            f"(expired_micros - committed_micros) / {MICROS_PER_SECOND} as headroom_seconds",
            "retention_ms",
            "deletes",
        )
    )


CHECKS = (
    CheckDefinition(
        "D8",
        commit_expired,
        needs=("committed_offsets", "log_starts", "leaderships"),
        cases=_BELOW_LOG_START,
    ),
    CheckDefinition(
        "E5",
        committed_epoch_expired,
        needs=("committed_offsets", "log_starts", "leaderships", "epoch_checkpoints"),
        cases=_BELOW_OLDEST_EPOCH,
    ),
)

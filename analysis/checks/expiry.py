"""Commits that deletion of records overtook: by offset (taxonomy D8) and by epoch (E5)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.load import Trace
from analysis.positions import PARTITION, last_commits
from analysis.tenures import commits_at_start
from harness.contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_KEY = (*PARTITION, "offset", "committed_epoch", "committed_micros", "stood_micros")
_AT_END = "9223372036854775807"


def commit_expired(trace: Trace) -> CheckOutcome:
    """D8: a commit that stood lay below the log start: the group is out of range.

    Judged are the commits that stood when a member was assigned the partition, by the leader's
    samples until then, and those that stand at the end of the run. The headroom is the time from
    the commit to the first sample whose log start is above it. Permitted where the plan deletes.
    Source: KIP-107 and `log.retention.*`; an offset below the log start is answered with
    OFFSET_OUT_OF_RANGE.
    """
    told = _standing(trace).where("start_then is not null")
    found = told.where("start_then > offset").selectExpr("*", "start_then - offset as records")
    return CheckOutcome(
        findings(
            found,
            evidence=("committed_epoch", "start_then", "records", "headroom_seconds", "stood"),
            kind=F.col("stood"),
            verdict=_verdict(),
            offset_first=F.col("offset"),
            offset_last=F.col("start_then") - 1,
            at=F.coalesce("expired_micros", "committed_micros"),
            cause=F.format_string(
                "committed %s, and the log began at %s: %s records behind",
                "offset",
                "start_then",
                "records",
            ),
        ),
        count(told),
    )


def committed_epoch_expired(trace: Trace) -> CheckOutcome:
    """E5: the committed epoch is below the oldest that the leader's epoch cache still has.

    Judged are the commits of D8 that have an epoch, by the cache at the end of the run; one that
    stood earlier only if the log start is the same since. The headroom is a lower bound: the time
    from the commit until the log start passed its offset. Permitted where the plan deletes. Source:
    `LeaderEpochFileCache.truncateFromStartAsyncFlush`, and `endOffsetFor`, which can't answer for
    such an epoch (KAFKA-19902).
    """
    told = (
        _standing(trace)
        .where("committed_epoch >= 0 and start_then = log_start")
        .join(F.broadcast(trace.epoch_starts), on=list(_LOG), how="inner")
        .selectExpr("*", "array_min(epochs).leader_epoch as oldest_epoch")
    )
    found = told.where("log_start > 0 and committed_epoch < oldest_epoch")
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "committed_epoch",
                "oldest_epoch",
                "log_start",
                "headroom_seconds",
                "stood",
            ),
            kind=F.col("stood"),
            verdict=_verdict(),
            offset_first=F.col("offset"),
            offset_last=F.col("offset"),
            at=F.coalesce("expired_micros", "committed_micros"),
            cause=F.format_string(
                "epoch %s was committed, the oldest one left is %s",
                "committed_epoch",
                "oldest_epoch",
            ),
        ),
        count(told),
    )


def _verdict() -> Column:
    return F.when(F.col("retention_ms").isNotNull() | F.col("deletes"), "permitted").otherwise(
        "violation"
    )


def _standing(trace: Trace) -> DataFrame:
    """Commits that stood when somebody asked for them, with the log start that held then.

    _KEY, stood (`at an assignment`, `at the end`), log_start (of the end), start_then,
    expired_micros and headroom_seconds (null where no sample tells), retention_ms, deletes.
    """
    return trace.shared("standing_commits", lambda: _standing_commits(trace))


def _standing_commits(trace: Trace) -> DataFrame:
    at_assignments = commits_at_start(trace).selectExpr(
        *PARTITION,
        "committed_offset as offset",
        "committed_epoch",
        "committed_micros",
        "from_micros as stood_micros",
        "'at an assignment' as stood",
    )
    at_end = last_commits(trace["committed_offsets"]).selectExpr(
        *PARTITION,
        "committed_offset as offset",
        "committed_epoch",
        "committed_micros",
        f"{_AT_END} as stood_micros",
        "'at the end' as stood",
    )
    standing = trace.materialized(at_assignments.union(at_end))
    starts = (
        trace["samples"]
        .where("broker = leader and log_start_offset >= 0")
        .select(*_LOG, "log_start_offset", "at_micros")
        .groupBy(*_LOG, "log_start_offset")
        .agg(F.min("at_micros").alias("first_micros"))
    )
    sampled = (
        standing.join(F.broadcast(starts), on=list(_LOG), how="inner")
        .where("first_micros <= stood_micros")
        .groupBy(*_KEY)
        .agg(
            F.max("log_start_offset").alias("sampled_start"),
            F.expr(
                "min(first_micros) filter (where log_start_offset > offset"
                " and first_micros > committed_micros)"
            ).alias("expired_micros"),
        )
    )
    topics = trace.topics.select("topic", "retention_ms", "deletes")
    return (
        standing.join(sampled, on=list(_KEY), how="left")
        .join(F.broadcast(trace.log_bounds), on=list(_LOG), how="inner")
        .join(F.broadcast(topics), on="topic", how="left")
        .selectExpr(
            *_KEY,
            "stood",
            "log_start",
            f"if(stood_micros = {_AT_END}, log_start,"
            " if(sampled_start > log_start, log_start, sampled_start)) as start_then",
            "expired_micros",
            f"(expired_micros - committed_micros) / {MICROS_PER_SECOND} as headroom_seconds",
            "retention_ms",
            "deletes",
        )
    )

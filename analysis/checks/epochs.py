"""Committed leader epochs against the record's and the leader's (taxonomy E).

The right epoch to commit with offset o is that of the batch that holds o - 1. What was committed is
taken from `__consumer_offsets`, not from what a client claims.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.load import Trace
from analysis.progress import PARTITION
from harness.contract.outcomes import CommitEpoch

_COMMIT = (*PARTITION, "offsets_partition", "offsets_offset")
_COMMIT_CLOCK_MICROS = 1000
"""A commit record's timestamp is cut to milliseconds."""


def committed_epoch_missing(trace: Trace) -> CheckOutcome:
    """E2: no epoch was committed although the record before had one (KAFKA-20507)."""
    return _compare(
        trace,
        where=F.col("committed_epoch") == -1,
        kind="missing",
        permitted=F.col("commit_epoch") == str(CommitEpoch.NONE),
        cause="committed without an epoch: nobody can validate the position",
    )


def committed_epoch_stale(trace: Trace) -> CheckOutcome:
    """E3: below the epoch of the record before."""
    return _compare(
        trace,
        where=(F.col("committed_epoch") >= 0) & (F.col("committed_epoch") < F.col("record_epoch")),
        kind="stale",
        permitted=F.lit(False),
        cause="older than the record before: the position looks truncated although it is not",
    )


def committed_epoch_behind_leader(trace: Trace) -> CheckOutcome:
    """E4: the record's own epoch, with a newer leader at the time: a note, normal in Kafka."""
    return _compare(
        trace,
        where=(F.col("committed_epoch") == F.col("record_epoch"))
        & (F.col("committed_epoch") < F.col("led_epoch")),
        kind="behind leader",
        permitted=F.lit(True),
        cause="exact for its offset; the leader was newer when it was committed",
    )


def committed_epoch_ahead(trace: Trace) -> CheckOutcome:
    """E6: above the epoch of the record before: it can hide a truncation."""
    return _compare(
        trace,
        where=F.col("committed_epoch") > F.col("record_epoch"),
        kind="ahead",
        permitted=F.col("commit_epoch").isin(str(CommitEpoch.CURRENT), str(CommitEpoch.MAX)),
        cause="newer than the record before: a truncation below it can't be noticed",
    )


def _compare(
    trace: Trace, *, where: Column, kind: str, permitted: Column, cause: str
) -> CheckOutcome:
    known = trace.shared("commits", lambda: _commits(trace))
    found = known.where(where)
    return CheckOutcome(
        findings(
            found,
            evidence=("committed_epoch", "record_epoch", "led_epoch", "commit_epoch"),
            kind=F.lit(kind),
            verdict=F.when(permitted, "permitted").otherwise("violation"),
            topic=F.col("topic"),
            partition=F.col("partition"),
            offset_first=F.col("offset"),
            offset_last=F.col("offset"),
            group=F.col("group"),
            at=F.col("committed_micros"),
            cause=F.lit(cause),
        ),
        count(known),
    )


def _commits(trace: Trace) -> DataFrame:
    """Stored commits whose record before is known, with record_epoch, led_epoch, commit_epoch.

    record_epoch is as the group polled that record last before the commit, else as the surviving
    log has it; led_epoch is the partition's leader epoch when the commit was stored.
    """
    commits = (
        trace["committed_offsets"]
        .where("not is_tombstone")
        .withColumn("before", F.col("offset") - 1)
        .withColumn("until", F.col("committed_micros") + _COMMIT_CLOCK_MICROS)
    )
    polled = trace["polls"].select(
        *PARTITION,
        F.col("offset").alias("before"),
        "polled_micros",
        F.col("leader_epoch").alias("e"),
    )
    as_polled = (
        commits.join(polled, on=[*PARTITION, "before"], how="inner")
        .where("polled_micros < until")
        .groupBy(*_COMMIT)
        .agg(F.max_by("e", "polled_micros").alias("polled_epoch"))
    )
    logged = trace.surviving.select(
        "topic",
        "partition",
        F.col("offset").alias("before"),
        F.col("leader_epoch").alias("logged_epoch"),
    )
    led = trace["leaderships"].select("topic", "partition", "leader_epoch", "at_micros")
    led_then = (
        commits.join(F.broadcast(led), on=["topic", "partition"], how="inner")
        .where("at_micros < until")
        .groupBy(*_COMMIT)
        .agg(F.max("leader_epoch").alias("led_epoch"))
    )
    return (
        commits.join(as_polled, on=list(_COMMIT), how="left")
        .join(logged, on=["topic", "partition", "before"], how="left")
        .join(led_then, on=list(_COMMIT), how="left")
        .join(F.broadcast(trace.groups.select("group", "commit_epoch")), on="group", how="left")
        .withColumn("record_epoch", F.coalesce("polled_epoch", "logged_epoch"))
        .where("record_epoch is not null")
        .select(
            *_COMMIT,
            "offset",
            "committed_epoch",
            "committed_micros",
            "record_epoch",
            "led_epoch",
            "commit_epoch",
        )
    )

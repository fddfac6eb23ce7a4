"""Committed leader epochs against the record's and the leader's (taxonomy E).

The right epoch to commit with offset o is that of the batch that holds o - 1. What was committed is
taken from `__consumer_offsets`, not from what a client claims.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.load import Trace
from analysis.progress import PARTITION
from harness.contract.outcomes import CommitEpoch

_COMMIT = (*PARTITION, "offsets_partition", "offsets_offset")
_COMMIT_CLOCK_MICROS = 1000
"""A commit record's timestamp is cut to milliseconds."""


def committed_epoch_missing(trace: Trace) -> CheckOutcome:
    """E2: no epoch was committed although the record before had one (KAFKA-20507).

    A group that commits its records' epochs, but resumed there and polled nothing before, can only
    know the epoch that it had committed: without one it is left out.
    """
    return _compare(
        _known(trace).where("could_know"),
        where=F.col("committed_epoch") == -1,
        kind="missing",
        permitted=F.col("commit_epoch") == str(CommitEpoch.NONE),
        cause="committed without an epoch: nobody can validate the position",
    )


def committed_epoch_stale(trace: Trace) -> CheckOutcome:
    """E3: below the epoch of the record before."""
    return _compare(
        _known(trace),
        where=(F.col("committed_epoch") >= 0) & (F.col("committed_epoch") < F.col("record_epoch")),
        kind="stale",
        permitted=F.lit(False),
        cause="older than the record before: the position looks truncated although it is not",
    )


def committed_epoch_behind_leader(trace: Trace) -> CheckOutcome:
    """E4: the record's own epoch, with a newer leader at the time: a note, normal in Kafka."""
    return _compare(
        _known(trace),
        where=(F.col("committed_epoch") == F.col("record_epoch"))
        & (F.col("committed_epoch") < F.col("led_epoch")),
        kind="behind leader",
        permitted=F.lit(True),
        cause="exact for its offset; the leader was newer when it was committed",
    )


def committed_epoch_ahead(trace: Trace) -> CheckOutcome:
    """E6: above the epoch of the record before: it can hide a truncation."""
    return _compare(
        _known(trace),
        where=F.col("committed_epoch") > F.col("record_epoch"),
        kind="ahead",
        permitted=F.col("commit_epoch").isin(str(CommitEpoch.CURRENT), str(CommitEpoch.MAX)),
        cause="newer than the record before: a truncation below it can't be noticed",
    )


def _compare(
    known: DataFrame, *, where: Column, kind: str, permitted: Column, cause: str
) -> CheckOutcome:
    found = known.where(where)
    return CheckOutcome(
        findings(
            found,
            evidence=("committed_epoch", "record_epoch", "led_epoch", "commit_epoch"),
            kind=F.lit(kind),
            verdict=F.when(permitted, "permitted").otherwise("violation"),
            offset_first=F.col("offset"),
            offset_last=F.col("offset"),
            at=F.col("committed_micros"),
            cause=F.lit(cause),
        ),
        count(known),
    )


def _known(trace: Trace) -> DataFrame:
    """Stored commits whose record before is known.

    With record_epoch, led_epoch, commit_epoch, could_know. record_epoch is as the group polled that
    record last before the commit, else as the surviving log has it; led_epoch is the partition's
    leader epoch when the commit was stored. could_know tells whether the group had an epoch to
    commit: it polled that record since it was opened last, had committed that offset with an epoch
    just before, or gets its epochs from elsewhere than its records.
    """
    return trace.shared("commits", lambda: _commits(trace))


def _commits(trace: Trace) -> DataFrame:
    in_order = Window.partitionBy(*PARTITION).orderBy("committed_micros", "offsets_offset")
    could_know = (
        (F.col("polled_at") >= F.coalesce("opened_at", "polled_at"))
        | (F.coalesce("commit_epoch", F.lit(str(CommitEpoch.RECORD))) != str(CommitEpoch.RECORD))
        | ((F.col("previous_offset") == F.col("offset")) & (F.col("previous_epoch") >= 0))
    )
    commits = (
        trace["committed_offsets"]
        .withColumn("previous_offset", F.lag("offset").over(in_order))
        .withColumn("previous_epoch", F.lag("committed_epoch").over(in_order))
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
        .agg(
            F.max_by("e", "polled_micros").alias("polled_epoch"),
            F.max("polled_micros").alias("polled_at"),
        )
    )
    openings = (
        trace["group_events"]
        .where("change = 'opened'")
        .select("group", F.col("at_micros").alias("opened_micros"))
    )
    opened_then = (
        commits.join(F.broadcast(openings), on="group", how="inner")
        .where("opened_micros <= committed_micros")
        .groupBy(*_COMMIT)
        .agg(F.max("opened_micros").alias("opened_at"))
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
        .join(opened_then, on=list(_COMMIT), how="left")
        .join(F.broadcast(trace.groups.select("group", "commit_epoch")), on="group", how="left")
        .withColumn("record_epoch", F.coalesce("polled_epoch", "logged_epoch"))
        .where("record_epoch is not null")
        .withColumn("could_know", F.coalesce(could_know, F.lit(0) == 1))
        .select(
            *_COMMIT,
            "offset",
            "committed_epoch",
            "committed_micros",
            "record_epoch",
            "led_epoch",
            "commit_epoch",
            "could_know",
        )
    )

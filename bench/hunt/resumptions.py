"""Each resumption from a committed offset, and how near it came to what KAFKA-19902 reports."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.assignments import ASSIGNMENT, commits_at_start
from analysis.facts.commits import stored_commits
from analysis.facts.positions import PARTITION
from analysis.facts.state import timelines
from analysis.facts.topics import with_log_starts
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")
_COMMIT = (*PARTITION, "committed_offset", "committed_epoch", "committed_micros")
NEAR_MISSES = {
    "new leader": "the leader had changed since the commit",
    "at the log start": "the committed offset was the log start",
    "epoch gone": "no record of the committed epoch was left in the log",
    "epoch older": "the committed epoch was older than the record's before the offset",
    "epoch newer": "the committed epoch was newer than the record's before the offset",
    "no epoch": "the commit had no epoch",
}
"""How a resumption can come near, and what that means. One may do so in several ways."""


def near_misses(trace: Trace) -> Frame:
    """(group, one column for each of NEAR_MISSES, resumptions): how many of each group did.

    A resumption is an assignment of a partition to a member that began with a commit. Where
    the sources leave open what held then, it is not counted as near.
    """
    return (
        _resumed(trace)
        .groupBy("group")
        .agg(
            F.count("from_seq").alias("resumptions"),
            *(
                F.sum(F.expr(f"cast({column_of(one)} as bigint)")).alias(column_of(one))
                for one in NEAR_MISSES
            ),
        )
    )


def column_of(near: str) -> str:
    """Return the column of a near miss."""
    return near.replace(" ", "_")


def _resumed(trace: Trace) -> Frame:
    began = commits_at_start(trace).select(
        *ASSIGNMENT, *(name for name in _COMMIT if name not in ASSIGNMENT), "from_micros"
    )
    moments = began.selectExpr(*_LOG, "from_micros as at_micros").distinct()
    starts = with_log_starts(moments, trace).selectExpr(
        *_LOG, "at_micros as from_micros", "start_low", "start_high"
    )
    stored = (
        stored_commits(trace)
        .selectExpr(
            *PARTITION,
            "offset as committed_offset",
            "committed_epoch",
            "committed_micros",
            "record_epoch",
        )
        .groupBy(*_COMMIT)
        .agg(F.max("record_epoch").alias("record_epoch"))
    )
    led = trace["leaderships"].selectExpr(*_LOG, "at_micros as led_micros")
    newer = (
        began.join(led, on=list(_LOG), how="inner")
        .where("led_micros > committed_micros and led_micros <= from_micros")
        .select(*ASSIGNMENT)
        .distinct()
        .withColumn("_is_newer", F.expr("true"))
    )
    return (
        began.join(starts, on=[*_LOG, "from_micros"], how="left")
        .join(stored, on=list(_COMMIT), how="left")
        .join(timelines(trace), on=list(_LOG), how="left")
        .join(newer, on=list(ASSIGNMENT), how="left")
        .withColumn(
            "oldest_epoch",
            F.expr(
                "array_max(filter(timeline, one -> one.is_kept and one.start_high <= start_low"
                " and coalesce(one.from_micros <= from_micros, true))).leader_epoch"
            ),
        )
        .selectExpr(
            "group",
            "from_seq",
            "coalesce(_is_newer, false) as new_leader",
            "coalesce(start_low = committed_offset and start_low > 0, false) as at_the_log_start",
            "coalesce(committed_epoch >= 0 and start_low > 0 and committed_epoch < oldest_epoch,"
            " false) as epoch_gone",
            "coalesce(committed_epoch >= 0 and committed_epoch < record_epoch, false)"
            " as epoch_older",
            "coalesce(committed_epoch >= 0 and committed_epoch > record_epoch, false)"
            " as epoch_newer",
            "committed_epoch < 0 as no_epoch",
        )
    )

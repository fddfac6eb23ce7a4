"""What groups committed, how far each of them got, and from where on.

A replica of `__consumer_offsets` on a broker that never returned may hold commits that its
partition has lost. What a group resumes from is in the log of the last in-sync replicas.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import IS_STORED
from analysis.statements.facts import fact_named

PARTITION = ("group", "topic", "partition")
IN_LOG = "struct(offsets_partition, offsets_offset, committed_micros)"
"""SQL: sorts the commits of a group, as they follow each other in the surviving log."""

endings = fact_named("group_endings")
positions = fact_named("last_positions")
offsets_of = fact_named("present_offsets")
administered = fact_named("administered")
withheld_commits = fact_named("withheld_commits")
beginnings = fact_named("group_beginnings")


def last_commits(rows: Frame) -> Frame:
    """The last of the stored commits, by group, topic, partition.

    Offsets that a transaction sent count once its commit marker is stored.

    Args:
        rows: of `offsets_of`.

    Returns:
        group, topic, partition, committed_offset, committed_epoch, committed_micros.
    """
    return (
        rows.where(IS_STORED)
        .groupBy(*PARTITION)
        .agg(
            F.max_by("offset", F.expr(IN_LOG)).alias("committed_offset"),
            F.max_by("committed_epoch", F.expr(IN_LOG)).alias("committed_epoch"),
            F.max_by("committed_micros", F.expr(IN_LOG)).alias("committed_micros"),
        )
    )

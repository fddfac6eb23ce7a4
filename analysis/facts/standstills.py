"""Where members stayed: they polled on and were given nothing, or reported that they caught up."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each
from analysis.facts.sessions import runs
from analysis.facts.state import of_present_topic
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import int64, string
from contract.tables import MICROS_PER_SECOND

OUTAGE_SECONDS = 2
"""A wait of this length is an outage; a shorter one may be a slow machine."""
STALE_SECONDS = 2
"""A reader that stands so long before a record that was acknowledged reads a stale log."""

_LOG = ("topic", "partition")
_STANDSTILL = (
    *each(string, "group member"),
    *LOG,
    int64("first_offset"),
    int64("since_micros", "its last poll before, or when it was assigned the partition"),
    int64("until_micros", "its last such commit"),
    int64("at_micros", "when it was given the run"),
)


@fact(*_STANDSTILL)
def standstills(trace: Trace) -> Frame:
    """Runs before which their member stood at their first offset for STALE_SECONDS or more.

    That it did, and did not rest, is proved by its commits of that offset in between.
    """
    least = STALE_SECONDS * MICROS_PER_SECOND
    began = (
        trace["group_events"]
        .where("change = 'assigned'")
        .groupBy("member", *_LOG)
        .agg(F.min("at_micros").alias("began_micros"))
    )
    waited = (
        runs(trace)
        .join(began, on=["member", *_LOG], how="left")
        .withColumn("since_micros", F.coalesce("prev_micros", "began_micros"))
        .where(f"at_micros - since_micros >= {least}")
    )
    commits = trace["commits"].select(
        "member", *_LOG, F.col("offset").alias("first_offset"), "committed_micros"
    )
    return (
        waited.join(commits, on=["member", *_LOG, "first_offset"], how="inner")
        .where("committed_micros < at_micros")
        .groupBy("group", "member", *_LOG, "first_offset", "since_micros", "at_micros")
        .agg(F.max("committed_micros").alias("until_micros"))
        .where(f"until_micros - since_micros >= {least}")
    )


@view(*_STANDSTILL)
def reported_ends(trace: Trace) -> Frame:
    """Positions at which members reported that they caught up.

    A report is of one moment: since_micros is null, until_micros and at_micros are when it came.
    """
    return (
        of_present_topic(
            trace["group_events"].where("change = 'caught_up' and position is not null"),
            trace,
            "at_micros",
        )
        .select(
            "group",
            "member",
            *_LOG,
            F.col("position").alias("first_offset"),
            F.lit(None).cast("bigint").alias("since_micros"),
            F.col("at_micros").alias("until_micros"),
            "at_micros",
        )
        .distinct()
    )

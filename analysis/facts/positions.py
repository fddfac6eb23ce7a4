"""How far each group got, and how it ended."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import OF_GROUP
from analysis.facts.deliveries import deliveries
from analysis.facts.state import of_present_topic
from analysis.facts.trace import Trace, view
from contract.table_columns import boolean, int64, string

PARTITION = ("group", "topic", "partition")
_ENDINGS = ("caught_up", "stalled", "failed")


@view(
    string("group"),
    string(
        "last_change",
        "`polled` where nothing was reported after the last poll: the member was killed",
    ),
    string("last_member"),
)
def endings(trace: Trace) -> Frame:
    """How each group ended last."""
    reported = trace["group_events"].where(F.col("change").isin(*_ENDINGS))
    polled = deliveries(trace).select(
        "group", "member", F.lit("polled").alias("change"), "at_micros", "seq"
    )
    return (
        reported.select(*polled.columns)
        .union(polled)
        .groupBy("group")
        .agg(
            F.max_by("change", F.struct("at_micros", "seq")).alias("last_change"),
            F.max_by("member", F.struct("at_micros", "seq")).alias("last_member"),
        )
    )


@view(
    *OF_GROUP,
    int64("position", "the last one that it reported, or the one after its last poll"),
    int64("seen_micros", "when"),
    boolean("is_polled", "whether it was killed before it reported one"),
)
def positions(trace: Trace) -> Frame:
    """How far each group went, however it ended."""
    reported = (
        of_present_topic(trace["group_events"], trace, "at_micros")
        .where(F.col("change").isin("caught_up", "stalled") & F.col("position").isNotNull())
        .select(
            *PARTITION,
            "position",
            F.struct("at_micros", "seq").alias("moment"),
            F.lit(0).alias("polled"),
        )
    )
    polled = of_present_topic(deliveries(trace), trace, "at_micros").select(
        *PARTITION,
        (F.col("last_offset") + 1).alias("position"),
        F.struct("at_micros", "seq").alias("moment"),
        F.lit(1).alias("polled"),
    )
    last = F.struct("moment", "position")
    return (
        reported.union(polled)
        .groupBy(*PARTITION)
        .agg(
            F.max_by("position", last).alias("position"),
            F.max("moment.at_micros").alias("seen_micros"),
            (F.max_by("polled", last) == 1).alias("is_polled"),
        )
    )

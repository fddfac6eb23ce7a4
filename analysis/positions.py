"""How far each group got, and what it committed last."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.load import Trace
from analysis.stretches import given

PARTITION = ("group", "topic", "partition")
_ENDINGS = ("caught_up", "stalled", "failed")


def endings(trace: Trace) -> DataFrame:
    """How each group ended last: (group, last_change, last_member).

    last_change is `polled` where nothing was told after the last poll: the member was killed.
    """
    told = trace["group_events"].where(F.col("change").isin(*_ENDINGS))
    polled = given(trace).select(
        "group", "member", F.lit("polled").alias("change"), "at_micros", "seq"
    )
    return (
        told.select(*polled.columns)
        .union(polled)
        .groupBy("group")
        .agg(
            F.max_by("change", F.struct("at_micros", "seq")).alias("last_change"),
            F.max_by("member", F.struct("at_micros", "seq")).alias("last_member"),
        )
    )


def final_positions(trace: Trace) -> DataFrame:
    """How far groups went that did not end by raising.

    Columns: group, topic, partition, first_offset, final_position.

    first_offset is the first that was delivered to the group; final_position as in `positions`.
    """
    first = given(trace).groupBy(*PARTITION).agg(F.min("first_offset").alias("first_offset"))
    calm = endings(trace).where(F.col("last_change") != "failed").select("group")
    return (
        positions(trace)
        .join(first, on=list(PARTITION), how="inner")
        .join(calm, on="group", how="left_semi")
        .select(*PARTITION, "first_offset", F.col("position").alias("final_position"))
    )


def positions(trace: Trace) -> DataFrame:
    """(group, topic, partition, position): how far each group went, however it ended.

    position is what it told of last, or the one after its last poll where it was killed before it
    told.
    """
    told = (
        trace["group_events"]
        .where(F.col("change").isin("caught_up", "stalled") & F.col("position").isNotNull())
        .select(*PARTITION, "position", F.struct("at_micros", "seq").alias("moment"))
    )
    polled = given(trace).select(
        *PARTITION,
        (F.col("last_offset") + 1).alias("position"),
        F.struct("at_micros", "seq").alias("moment"),
    )
    return (
        told.union(polled)
        .groupBy(*PARTITION)
        .agg(F.max_by("position", F.struct("moment", "position")).alias("position"))
    )


def is_stored() -> Column:
    """Whether a row of `committed_offsets` took effect."""
    return F.expr(
        "not is_tombstone and (producer_id is null or producer_id < 0 or marker <=> 'commit')"
    )


def last_commits(committed_offsets: DataFrame) -> DataFrame:
    """The last of the stored commits, by group, topic, partition.

    Offsets that a transaction sent count once its commit marker is stored.

    Columns: group, topic, partition, committed_offset, committed_epoch, committed_micros.
    """
    order = F.struct("committed_micros", "offsets_offset")
    return (
        committed_offsets.where(is_stored())
        .groupBy(*PARTITION)
        .agg(
            F.max_by("offset", order).alias("committed_offset"),
            F.max_by("committed_epoch", order).alias("committed_epoch"),
            F.max("committed_micros").alias("committed_micros"),
        )
    )

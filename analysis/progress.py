"""How far each group got: what several checks and the resumption ask."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.load import Trace
from analysis.screens import doubtful_polls, not_delivered
from harness.contract.outcomes import Isolation

PARTITION = ("group", "topic", "partition")
_ENDINGS = ("caught_up", "stalled", "failed")


def endings(trace: Trace) -> DataFrame:
    """How each group ended last: (group, last_change, last_member).

    last_change is `polled` where nothing was told after the last poll: the member was killed.
    """
    told = trace["group_events"].where(F.col("change").isin(*_ENDINGS))
    polled = trace["polls"].select(
        "group",
        "member",
        F.lit("polled").alias("change"),
        F.col("polled_micros").alias("at_micros"),
        "seq",
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
    first = trace["polls"].groupBy(*PARTITION).agg(F.min("offset").alias("first_offset"))
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
    polled = trace["polls"].select(
        *PARTITION,
        (F.col("offset") + 1).alias("position"),
        F.struct(F.col("polled_micros").alias("at_micros"), "seq").alias("moment"),
    )
    return (
        told.union(polled)
        .groupBy(*PARTITION)
        .agg(F.max_by("position", F.struct("moment", "position")).alias("position"))
    )


def never_delivered(trace: Trace) -> DataFrame:
    """(group, topic, partition, offset, leader_epoch): surviving records that a group went past.

    A record counts as delivered if its value was, at whatever offset: a truncation gives an offset
    to another record. What a transaction wrote is not told of groups that read committed values:
    whether they should have it is for `torn_transaction` to judge.
    """
    return trace.shared("never_delivered", lambda: _never_delivered(trace))


def _never_delivered(trace: Trace) -> DataFrame:
    within = (F.col("offset") >= F.col("first_offset")) & (
        F.col("offset") < F.col("final_position")
    )
    positions = F.broadcast(final_positions(trace))
    passed = trace.surviving.join(positions, on=["topic", "partition"], how="inner").where(within)
    missed = not_delivered(passed, trace)
    committed = [
        group.group for group in trace.plan.groups if group.isolation == Isolation.READ_COMMITTED
    ]
    if committed:
        written = trace["sends"].where("transaction is not null").select("value").distinct()
        is_hidden = F.col("group").isin(committed) & F.col("_written").isNotNull()
        missed = missed.join(
            written.withColumn("_written", F.lit(1)), on="value", how="left"
        ).where(~is_hidden)
    return missed.select(*PARTITION, "offset", "leader_epoch")


def repeated(trace: Trace) -> DataFrame:
    """Records that a group was delivered more than once.

    Columns: group, topic, partition, offset, value, deliveries, last_micros.
    """
    return trace.shared("repeated", lambda: _repeated(trace))


def _repeated(trace: Trace) -> DataFrame:
    return (
        doubtful_polls(trace)
        .groupBy(*PARTITION, "offset", "value")
        .agg(F.count(F.lit(1)).alias("deliveries"), F.max("polled_micros").alias("last_micros"))
        .where("deliveries > 1")
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

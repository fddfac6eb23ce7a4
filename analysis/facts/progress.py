"""Where groups began, what they went past, and what was delivered to them again."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.beginnings import beginnings
from analysis.facts.declared import LOG, OF_GROUP, SLICE
from analysis.facts.deliveries import deliveries
from analysis.facts.positions import PARTITION, endings, positions
from analysis.facts.state import of_present_topic, timelines, with_log_starts
from analysis.facts.trace import Trace, fact, view
from contract.outcomes import Isolation
from contract.table_columns import int32, int64, string

_LOG = ("topic", "partition")
_RECORD = ("offset", "last_offset", "records", "leader_epoch", "value")


@fact(*OF_GROUP, *SLICE, int32("leader_epoch"))
def never_delivered(trace: Trace) -> Frame:
    """Slices of surviving records that a group went past.

    The log held them at that time: some were deleted later. A record counts as delivered if its
    value was, at whatever offset: a truncation gives an offset to another record. What a
    transaction wrote is left out for groups that read committed values: whether they should have it
    is for `torn_transaction` to judge.
    """
    is_passed = (F.col("offset") >= F.col("first_offset")) & (
        F.col("offset") < F.col("final_position")
    )
    reached = final_positions(trace).drop("position", "seen_micros")
    passed = slices.surviving(trace).join(reached, on=["topic", "partition"], how="inner")
    candidates = passed.where(is_passed).select(*PARTITION, *_RECORD)
    if was_deleted_from(trace):
        candidates = candidates.union(_passed_before_deletion(trace))
    polls = of_present_topic(slices.polls(trace), trace, "polled_micros")
    damaged = polls.where("not is_intact").select(*PARTITION, "offset", "leader_epoch")
    missed = candidates.join(polls, on=[*PARTITION, "value"], how="left_anti").join(
        damaged, on=[*PARTITION, "offset", "leader_epoch"], how="left_anti"
    )
    committed = [
        group.group for group in trace.plan.groups if group.isolation == Isolation.READ_COMMITTED
    ]
    if committed:
        written = slices.sends(trace).where("transaction is not null").select("value").distinct()
        is_hidden = F.col("group").isin(committed) & F.col("_written").isNotNull()
        missed = missed.join(
            written.withColumn("_written", F.lit(1)), on="value", how="left"
        ).where(~is_hidden)
    return missed


def was_deleted_from(trace: Trace) -> bool:
    """Whether any log start is above 0 at the end."""
    return trace.once("records were deleted", lambda: not _deleted(trace).isEmpty())


@view(*LOG, int64("log_start"))
def _deleted(trace: Trace) -> Frame:
    """Partitions of which records were deleted."""
    return trace.log_bounds.where("log_start > 0")


def _passed_before_deletion(trace: Trace) -> Frame:
    """Records below the log start, in segments that are still there, that a group went past before.

    The log start was at or below them, by its upper bound, when the group was delivered a record
    above them.
    """
    polled = deliveries(trace).join(_deleted(trace), on=list(_LOG), how="left_semi")
    passed_to = (
        with_log_starts(of_present_topic(polled, trace, "at_micros"), trace)
        .groupBy(*PARTITION, "start_high")
        .agg(F.max("first_offset").alias("passed_to"))
        .join(beginnings(trace), on=list(PARTITION), how="inner")
    )
    return (
        deleted_records(trace)
        .join(passed_to, on=list(_LOG), how="inner")
        .where("offset >= greatest(start_high, first_offset) and offset < passed_to")
        .select(*PARTITION, *_RECORD)
        .distinct()
    )


@view(*LOG, *SLICE, int32("leader_epoch"), string("value"))
def deleted_records(trace: Trace) -> Frame:
    """Slices below the log start that are in a segment yet."""
    return (
        slices.replica_records(trace)
        .join(trace.survivors, on=[*_LOG, "broker"], how="left_semi")
        .join(_deleted(trace), on=list(_LOG), how="inner")
        .where("offset < log_start")
        .select(*_LOG, *_RECORD)
        .distinct()
    )


@view(
    *OF_GROUP,
    int64("first_offset", "as of `beginnings`"),
    int64(
        "final_position",
        "the position, but not above where a newer leader epoch started after the group was seen"
        " last: it did not go on there",
    ),
    int64("position", "as of `positions`"),
    int64("seen_micros", "likewise"),
)
def final_positions(trace: Trace) -> Frame:
    """How far groups went that did not end by raising."""
    calm = endings(trace).where(F.col("last_change") != "failed").select("group")
    last_read = (
        deliveries(trace)
        .groupBy(*PARTITION)
        .agg(
            F.max_by("leader_epoch", F.struct("at_micros", "seq", "last_place")).alias("read_epoch")
        )
    )
    since = (
        "array_min(transform(filter(timeline, one -> one.leader_epoch > read_epoch"
        " and (is_polled or one.from_micros > seen_micros)), one -> one.start_high))"
    )
    return (
        positions(trace)
        .join(beginnings(trace), on=list(PARTITION), how="inner")
        .join(calm, on="group", how="left_semi")
        .join(last_read, on=list(PARTITION), how="left")
        .join(timelines(trace), on=list(_LOG), how="left")
        .selectExpr(
            *PARTITION,
            "first_offset",
            f"least(position, {since}) as final_position",
            "position",
            "seen_micros",
        )
    )


@fact(*OF_GROUP, *SLICE, string("value"), int64("deliveries"), int64("last_micros"))
def repeated(trace: Trace) -> Frame:
    """Slices that a group was delivered more than once."""
    return (
        slices.polls(trace)
        .groupBy(*PARTITION, "offset", "last_offset", "records", "value")
        .agg(F.count(F.lit(1)).alias("deliveries"), F.max("polled_micros").alias("last_micros"))
        .where("deliveries > 1")
    )

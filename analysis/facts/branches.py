"""A partition's log is a tree of leader epochs: which branch survived, and what was abandoned.

The surviving branch is what the leader-epoch-checkpoints of the surviving replicas hold. A record
(offset, epoch) lies on an abandoned branch if a later epoch starts at or below its offset there.
Then an offset may have several values: in the surviving log, or as groups were given them.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.acknowledgements import lost
from analysis.facts.declared import LOG, OF_GROUP, SLICE, each
from analysis.facts.deliveries import deliveries
from analysis.facts.positions import PARTITION
from analysis.facts.state import FOREVER, end_then, fork_then, timelines, with_timelines
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace, fact
from contract.table_columns import boolean, int32, int64, string

_LOG = ("topic", "partition")
_FIRST = "struct(at_micros, seq, first_place)"
_LAST = "struct(at_micros, seq, last_place)"
_AT = (*_LOG, "offset")
_SLICE = (*_AT, "last_offset", "records")
_BITS = 63


@fact(
    *LOG,
    string("group"),
    int32("epoch"),
    *each(int64, "offset_min offset_max"),
    int64("first_offset", "in the order of delivery"),
    int64("last_offset", "likewise"),
    *each(int64, "first_micros last_micros"),
    int64(
        "forked_at",
        "where the surviving branch leaves the epoch, as its leader returns it; null if it does"
        " not",
    ),
)
def reads(trace: Trace) -> Frame:
    """What each group was delivered of each epoch, with the fork where that epoch ends.

    Records whose epoch the client does not report are left out.
    """
    read = (
        deliveries(trace)
        .where("leader_epoch >= 0")
        .groupBy(*PARTITION, F.col("leader_epoch").alias("epoch"))
        .agg(
            F.min("first_offset").alias("offset_min"),
            F.max("last_offset").alias("offset_max"),
            F.expr(f"min_by(first_offset, {_FIRST})").alias("first_offset"),
            F.expr(f"max_by(last_offset, {_LAST})").alias("last_offset"),
            F.min("at_micros").alias("first_micros"),
            F.max("at_micros").alias("last_micros"),
        )
    )
    return with_timelines(read, trace).selectExpr("*", f"{end_then('epoch', FOREVER)} as forked_at")


@fact(
    *LOG,
    int32("epoch"),
    int64("forked_at", "its first truncated offset"),
    int64("reached", "the end of what is known to have been there, exclusive"),
    string(
        "reached_by",
        "`replica`, `poll`, `sample` or `acknowledgement`: the first of those that reach furthest",
    ),
)
def abandoned(trace: Trace) -> Frame:
    """The branches that a truncation removed.

    Known is what any replica still holds, surviving or not, or held when a fault on its server
    ended, what any group was delivered, which acknowledged records were lost, and which end a
    leader reported (its high watermark). What no source saw is left out.
    """
    in_replicas = (
        trace["replica_batches"]
        .select(*_LOG, "leader_epoch", "last_offset")
        .union(trace["cut_batches"].select(*_LOG, "leader_epoch", "last_offset"))
        .groupBy(*_LOG, F.col("leader_epoch").alias("epoch"))
        .agg((F.max("last_offset") + 1).alias("reached"))
        .selectExpr("*", "3 as rank", "'replica' as reached_by")
    )
    in_polls = (
        reads(trace)
        .groupBy(*_LOG, "epoch")
        .agg((F.max("offset_max") + 1).alias("reached"))
        .selectExpr("*", "2 as rank", "'poll' as reached_by")
    )
    in_samples = (
        trace["samples"]
        .where("broker = leader and log_end_offset > 0")
        .groupBy(*_LOG, F.col("leader_epoch").alias("epoch"))
        .agg(F.max("log_end_offset").alias("reached"))
        .selectExpr("*", "1 as rank", "'sample' as reached_by")
    )
    in_acknowledgements = (
        lost(trace)
        .groupBy(*_LOG, F.col("acknowledged_epoch").alias("epoch"))
        .agg((F.max("last_offset") + 1).alias("reached"))
        .selectExpr("*", "0 as rank", "'acknowledgement' as reached_by")
    )
    reached = (
        in_replicas.union(in_polls)
        .union(in_samples)
        .union(in_acknowledgements)
        .where("epoch >= 0")
        .groupBy(*_LOG, "epoch")
        .agg(F.expr("max(struct(reached, rank, reached_by))").alias("furthest"))
    )
    return (
        with_timelines(reached, trace)
        .selectExpr(
            *_LOG,
            "epoch",
            f"{fork_then('epoch', FOREVER)} as forked_at",
            "furthest.reached",
            "furthest.reached_by",
        )
        .where("reached > forked_at")
    )


@fact(
    *LOG,
    *SLICE,
    int32("leader_epoch"),
    string("value"),
    int64("groups", "those that were given it, as bits; see `with_readers`"),
    boolean("is_kept", "whether the surviving log has it"),
    int64("first_micros", "of its deliveries; null without any"),
    int64("last_micros", "likewise"),
    boolean("is_owed", "sent with acks=all"),
    int64("answered_micros", "when it was acknowledged with this offset; null if it was not"),
)
def rivals(trace: Trace) -> Frame:
    """The values of offsets that have several, in slices."""
    at_offset = Window.partitionBy(*_AT)
    several = (
        _seen(trace)
        .groupBy(*_SLICE, "leader_epoch", "value")
        .agg(
            F.bit_or("bit").alias("groups"),
            (F.min("bit") == 0).alias("is_kept"),
            F.min("polled_micros").alias("first_micros"),
            F.max("polled_micros").alias("last_micros"),
        )
        .withColumn("_low", F.min("value").over(at_offset))
        .withColumn("_high", F.max("value").over(at_offset))
        .where("_low != _high")
        .drop("_low", "_high")
    )
    return several.join(_sent(trace), on=[*_LOG, "value"], how="left").select(
        *several.columns,
        F.col("_owed").isNotNull().alias("is_owed"),
        F.when(F.col("offset") == F.col("_offset"), F.col("_answered")).alias("answered_micros"),
    )


@fact(
    *OF_GROUP,
    int32("other_epoch", "under which it read"),
    int64("from_offset"),
    int64("to_offset", "exclusive: where the log has no epoch so new"),
    int64("at_micros"),
)
def absences(trace: Trace) -> Frame:
    """Where a group came to the log's end, under an epoch whose branch the log left since.

    What the log holds there of an older epoch was not in that branch, which had started at or below
    from_offset.
    """
    clock = trace.clock_micros
    is_unsure = (
        "exists(timeline, one -> one.leader_epoch > led.leader_epoch"
        f" and coalesce(one.from_micros <= at_micros + {clock}, true))"
    )
    kept = "filter(timeline, one -> one.is_kept and one.leader_epoch >= led.leader_epoch)"
    return (
        of_present_topic(
            trace["group_events"].where("change = 'caught_up' and position is not null"),
            trace,
            "at_micros",
        )
        .select("group", *_LOG, "position", "at_micros")
        .join(timelines(trace), on=list(_LOG), how="inner")
        .join(trace.log_bounds.select(*_LOG, "log_end"), on=list(_LOG), how="inner")
        .withColumn(
            "led",
            F.expr(f"array_max(filter(timeline, one -> one.from_micros <= at_micros - {clock}))"),
        )
        .where(f"led.start_high is not null and not {is_unsure}")
        .selectExpr(
            "group",
            *_LOG,
            "led.leader_epoch as other_epoch",
            "greatest(position, led.start_high) as from_offset",
            f"coalesce(array_min(transform({kept}, one -> one.start_high)), log_end) as to_offset",
            "at_micros",
        )
        .where("from_offset < to_offset")
    )


def with_readers(rows: Frame, trace: Trace) -> Frame:
    """Rows, and the names of the groups that are the bits of their `groups`, as `readers`.

    Where more than 63 groups read a topic, some share a bit, and are reported together.
    """
    named = _bits(trace).selectExpr("topic as _topic", "group as _group", "bit")
    return (
        rows.join(named, on=F.expr("_topic = topic and (groups & bit) != 0"), how="left")
        .groupBy(*rows.columns)
        .agg(F.concat_ws(", ", F.sort_array(F.collect_list("_group"))).alias("readers"))
    )


def _seen(trace: Trace) -> Frame:
    """What each group was given, and what the log holds: then bit is 0."""
    polls = slices.polls(trace).join(_bits(trace), on=["topic", "group"], how="inner")
    columns = (*_SLICE, "leader_epoch", "value")
    given_to = polls.select(*columns, "bit", "polled_micros")
    kept = slices.surviving(trace).select(
        *columns,
        F.lit(0).cast("bigint").alias("bit"),
        F.lit(None).cast("bigint").alias("polled_micros"),
    )
    return given_to.union(kept)


def _sent(trace: Trace) -> Frame:
    """Each value once, as its producer reports."""
    is_ok = F.col("outcome") == "ok"
    return (
        slices.sends(trace)
        .groupBy(*_LOG, "value")
        .agg(
            F.max(F.when(F.col("acks") == "all", 1)).alias("_owed"),
            F.min(F.when(is_ok, F.col("offset"))).alias("_offset"),
            F.min(F.when(is_ok, F.col("answered_micros"))).alias("_answered"),
        )
    )


@fact(string("topic"), string("group"), int64("bit"))
def _bits(trace: Trace) -> Frame:
    """A bit for each group that was given anything of a topic."""
    of_topic = Window.partitionBy("topic").orderBy("group")
    return (
        deliveries(trace)
        .select("topic", "group")
        .distinct()
        .withColumn("_place", F.row_number().over(of_topic) - 1)
        .selectExpr("topic", "group", f"shiftleft(cast(1 as bigint), _place % {_BITS}) as bit")
    )

"""Which leader epochs a partition had over time, and where each of them started.

An event is judged by what held at its time, as in `analysis.facts.topics`.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, OF_GROUP, each, structs
from analysis.facts.deliveries import deliveries
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace, fact
from contract.table_columns import boolean, int32, int64

_LOG = ("topic", "partition")
_EPOCH = (*_LOG, "leader_epoch")
_UNCACHED = """
    case when cached is not null then null
        when leader_epoch > _newest then log_end
        when leader_epoch > _oldest then _next
    end
"""
"""Where an epoch started at the lowest that a surviving cache would have, but has not.

It has no record on the surviving branch, so it ends where the next one starts."""


@fact(
    *LOG,
    structs(
        "timeline",
        int32("leader_epoch"),
        *each(int64, "start_low start_high from_micros"),
        boolean("is_kept"),
        about="in no order",
    ),
)
def timelines(trace: Trace) -> Frame:
    """Every leader epoch that is known, evicted ones too.

    start_low and start_high are the bounds of the epoch's start offset (null: unknown), from_micros
    is when it began (null: unknown), is_kept whether it is of the surviving branch, as far as
    retention left that to be seen.
    """
    return (
        _epochs(trace)
        .groupBy(*_LOG)
        .agg(
            F.collect_list(
                F.struct("leader_epoch", "start_low", "start_high", "from_micros", "is_kept")
            ).alias("timeline")
        )
    )


def fork_then(epoch: str, until: str) -> str:
    """SQL: where the log had left an epoch by then; null while no newer epoch had started.

    Offsets at or above it were not of that epoch or an older one. To be asked of rows with a
    `timeline`; where the start of a newer epoch has two bounds, the returned fork is too high.

    Args:
        epoch: SQL, the epoch.
        until: SQL, the latest time at which the newer epoch may have begun.
    """
    return (
        f"array_min(transform(filter(timeline, one -> one.leader_epoch > {epoch}"
        f" and coalesce(one.from_micros <= {until}, true)), one -> one.start_high))"
    )


def kept_fork(epoch: str, offset: str) -> str:
    """SQL: the struct of `timeline` with which the surviving branch left an epoch below an offset.

    The lowest newer epoch of the surviving branch that starts below it; null if none does.

    Args:
        epoch: SQL, the epoch.
        offset: SQL, the offset.
    """
    return (
        f"array_min(filter(timeline, one -> one.is_kept and one.leader_epoch > {epoch}"
        f" and one.start_high < {offset}))"
    )


def has_begun(epoch: str, until: str) -> Column:
    """Whether an epoch, or a newer one, had begun by then."""
    return F.expr(
        f"coalesce(size(filter(timeline, one -> one.leader_epoch >= {epoch}"
        f" and coalesce(one.from_micros <= {until}, true))) > 0, false)"
    )


def is_overwritten(epoch: str, offset: str, until: str) -> Column:
    """Whether a newer epoch started below an offset by then: the position was truncated.

    To be asked of rows with a `timeline`; a position's epoch is that of the record before it.

    Args:
        epoch: SQL, the position's.
        offset: SQL, the position's.
        until: SQL, the latest time at which the newer epoch may have begun.
    """
    return _is_overwritten(epoch, offset, until, "one.start_high")


def may_be_overwritten(epoch: str, offset: str, until: str) -> Column:
    """As `is_overwritten`, but true as well where it is not known where a newer epoch started."""
    return _is_overwritten(epoch, offset, until, "coalesce(one.start_low, 0)")


def _is_overwritten(epoch: str, offset: str, until: str, start: str) -> Column:
    return F.expr(
        f"coalesce(size(filter(timeline, one -> one.leader_epoch > {epoch} and {start} < {offset}"
        f" and coalesce(one.from_micros <= {until}, true))) > 0, false)"
    )


def _epochs(trace: Trace) -> Frame:
    """Leader epochs one by one, with the columns of a `timeline`'s structs."""
    led = of_present_topic(trace["leaderships"].where("leader_epoch >= 0"), trace, "at_micros")
    began = led.groupBy(*_EPOCH).agg(F.min("at_micros").alias("led_micros"))
    logged = (
        of_present_topic(trace["leader_epoch_starts"], trace, "at_micros")
        .groupBy(*_EPOCH)
        .agg(F.min("start_offset").alias("logged"), F.min("at_micros").alias("logged_micros"))
    )
    cached = (
        trace.epoch_starts.select(*_LOG, F.explode("epochs").alias("_one"))
        .select(*_LOG, "_one.leader_epoch", "_one.start_offset")
        .groupBy(*_EPOCH)
        .agg(F.min("start_offset").alias("cached"))
    )
    read = (
        of_present_topic(deliveries(trace).where("leader_epoch >= 0"), trace, "at_micros")
        .groupBy(*_EPOCH)
        .agg(F.min("first_offset").alias("read"))
    )
    whole = Window.partitionBy(*_LOG)
    later = whole.orderBy("leader_epoch").rowsBetween(1, Window.unboundedFollowing)
    cached_epoch = F.expr("if(cached is not null, leader_epoch, null)")
    every = began.join(logged, on=list(_EPOCH), how="full_outer")
    every = every.join(cached, on=list(_EPOCH), how="full_outer")
    return (
        every.join(read, on=list(_EPOCH), how="full_outer")
        .join(trace.log_bounds, on=list(_LOG), how="left")
        # Retention raises the start of the oldest cached epoch to the log start.
        .withColumn("_exact", F.expr("if(cached > log_start or cached = 0, cached, null)"))
        .withColumn("_oldest", F.min(cached_epoch).over(whole))
        .withColumn("_newest", F.max(cached_epoch).over(whole))
        .withColumn("_next", F.min("_exact").over(later))
        .selectExpr(
            *_EPOCH,
            # Where a leader's line and the checkpoints differ, one is wrong: either may be true.
            f"coalesce(least(logged, _exact), {_UNCACHED}) as start_low",
            "coalesce(greatest(logged, if(logged is null, null, _exact)), least(cached, read))"
            " as start_high",
            "coalesce(logged_micros, led_micros) as from_micros",
            "coalesce(cached is not null or leader_epoch < _oldest, true) as is_kept",
        )
    )


def with_timelines(rows: Frame, trace: Trace) -> Frame:
    """Rows with the `timeline` of their partition, null where nothing is known."""
    return rows.join(timelines(trace), on=list(_LOG), how="left")


def starts_above(offset: str) -> str:
    """SQL: whether the election `one` surely started its epoch above an offset, as of a `timeline`.

    False where it is not known where it started.
    """
    return (
        "coalesce(exists(timeline, other -> other.leader_epoch = one.epoch"
        f" and other.start_low > {offset}), false)"
    )


def took_over(epoch: str, offset: str) -> str:
    """SQL: the first epoch after one that surely began without an offset, as of a `timeline`.

    A struct (leader_epoch, start_low, start_high, from_micros, is_kept); null if there is none.
    Epochs whose branch was abandoned itself do not count.
    """
    return (
        f"array_min(filter(timeline, one -> one.leader_epoch > {epoch}"
        f" and one.start_high <= {offset} and one.is_kept))"
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

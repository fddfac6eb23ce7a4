"""A partition's state over time: where its log started, and where each leader epoch started.

An event is judged by what held at its time. What is known of that time has two bounds: a check
accuses only where both agree. Sources are, in this order, the servers' own logs (exact), the
leaders' samples, the metadata log, and the end of the run.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts.creations import created_again, creations
from analysis.facts.declared import LOG, each, structs
from analysis.facts.deliveries import deliveries
from analysis.facts.trace import Trace, fact
from contract.table_columns import boolean, int32, int64, string

_LOG = ("topic", "partition")
_EPOCH = (*_LOG, "leader_epoch")
_OF_LEADER = "leader offset increment"
"""Why a follower's log start advances: the leader's is there already."""
_UNCACHED = """
    case when cached is not null then null
        when leader_epoch > _newest then log_end
        when leader_epoch > _oldest then _next
    end
"""
"""Where an epoch started at the lowest that a surviving cache would have, but has not.

It has no record on the surviving branch, so it ends where the next one starts."""


def of_present_topic(rows: Frame, trace: Trace, at: str) -> Frame:
    """Rows whose time, a column by its name, is not before their topic was created again."""
    again = created_again(trace)
    if trace.once("no topic was created again", again.isEmpty):
        return rows
    began = creations(trace).where("is_last").join(again, on=list(_LOG), how="left_semi")
    return (
        rows.join(began.select(*_LOG, "created_micros"), on=list(_LOG), how="left")
        .where(f"created_micros is null or {at} >= created_micros")
        .drop("created_micros")
    )


def with_log_starts(moments: Frame, trace: Trace) -> Frame:
    """Add start_low and start_high: the bounds of the leader's log start at `at_micros`.

    start_low is the highest that was reported until then. start_high is the lowest that was
    reported since then, or at the end. It is also the highest of all replicas until then, where
    the servers' logs have every advance up to the end.

    Args:
        moments: with topic, partition, at_micros; few.
        trace: the run.
    """
    key = (*_LOG, "at_micros")
    then = moments.select(*key).distinct()
    known = (
        then.join(log_start_reports(trace), on=list(_LOG), how="left")
        .groupBy(*key)
        .agg(
            F.expr("max(log_start) filter (where is_low and first_micros <= at_micros)").alias(
                "_low"
            ),
            F.expr(
                "min(log_start) filter (where is_high"
                f" and last_micros >= at_micros + {trace.clock_micros})"
            ).alias("_high"),
            F.expr(
                "max(log_start) filter (where is_logged"
                f" and first_micros <= at_micros + {trace.clock_micros})"
            ).alias("_logged"),
            F.expr("max(log_start) filter (where is_logged)").alias("_logged_last"),
        )
        .join(
            trace.log_bounds.select(*_LOG, F.col("log_start").alias("_end")),
            on=list(_LOG),
            how="left",
        )
        .selectExpr(
            *key,
            "coalesce(_low, 0) as start_low",
            "greatest(coalesce(_low, 0), least(_high, _end,"
            " if(_logged_last >= _end, coalesce(_logged, 0), null))) as start_high",
        )
    )
    return moments.join(known, on=list(key), how="left")


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


@fact(
    *LOG,
    int64("log_start"),
    boolean("is_low", "the leader's was at least that from then on"),
    boolean("is_high", "it was at most that until then"),
    boolean("is_logged", "by a server's log"),
    string("reason", "that the server logged"),
    *each(int64, "first_micros last_micros"),
)
def log_start_reports(trace: Trace) -> Frame:
    """Each log start that was reported, once a source."""
    sampled = (
        trace["samples"]
        .where("broker = leader and log_start_offset >= 0")
        .selectExpr(
            *_LOG,
            "log_start_offset as log_start",
            "at_micros",
            "true as is_low",
            "true as is_high",
            "false as is_logged",
            "cast(null as string) as reason",
        )
    )
    led = trace["leaderships"].selectExpr(
        *_LOG, "leader as broker", "at_micros as led_micros", "leader_epoch"
    )
    changes = trace["log_start_changes"].select(
        *_LOG, "broker", "log_start_offset", "reason", "at_micros"
    )
    led_then = (
        changes.join(led.withColumnRenamed("broker", "leader"), on=list(_LOG))
        .where("led_micros <= at_micros")
        .groupBy(*changes.columns)
        .agg(F.max_by("leader", F.struct("led_micros", "leader_epoch")).alias("leader"))
    )
    logged = led_then.selectExpr(
        *_LOG,
        "log_start_offset as log_start",
        "at_micros",
        f"broker = leader or reason = '{_OF_LEADER}' as is_low",
        "broker = leader as is_high",
        "true as is_logged",
        "reason",
    )
    return (
        of_present_topic(sampled.union(logged), trace, "at_micros")
        .groupBy(*_LOG, "log_start", "is_low", "is_high", "is_logged", "reason")
        .agg(F.min("at_micros").alias("first_micros"), F.max("at_micros").alias("last_micros"))
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

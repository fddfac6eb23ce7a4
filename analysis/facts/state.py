"""Which leader epochs a partition had over time, and where each of them started.

An event is judged by what held at its time, as in `analysis.facts.topics`.
"""

from collections import defaultdict

import pyarrow as pa

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each, structs
from analysis.facts.deliveries import deliveries
from analysis.facts.leader_epochs import HEARD_SECONDS
from analysis.facts.lineage import EPOCHS_MIN, LogsOfPartition
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace, fact
from contract.table_columns import boolean, int32, int32s, int64
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_EPOCH = (*_LOG, "leader_epoch")
FOREVER = str(2**63 - 1)
"""SQL: later than any time."""
_OF_EPOCH = (
    "leader_epoch",
    "start_low",
    "start_high",
    "from_micros",
    "is_kept",
    "is_lacked",
    "lacked",
    "may_lack",
)


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
    int32("leader_epoch"),
    *each(int64, "start_low start_high from_micros"),
    boolean("is_kept"),
)
def epochs(trace: Trace) -> Frame:
    """Leader epochs one by one, with columns as in the structs of `timelines`."""
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


_LINEAGE = (
    *LOG,
    int32("leader_epoch"),
    int32s("lacked", "older epochs of which the leader's log had nothing, though they had begun"),
    int32s("may_lack", "those of which that is not known"),
)


@fact(*_LINEAGE)
def lineages(trace: Trace) -> Frame:
    """The leader epochs whose leader's log lacks some older epoch, or may lack it.

    An epoch is lacked if the log has an older one behind its start. That is known of a log that a
    replica holds at the end, or held before a fault ended; and of a leader that led before, and was
    not in sync and truncated nothing since. Each epoch's log has what the log before it had, so it
    is computed in Python, epoch by epoch.
    """
    partitions: dict[tuple[str, int], LogsOfPartition] = defaultdict(LogsOfPartition)
    for row in epochs(trace).where("start_high is not null").collect():
        one = partitions[row["topic"], row["partition"]]
        one.starts[row["leader_epoch"]] = row["start_high"]
        if row["from_micros"] is not None:
            one.began[row["leader_epoch"]] = row["from_micros"]
    forked = {where: one for where, one in partitions.items() if len(one.starts) >= EPOCHS_MIN}
    if forked:
        _read(trace, forked)
    rows = [
        (*where, epoch, sorted(lacked), sorted(may_lack))
        for where, one in forked.items()
        for epoch, (lacked, may_lack) in one.lineages().items()
        if lacked or may_lack
    ]
    if rows:
        trace.present("truncations")  # A missing line would make it wrong.
    schema = pa.schema([(column.name, column.type) for column in _LINEAGE])
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return trace.engine.table(pa.Table.from_pylist(named, schema=schema))


def _read(trace: Trace, partitions: dict[tuple[str, int], LogsOfPartition]) -> None:
    """Fill in what is known of some partitions."""
    of_replica = Window.partitionBy("broker", *_LOG).orderBy("leader_epoch")
    at_end = trace["epoch_checkpoints"].select(
        *_LOG,
        "broker",
        F.lit(0).cast("bigint").alias("at"),
        "leader_epoch",
        F.coalesce(F.lead("start_offset").over(of_replica), "start_offset").alias("reached"),
    )
    batches = trace.unrecorded("replica_batches").selectExpr(
        *_LOG, "broker", "bigint(0) as at", "leader_epoch", "last_offset + 1 as reached"
    )
    cut = trace.unrecorded("cut_batches").selectExpr(
        *_LOG, "broker", "taken_micros as at", "leader_epoch", "last_offset + 1 as reached"
    )
    held = (
        at_end.union(batches)
        .union(cut)
        .groupBy(*_LOG, "broker", "at", "leader_epoch")
        .agg(F.max("reached").alias("reached"))
    )
    reports = (
        trace.unrecorded("samples")
        .where("broker = leader and log_end_offset >= 0")
        .select(*_LOG, "leader_epoch", "at_micros", F.col("log_end_offset").alias("reached"))
    )
    read = deliveries(trace).select(
        *_LOG, "leader_epoch", "at_micros", F.expr("last_offset + 1 as reached")
    )
    reached = (
        of_present_topic(reports.union(read), trace, "at_micros")
        .groupBy(*_LOG, "leader_epoch")
        .agg(F.max("reached").alias("reached"))
    )
    for row in held.collect():
        if one := partitions.get((row["topic"], row["partition"])):
            one.logs[row["broker"], row["at"]][row["leader_epoch"]] = row["reached"]
    for row in reached.collect():
        if one := partitions.get((row["topic"], row["partition"])):
            one.reached[row["leader_epoch"]] = row["reached"]
    for row in of_present_topic(trace["leaderships"], trace, "at_micros").collect():
        if one := partitions.get((row["topic"], row["partition"])):
            one.in_sync.append((row["leader_epoch"], row["isr"] or []))
            if row["leader"] >= 0:
                one.leaders[row["leader_epoch"]] = row["leader"]
    for row in of_present_topic(trace.unrecorded("truncations"), trace, "at_micros").collect():
        if one := partitions.get((row["topic"], row["partition"])):
            one.truncated[row["broker"]].append((row["at_micros"], row["to_offset"]))


@fact(
    *LOG,
    structs(
        "timeline",
        int32("leader_epoch"),
        *each(int64, "start_low start_high from_micros"),
        boolean("is_kept"),
        boolean("is_lacked", "whether the log of a newer epoch's leader lacked it"),
        int32s("lacked"),
        int32s("may_lack"),
        about="in no order",
    ),
)
def timelines(trace: Trace) -> Frame:
    """Every leader epoch that is known, evicted ones too.

    start_low and start_high are the bounds of the epoch's start offset (null: unknown), from_micros
    is when it began (null: unknown), is_kept whether it is of the surviving branch, as far as
    retention left that to be seen; lacked and may_lack are those of `lineages`.
    """
    in_log = Window.partitionBy(*_LOG).orderBy("leader_epoch")
    to_end = in_log.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    none = "cast(array() as array<int>)"
    return (
        epochs(trace)
        .join(lineages(trace), on=[*_LOG, "leader_epoch"], how="left")
        .withColumn("lacked", F.expr(f"coalesce(lacked, {none})"))
        .withColumn("may_lack", F.expr(f"coalesce(may_lack, {none})"))
        .withColumn("_at_end", F.last("lacked").over(to_end))
        .withColumn("_ever", F.collect_list("lacked").over(to_end))
        .withColumn("is_lacked", F.expr("exists(_ever, one -> array_contains(one, leader_epoch))"))
        .withColumn("is_kept", F.expr("is_kept and not array_contains(_at_end, leader_epoch)"))
        .groupBy(*_LOG)
        .agg(F.collect_list(F.struct(*_OF_EPOCH)).alias("timeline"))
    )


def _leaves(epoch: str, begun: str, heard: str) -> str:
    """SQL: whether `one` of a `timeline` parted from an epoch in the log of a leader.

    It is a newer epoch that had begun, or the epoch itself, if the leader's log lacked it. Newer
    ones that this log lacked don't count.

    Args:
        epoch: SQL, the epoch.
        begun: SQL with a place, whether an epoch had begun.
        heard: likewise, whether every client had heard of it. The leader is that of the last one.
    """
    led = f"array_max(filter(timeline, two -> {heard.format('two')}))"
    is_lacked = f"one.is_lacked and coalesce(array_contains({led}.lacked, one.leader_epoch), false)"
    return (
        f"({begun.format('one')} and if(one.leader_epoch = {epoch}, {is_lacked},"
        f" one.leader_epoch > {epoch} and not ({is_lacked})))"
    )


def _leaves_by(epoch: str, until: str) -> str:
    """SQL: as `_leaves`, of the leader in force by then."""
    begun = f"coalesce({{0}}.from_micros <= {until}, true)"
    heard = f"coalesce({{0}}.from_micros <= {until} - {HEARD_SECONDS * MICROS_PER_SECOND}, true)"
    return _leaves(epoch, begun, heard)


def led_then(until: str) -> str:
    """SQL: the newest epoch that had begun by then, as of a `timeline`."""
    return (
        f"array_max(filter(timeline, one -> coalesce(one.from_micros <= {until}, true)))"
        ".leader_epoch"
    )


def had(leader_epoch: str, epoch: str, offset: str) -> str:
    """SQL: whether the log of a leader epoch may have had an offset of an older epoch."""
    of_log = f"{{0}}.leader_epoch <= {leader_epoch}"
    return (
        f"not coalesce(exists(timeline, one -> one.start_high <= {offset}"
        f" and {_leaves(epoch, of_log, of_log)}), false)"
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
        f"array_min(transform(filter(timeline, one -> {_leaves_by(epoch, until)}),"
        " one -> one.start_high))"
    )


def end_then(epoch: str, until: str) -> str:
    """SQL: which end of an epoch the leader in force by then returned; null: its log end.

    The start of the first larger epoch that its log has (`LeaderEpochFileCache.endOffsetFor`). Of
    an epoch that its log lacked, that may be above where the two logs part: then no client can
    notice (KIP-320).
    """
    is_newer = f"one.leader_epoch > {epoch} and {_leaves_by(epoch, until)}"
    return f"array_min(transform(filter(timeline, one -> {is_newer}), one -> one.start_high))"


def was_there(epoch: str, offset: str, until: str) -> str:
    """SQL: whether what the surviving log has at an offset may have been there by then.

    Not if its epoch began later, or if the log in force had left it below the offset.
    """
    return (
        f"not coalesce(exists(timeline, one -> one.leader_epoch = {epoch}"
        f" and one.from_micros > {until} or one.start_high <= {offset}"
        f" and {_leaves_by(epoch, until)}), false)"
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
        f"coalesce(size(filter(timeline, one -> {start} < {offset}"
        f" and {_leaves_by(epoch, until)})) > 0, false)"
    )


def with_timelines(rows: Frame, trace: Trace) -> Frame:
    """Rows with the `timeline` of their partition, null where nothing is known."""
    return rows.join(timelines(trace), on=list(_LOG), how="left")


def keeps(newer: str, epoch: str, offset: str) -> str:
    """SQL: whether the log of a newer epoch surely had an offset of an older one, by a `timeline`.

    It started above the offset, and did not lack the older epoch. False where that is not known.
    """
    return (
        f"coalesce(exists(timeline, other -> other.leader_epoch = {newer}"
        f" and other.start_low > {offset}"
        f" and not coalesce(array_contains(other.lacked, {epoch}), false)"
        f" and not coalesce(array_contains(other.may_lack, {epoch}), false)), false)"
    )


def took_over(epoch: str, offset: str) -> str:
    """SQL: the first epoch after one that surely began without an offset, as of a `timeline`.

    A struct of a `timeline`; null if there is none. Epochs whose branch was abandoned itself do not
    count.
    """
    return (
        f"array_min(filter(timeline, one -> one.leader_epoch > {epoch} and one.is_kept"
        f" and (one.start_high <= {offset} or array_contains(one.lacked, {epoch}))))"
    )

"""Which leader epochs a partition had over time, and where each of them started.

An event is judged by what held at its time, as in `analysis.facts.topics`.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts.leader_epochs import HEARD_SECONDS
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
FOREVER = str(2**63 - 1)
"""SQL: later than any time."""

timelines = fact_named("timelines")


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

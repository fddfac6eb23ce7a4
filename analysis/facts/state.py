"""Which leader epochs a partition had over time, and where each of them started.

An event is judged by what held at its time, as in `analysis.facts.topics`.
"""

from analysis.engine.frames import Frame
from analysis.facts.leader_epochs import HEARD_SECONDS
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")

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


def was_there(epoch: str, offset: str, until: str) -> str:
    """SQL: whether what the surviving log has at an offset may have been there by then.

    Not if its epoch began later, or if the log in force had left it below the offset.
    """
    return (
        f"not coalesce(exists(timeline, one -> one.leader_epoch = {epoch}"
        f" and one.from_micros > {until} or one.start_high <= {offset}"
        f" and {_leaves_by(epoch, until)}), false)"
    )


def with_timelines(rows: Frame, trace: Trace) -> Frame:
    """Rows with the `timeline` of their partition, null where nothing is known."""
    return rows.join(timelines(trace), on=list(_LOG), how="left")

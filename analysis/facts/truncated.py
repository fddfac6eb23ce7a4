"""What the surviving log has at or above the truncations that servers logged."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.leader_epochs import fork_of, leader_epochs, states
from analysis.facts.state import of_present_topic
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")
CUT = (*_LOG, "broker", "to_offset", "cut_micros")


def survivors_above(trace: Trace) -> Frame:
    """Truncations with each epoch that the surviving branch has at or above them.

    CUT, epoch, start, end (exclusive), leader, from_micros, until_micros of the epoch's leadership.
    Only epochs that were over when the replica was truncated.
    """
    spans = (
        trace.epoch_starts.join(trace.log_bounds, on=list(_LOG), how="inner")
        .select(*_LOG, "log_end", "epochs", F.explode("epochs").alias("one"))
        .selectExpr(*_LOG, "log_end", "epochs", "one.leader_epoch as epoch", "one.start_offset")
    )
    intervals = spans.selectExpr(
        *_LOG,
        "epoch",
        "start_offset as start",
        f"coalesce({fork_of('epoch')}, log_end) as end",
    )
    led = of_present_topic(leader_epochs(trace), trace, "from_micros").selectExpr(
        *_LOG, "epoch", "broker as leader", "until_micros"
    )
    return (
        of_present_topic(trace["truncations"], trace, "at_micros")
        .withColumnRenamed("at_micros", "cut_micros")
        .select(*CUT)
        .join(intervals, on=list(_LOG), how="inner")
        .where("end > to_offset and end > start")
        .join(led, on=[*_LOG, "epoch"], how="inner")
        .where("until_micros <= cut_micros")
    )


def replicated_above(trace: Trace) -> Frame:
    """(CUT, epoch, start, end, since, until): what followers had while they were in the ISR.

    That are records of an epoch between start and end (exclusive), acknowledged by all between
    since and until.
    """
    return trace.shared("replicated_above", lambda: _replicated_above(trace))


def _replicated_above(trace: Trace) -> Frame:
    in_sync = states(trace).select(
        *_LOG,
        "isr",
        (F.col("at_micros") + trace.clock_micros).alias("since"),
        (F.col("until_micros") - trace.clock_micros).alias("until"),
    )
    return (
        survivors_above(trace)
        .where("leader != broker")
        .join(in_sync, on=list(_LOG), how="inner")
        .where("array_contains(isr, broker) and since < cut_micros")
        .selectExpr(*CUT, "epoch", "start", "end", "since", "least(until, cut_micros) as until")
    )

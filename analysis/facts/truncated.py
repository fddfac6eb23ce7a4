"""What the surviving log has at or above the truncations that servers logged."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG
from analysis.facts.leader_epochs import fork_of, leader_epochs, states
from analysis.facts.state import of_present_topic
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import int32, int64

_LOG = ("topic", "partition")
CUT = (*_LOG, "broker", "to_offset", "cut_micros")
_CUT = (*LOG, int32("broker"), int64("to_offset"), int64("cut_micros", "when it was truncated"))


@view(
    *_CUT,
    int32("epoch"),
    int64("start"),
    int64("end", "exclusive"),
    int32("leader"),
    int64("until_micros", "of the epoch's leadership"),
)
def survivors_above(trace: Trace) -> Frame:
    """Truncations with each epoch that the surviving branch has at or above them.

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


@fact(
    *_CUT,
    int32("epoch"),
    int64("start"),
    int64("end", "exclusive"),
    int64("since", "acknowledged by all from then on"),
    int64("until", "and until then"),
)
def replicated_above(trace: Trace) -> Frame:
    """Records of an epoch that followers had while they were in the ISR, above a truncation."""
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

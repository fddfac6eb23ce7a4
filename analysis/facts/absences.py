"""Reads that reached the log's end while that end was below what the log finally holds."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import OF_GROUP
from analysis.facts.state import of_present_topic, timelines
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int64

_LOG = ("topic", "partition")


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

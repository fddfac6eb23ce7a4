"""Where each group began on a partition: from there on, records must be delivered to it."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import OF_GROUP
from analysis.facts.deliveries import deliveries
from analysis.facts.offsets import offsets_of
from analysis.facts.positions import PARTITION
from analysis.facts.state import of_present_topic, with_log_starts
from analysis.facts.trace import Trace, fact
from contract.outcomes import ResetPolicy
from contract.table_columns import int64


@fact(*OF_GROUP, int64("first_offset"))
def beginnings(trace: Trace) -> Frame:
    """Where each group that was delivered anything began.

    That is its first position, the first offset delivered to it, or the one to which its last reset
    for want of a commit put it before that delivery, whichever is lowest. A group with
    `auto.offset.reset=earliest`, no commit and no reset before its first delivery began at the log
    start of that time. On a partition of which nothing was delivered to it, it began at its first
    position.
    """
    delivered = (
        of_present_topic(deliveries(trace), trace, "at_micros")
        .groupBy(*PARTITION)
        .agg(F.min("first_offset").alias("delivered"), F.min("at_micros").alias("at_micros"))
    )
    assigned = (
        of_present_topic(trace["group_events"], trace, "at_micros")
        .where("change = 'assigned' and position is not null")
        .groupBy(*PARTITION)
        .agg(F.min_by("position", F.struct("at_micros", "seq")).alias("assigned"))
    )
    # What a group resumed from, or was reset to, before its first delivery.
    led = (
        offsets_of(trace)
        .select(*PARTITION, F.col("committed_micros").alias("led_micros"))
        .union(trace["resets"].select(*PARTITION, F.col("at_micros").alias("led_micros")))
        .groupBy(*PARTITION)
        .agg(F.min("led_micros").alias("led_micros"))
    )
    put = (
        of_present_topic(trace["resets"], trace, "at_micros")
        .where("cause = 'no_commit' and to_offset >= 0")
        .select(*PARTITION, "to_offset", F.col("at_micros").alias("put_micros"))
        .join(delivered.select(*PARTITION, "at_micros"), on=list(PARTITION), how="inner")
        .where("put_micros <= at_micros")
        .groupBy(*PARTITION)
        .agg(F.max_by("to_offset", "put_micros").alias("put_to"))
    )
    policies = trace.groups.select("group", "reset")
    is_at_start = f"reset = '{ResetPolicy.EARLIEST}' and coalesce(led_micros > at_micros, true)"
    undelivered = assigned.join(
        delivered.select("group").distinct(), on="group", how="left_semi"
    ).join(delivered, on=list(PARTITION), how="left_anti")
    began = (
        with_log_starts(delivered, trace)
        .join(assigned, on=list(PARTITION), how="left")
        .join(led, on=list(PARTITION), how="left")
        .join(put, on=list(PARTITION), how="left")
        .join(policies, on="group", how="left")
        .selectExpr(
            *PARTITION,
            f"least(delivered, assigned, put_to, if({is_at_start}, start_high, null))"
            " as first_offset",
        )
    )
    return began.union(undelivered.selectExpr(*PARTITION, "assigned as first_offset"))

"""Who did not come on (taxonomy H)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.load import Trace

_LOG = ("topic", "partition")


def stalled(trace: Trace) -> CheckOutcome:
    """H: a member polled, and did not come to the log end in the time that it was given.

    Progress is owed only where no fault holds: a stall that ended while one did is permitted.
    """
    told = trace["group_events"].where("change in ('caught_up', 'stalled', 'failed')")
    stalls = told.where("change = 'stalled'").join(
        F.broadcast(trace.log_bounds.select(*_LOG, "log_end")), on=list(_LOG), how="left"
    )
    held = F.broadcast(trace["faults"].select("started_micros", "healed_micros"))
    is_held = (F.col("started_micros") <= F.col("at_micros")) & (
        F.col("healed_micros").isNull() | (F.col("healed_micros") > F.col("at_micros"))
    )
    return CheckOutcome(
        _found(
            stalls.join(held, on=is_held, how="left_semi"), "while a fault held", "permitted"
        ).union(_found(stalls.join(held, on=is_held, how="left_anti"), "no fault", "violation")),
        count(told),
    )


def _found(stalls: DataFrame, kind: str, verdict: str) -> DataFrame:
    return findings(
        stalls,
        evidence=("member", "position", "log_end"),
        kind=F.lit(kind),
        verdict=F.lit(verdict),
        offset_first=F.col("position"),
        at=F.col("at_micros"),
        cause=_told(),
    )


def _told() -> Column:
    return (
        F.when(F.col("partition") < 0, F.lit("was assigned no partition"))
        .when(F.col("position").isNull(), F.lit("had no position to read from"))
        .otherwise(F.format_string("came to %s, the log ends at %s", "position", "log_end"))
    )

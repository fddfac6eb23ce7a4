"""How often a group was delivered records again."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.cases import Cases, findings, permitted
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.deliveries import deliveries
from analysis.facts.faults import held_faults
from analysis.facts.progress import repeated
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_SECOND

_WHOLE_RUN = "whole run"
_TIME = ("group", "time", "during")
_INTERVAL_MICROS = 10 * MICROS_PER_SECOND

_REPEATED = "{during}: {again} of {delivered} deliveries repeated a record"
_AGAIN = Cases(
    permitted(_WHOLE_RUN, _REPEATED, when=f"during = '{_WHOLE_RUN}'"),
    permitted("while a fault held", _REPEATED),
    evidence="during, delivered, again, amplification",
)


def reprocessing_amplification(trace: Trace) -> CheckOutcome:
    """A group was delivered records again: deliveries per distinct record.

    For the whole run, where each repeated delivery counts, and for each fault, where each record
    counts whose last delivery was while the fault held. There is no amplification if nothing was
    new.

    Permitted: always.
    Evaluates: every delivery.
    Source: Kafka's documentation, Message Delivery Semantics: delivery is at least once.
    """
    times = trace.engine.materialized(_times(trace))
    again = (
        _within(repeated(trace), "last_micros", times)
        .groupBy(*_TIME)
        .agg(F.expr(f"sum(if(during = '{_WHOLE_RUN}', deliveries - 1, 1) * records) as again"))
    )
    delivered = (
        _within(deliveries(trace), "at_micros", times)
        .groupBy(*_TIME)
        .agg(F.sum("records").alias("delivered"))
    )
    found = again.join(delivered, on=list(_TIME), how="inner").withColumn(
        "amplification", F.expr("round(delivered / nullif(delivered - again, 0), 3)")
    )
    return CheckOutcome(findings(found, _AGAIN), trace.records("polls"))


def _times(trace: Trace) -> Frame:
    """(time, during, since, until, interval): the whole run and each fault's time, by intervals.

    A fault that was never healed holds to the end.
    """
    bounds = trace["polls"].agg(
        F.min("polled_micros").alias("first"), (F.max("polled_micros") + 1).alias("end")
    )
    whole = bounds.selectExpr("0L as time", f"'{_WHOLE_RUN}' as during", "first", "end")
    held = (
        held_faults(trace)
        .crossJoin(bounds)
        .selectExpr(
            "injected_micros as time",
            "concat(fault, ' ', target) as during",
            "greatest(injected_micros, first) as since",
            "least(ended_micros, end) as until",
        )
        .where("since < until")
    )
    intervals = f"sequence(since div {_INTERVAL_MICROS}, (until - 1) div {_INTERVAL_MICROS})"
    return (
        whole.union(held)
        .toDF("time", "during", "since", "until")
        .withColumn("interval", F.explode(F.expr(intervals)))
    )


def _within(rows: Frame, at: str, times: Frame) -> Frame:
    """Rows with each time that they fall into, by their column `at`."""
    return (
        rows.withColumn("interval", F.expr(f"{at} div {_INTERVAL_MICROS}"))
        .join(times, on="interval", how="inner")
        .where(f"{at} >= since and {at} < until")
    )


CHECKS = (CheckDefinition("F8", reprocessing_amplification, needs=("polls",), cases=_AGAIN),)

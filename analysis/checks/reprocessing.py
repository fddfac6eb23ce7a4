"""How often a group was given what it had already (taxonomy F8)."""

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, findings
from analysis.load import Trace
from analysis.progress import repeated


def reprocessing_amplification(trace: Trace) -> CheckOutcome:
    """F8: delivered / distinct records of a group: overall, and while each fault held.

    A delivery counts as again if the group had that value at that offset before. Over the whole run
    each such delivery counts, under a fault each record whose last one fell in its time. Measured,
    always permitted (at least once); rows are told where something came again, without an
    amplification where nothing was new.
    """
    names, bounds = ["whole run"], ["true"]
    for fault in trace["faults"].collect():
        until = fault["healed_micros"]
        names.append(f"{fault['fault']} {fault['target']}")
        bounds.append(
            f"at_micros >= {fault['started_micros']}"
            + (f" and at_micros < {until}" if until is not None else "")
        )
    delivered = (
        trace["polls"]
        .select("group", F.col("polled_micros").alias("at_micros"))
        .groupBy("group")
        .agg(F.array(*[F.expr(f"count_if({within})") for within in bounds]).alias("delivered"))
    )
    counts = ["sum(deliveries - 1)", *(f"count_if({within})" for within in bounds[1:])]
    redelivered = (
        repeated(trace)
        .withColumnRenamed("last_micros", "at_micros")
        .groupBy("group")
        .agg(F.array(*map(F.expr, counts)).alias("again"))
    )
    during = F.array(*[F.lit(name) for name in names]).alias("during")
    found = (
        redelivered.join(delivered, on="group", how="inner")
        .select("group", F.explode(F.arrays_zip(during, "delivered", "again")))
        .select("group", "col.*")
        .where("again > 0")
        .selectExpr("*", "round(delivered / nullif(delivered - again, 0), 3) as amplification")
    )
    return CheckOutcome(
        findings(
            found,
            evidence=("during", "delivered", "again", "amplification"),
            kind=F.when(F.col("during") == "whole run", "whole run").otherwise(
                "while a fault held"
            ),
            verdict=F.lit("permitted"),
            cause=F.format_string(
                "%s: %s of %s deliveries were not the first of their record",
                "during",
                "again",
                "delivered",
            ),
        ),
        trace.rows["polls"],
    )

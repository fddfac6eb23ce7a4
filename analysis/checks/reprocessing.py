"""How often a group was given what it had already (taxonomy F8)."""

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, findings
from analysis.load import Trace
from analysis.progress import repeated


def reprocessing_amplification(trace: Trace) -> CheckOutcome:
    """F8: delivered / distinct records of a group: overall, and while each fault held.

    A delivery counts as again if the group had that value at that offset before; its last one tells
    when. Measured, always permitted (at least once); rows are told where something came again.
    """
    windows = [("whole run", "", None, None)] + [
        (f"{fault['fault']} {fault['target']}", f"fault {index}", *fault[2:])
        for index, fault in enumerate(
            trace["faults"].select("fault", "target", "started_micros", "healed_micros").collect()
        )
    ]
    again = repeated(trace)
    counts = []
    for _, _, since, until in windows:
        within = "true" if since is None else f"at_micros >= {since}"
        counts.append(within if until is None else f"{within} and at_micros < {until}")
    delivered = (
        trace["polls"]
        .withColumnRenamed("polled_micros", "at_micros")
        .groupBy("group")
        .agg(F.array(*[F.expr(f"count_if({within})") for within in counts]).alias("delivered"))
    )
    redelivered = (
        again.withColumnRenamed("last_micros", "at_micros")
        .groupBy("group")
        .agg(
            F.array(*[F.expr(f"sum(if({within}, deliveries - 1, 0))") for within in counts]).alias(
                "again"
            )
        )
    )
    names = F.array(*[F.lit(name) for name, *_ in windows])
    found = (
        redelivered.join(delivered, on="group", how="inner")
        .select("group", F.explode(F.arrays_zip(names.alias("during"), "delivered", "again")))
        .select("group", "col.*")
        .where("again > 0")
        .selectExpr("*", "round(delivered / greatest(delivered - again, 1), 3) as amplification")
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

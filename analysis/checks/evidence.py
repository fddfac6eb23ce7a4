"""The harness judged by itself (taxonomy M)."""

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, findings
from analysis.load import CLOCK_MICROS, Trace
from harness.contract.tables import MICROS_PER_SECOND

SKEW_SECONDS = 1
"""Nodes whose clocks may be further apart leave the run undecided."""


def fault_landed(trace: Trace) -> CheckOutcome:
    """M1: a fault without evidence of its bite leaves the run undecided."""
    return CheckOutcome(
        findings(
            trace["faults"].where("not landed"),
            evidence=("fault", "target", "evidence"),
            kind=F.lit("not landed"),
            verdict=F.lit("undecided"),
            at=F.col("started_micros"),
            cause=F.format_string("%s %s showed no effect", "fault", "target"),
        ),
        trace.rows["faults"],
    )


def history_complete(trace: Trace) -> CheckOutcome:
    """M4: no gap in a history and no line that does not read, but a last one torn by SIGKILL."""
    incomplete = trace["histories"].where(
        "missing_seqs > 0 or malformed_lines > 0 or (torn_lines > 0 and ended_by_itself)"
    )
    return CheckOutcome(
        findings(
            incomplete,
            evidence=("worker", "events", "missing_seqs", "torn_lines", "malformed_lines"),
            kind=F.lit("incomplete history"),
            verdict=F.lit("undecided"),
            cause=F.format_string(
                "%s: %s events missing, %s lines malformed",
                "worker",
                "missing_seqs",
                "malformed_lines",
            ),
        ),
        trace.rows["histories"],
    )


def phase_overrun(trace: Trace) -> CheckOutcome:
    """A phase that took longer than its stage's limit tells of the machine, not of Kafka."""
    took = trace["phases"].withColumn(
        "seconds", (F.col("ended_micros") - F.col("began_micros")) / MICROS_PER_SECOND
    )
    return CheckOutcome(
        findings(
            took.where("seconds > limit_seconds"),
            evidence=("stage", "doing", "seconds", "limit_seconds"),
            kind=F.lit("overrun"),
            verdict=F.lit("undecided"),
            at=F.col("began_micros"),
            cause=F.format_string(
                "%s: %s took %.0f s, more than the %s s that it may take",
                "stage",
                "doing",
                "seconds",
                "limit_seconds",
            ),
        ),
        trace.rows["phases"],
    )


def clock_skew(trace: Trace) -> CheckOutcome:
    """M3: how far apart the nodes' clocks may have been, by the readings of the driver.

    Every check that compares times of different nodes does so within this bound, and decides less
    where it is large. So a bound above CLOCK_MICROS is permitted, up to SKEW_SECONDS.
    """
    micros = trace.clock_micros
    nodes = (
        trace["clocks"]
        .where(f"{micros} > {CLOCK_MICROS}")
        .agg(
            F.max_by("node", "ahead_micros").alias("first"),
            F.min_by("node", "behind_micros").alias("last"),
            F.min("at_micros").alias("at"),
        )
    )
    is_tolerable = micros <= SKEW_SECONDS * MICROS_PER_SECOND
    return CheckOutcome(
        findings(
            nodes.where("first is not null").withColumn("bound_micros", F.lit(micros)),
            evidence=("first", "last", "bound_micros"),
            kind=F.lit("skew"),
            verdict=F.lit("permitted" if is_tolerable else "undecided"),
            cause=F.format_string(
                "the clocks of %s and %s may be %s us apart", "first", "last", "bound_micros"
            ),
        ),
        trace.rows["clocks"],
    )

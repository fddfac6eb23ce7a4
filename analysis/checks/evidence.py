"""The harness judged by itself (taxonomy M)."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, findings
from analysis.load import CLOCK_MICROS, Trace
from contract.tables import MICROS_PER_SECOND

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
            at=F.col("injected_micros"),
            cause=F.format_string("the fault %s %s showed no effect", "fault", "target"),
        ),
        trace.rows["faults"],
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
                "%s: %s took %.0f s; its limit is %s s",
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
    where it is large. So a bound above CLOCK_MICROS is permitted, up to SKEW_SECONDS. So is a clock
    that jumped, by as much, against the monotonic one of its own node: the bound takes it in.
    """
    return CheckOutcome(_skews(trace).union(_jumps(trace)), trace.rows["clocks"])


def _jumps(trace: Trace) -> DataFrame:
    jumped = trace["histories"].where(f"clock_jump_micros > {CLOCK_MICROS}")
    return findings(
        jumped,
        evidence=("worker", "clock_jump_micros"),
        kind=F.lit("jump"),
        verdict=F.expr(
            f"if(clock_jump_micros > {SKEW_SECONDS * MICROS_PER_SECOND}, 'undecided', 'permitted')"
        ),
        cause=F.format_string(
            "the wall clock of %s jumped by %s us", "worker", "clock_jump_micros"
        ),
    )


def _skews(trace: Trace) -> DataFrame:
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
    return findings(
        nodes.where("first is not null").withColumn("bound_micros", F.lit(micros)),
        evidence=("first", "last", "bound_micros"),
        kind=F.lit("skew"),
        verdict=F.lit("permitted" if is_tolerable else "undecided"),
        cause=F.format_string(
            "the clocks of %s and %s may differ by %s us", "first", "last", "bound_micros"
        ),
    )

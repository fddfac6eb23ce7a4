"""What the run's own evidence is worth: faults, phases and clocks."""

from analysis.checks.base import CheckDefinition, CheckOutcome, findings
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import CLOCK_MICROS, Trace
from contract.tables import MICROS_PER_SECOND

SKEW_SECONDS = 1
"""Nodes whose clocks may be further apart leave the run undecided."""


def fault_landed(trace: Trace) -> CheckOutcome:
    """A fault has no evidence of its effect.

    Undecided: always.
    Evaluates: every fault.
    Source: CONTRIBUTING.md, A fault: the evidence is measured on the cluster.
    """
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
    """A phase of the run took longer than the limit of its stage.

    Undecided: always: the machine is too slow, which shows nothing about Kafka.
    Evaluates: every phase.
    Source: `contract/stages.py`.
    """
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
    """The clocks of two nodes may be more than 50 ms apart, or the clock of a node jumped so far.

    By the readings of the driver, and by the monotonic clock of the node. All checks then compare
    times within that bound instead of 50 ms: the clock bound.

    Permitted: up to 1 s.
    Undecided: above 1 s.
    Evaluates: every reading of a clock.
    Source: `Trace.clock_micros`.
    """
    return CheckOutcome(_skews(trace).union(_jumps(trace)), trace.rows["clocks"])


def _jumps(trace: Trace) -> Frame:
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


def _skews(trace: Trace) -> Frame:
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


CHECKS = (
    CheckDefinition("M1", fault_landed, needs=("faults",)),
    CheckDefinition("M7", phase_overrun, needs=("phases",)),
    CheckDefinition("M3", clock_skew, needs=("clocks",)),
)

"""What the run's own evidence is worth: faults, phases and clocks."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.cases import Cases, findings, permitted, undecided
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import CLOCK_MICROS, Trace
from contract.tables import MICROS_PER_SECOND

SKEW_SECONDS = 1
"""Nodes whose clocks may be further apart leave the run undecided."""

_INEFFECTIVE = Cases(
    undecided("not landed", "the fault {fault} {target} showed no effect"),
    evidence="fault, target, evidence",
    at="injected_micros",
)


def fault_landed(trace: Trace) -> CheckOutcome:
    """A fault has no evidence of its effect.

    Undecided: always.
    Evaluates: every fault.
    Source: CONTRIBUTING.md, A fault: the evidence is measured on the cluster.
    """
    return CheckOutcome(
        findings(trace["faults"].where("not landed"), _INEFFECTIVE), trace.rows["faults"]
    )


_OVERRUN = Cases(
    undecided("overrun", "{stage}: {doing} took {seconds:.0f} s; its limit is {limit_seconds} s"),
    evidence="stage, doing, seconds, limit_seconds",
    at="began_micros",
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
        findings(took.where("seconds > limit_seconds"), _OVERRUN), trace.rows["phases"]
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


_JUMP = Cases(
    permitted(
        "jump",
        "the wall clock of {worker} jumped by {clock_jump_micros} us",
        undecided_if=f"clock_jump_micros > {SKEW_SECONDS * MICROS_PER_SECOND}",
    ),
    evidence="worker, clock_jump_micros",
)


def _jumps(trace: Trace) -> Frame:
    jumped = trace["histories"].where(f"clock_jump_micros > {CLOCK_MICROS}")
    return findings(jumped, _JUMP)


_SKEW = Cases(
    permitted(
        "skew",
        "the clocks of {first} and {last} may differ by {bound_micros} us",
        undecided_if=f"bound_micros > {SKEW_SECONDS * MICROS_PER_SECOND}",
    ),
    evidence="first, last, bound_micros",
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
    return findings(
        nodes.where("first is not null").withColumn("bound_micros", F.lit(micros)), _SKEW
    )


CHECKS = (
    CheckDefinition("M1", fault_landed, needs=("faults",), cases=_INEFFECTIVE),
    CheckDefinition("M7", phase_overrun, needs=("phases",), cases=_OVERRUN),
    CheckDefinition("M3", clock_skew, needs=("clocks",), cases=(*_JUMP, *_SKEW)),
)

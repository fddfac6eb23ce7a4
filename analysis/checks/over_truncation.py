"""Whether a replica was truncated further than its log diverged."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.cases import Cases, findings, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.replicas import CUT, replicated_above, survivors_above
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")

_OFFSETS = (
    "broker {broker} truncated its log to {to_offset} and lost offsets {first} to {last} of epoch"
    " {epoch}, which are on the surviving branch"
)
_TRUNCATED = Cases(
    violation("wrote", _OFFSETS, when="had = 'wrote'"),
    violation("acknowledged in sync", _OFFSETS),
    evidence="broker, to_offset, epoch, records, had",
    offset_first="first",
    offset_last="last",
    at="cut_micros",
)


def over_truncation(trace: Trace) -> CheckOutcome:
    """A replica was truncated below its divergence: it had the records, and they survive.

    It had written them itself, as the leader of an epoch that was over, or they were acknowledged
    with acks=all while it was in the ISR. Until it has fetched them again, they have one replica
    fewer.

    Evaluates: the truncations that servers logged.
    Source: KIP-101, KIP-279: a follower truncates to where the leader's log parts from its own.
    """
    own = _own_epochs(trace).selectExpr(
        *CUT, "epoch", "greatest(start, to_offset) as first", "end - 1 as last", "'wrote' as had"
    )
    found = own.union(_acknowledged_in_sync(trace))
    return CheckOutcome(
        findings(found.selectExpr("*", "last - first + 1 as records"), _TRUNCATED),
        trace.rows["truncations"],
    )


def _own_epochs(trace: Trace) -> Frame:
    return survivors_above(trace).where("leader = broker")


def _acknowledged_in_sync(trace: Trace) -> Frame:
    """Spans of acks=all records that a replica must have had, truncated there, yet surviving."""
    had = replicated_above(trace)
    return (
        slices.acknowledged(trace)
        .where("acks = 'all'")
        .join(had, on=list(_LOG), how="inner")
        .where("offset >= to_offset and offset >= start and offset < end")
        .where("intended_micros >= since and answered_micros <= until")
        .join(
            slices.surviving(trace).withColumnRenamed("leader_epoch", "epoch"),
            on=[*_LOG, "offset", "value", "epoch"],
            how="left_semi",
        )
        .groupBy(*CUT, "epoch")
        .agg(F.min("offset").alias("first"), F.max("last_offset").alias("last"))
        .selectExpr(*CUT, "epoch", "first", "last", "'acknowledged in sync' as had")
    )


CHECKS = (
    CheckDefinition(
        "F4",
        over_truncation,
        needs=("truncations", "epoch_checkpoints", "log_starts", "leaderships"),
        cases=_TRUNCATED,
    ),
)

"""Truncations and resets: noticed, missed, or for no reason."""

from analysis.checks.base import CheckDefinition, CheckOutcome, members_judged
from analysis.checks.cases import Cases, findings, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.facts.resets import (
    resets_of,
    with_committed_epochs,
    with_log_ends,
)
from analysis.facts.state import (
    has_begun,
    is_overwritten,
    may_be_overwritten,
    timelines,
)
from analysis.facts.topics import with_log_starts
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")
_IN_ORDER = "struct(at_micros, seq, first_place)"

_UNJUSTIFIED = Cases(
    undecided(
        "{cause}",
        "the position was within the log, but had no leader epoch to compare",
        when="has_no_epoch",
    ),
    undecided(
        "{cause}",
        "the log start at that time may have been below or above the position",
        when="coalesce(from_offset < start_high, true)",
    ),
    undecided(
        "{cause}",
        "the start of a newer leader epoch is not known",
        when="timeline is null or may_be_off",
    ),
    undecided(
        "{cause}",
        "no sample of the leader before the reset has the log end",
        when="end_before is null",
    ),
    undecided(
        "{cause}",
        "the position was above the log end in the last sample before, but not in a later one",
        when="from_offset > end_before",
    ),
    violation("{cause}", "the position was on the surviving branch; no reset was expected"),
    evidence="policy, from_offset, from_epoch, to_offset, start_low, start_high,"
    " end_before, end_after, log_line",
    offset_first="from_offset",
    offset_last="to_offset",
    at="at_micros",
)


def unjustified_reset(trace: Trace) -> CheckOutcome:
    """A client reset a position that was within the log and on its branch at that time.

    This is KAFKA-19902's symptom. The position is compared with the leader's log start, its log end
    and the start of each newer epoch at that time.

    Undecided: neither the position nor the group's commit of that offset has an epoch; the log
        start of that time, or the start of a newer epoch, has bounds on both sides of the position;
        or no sample of the leader before the reset shows that the log reached so far.
    Evaluates: every member that was opened.
    Source: KAFKA-19902; KIP-320.
    """
    until = f"at_micros + {trace.clock_micros}"
    within = (
        with_log_starts(with_log_ends(with_committed_epochs(resets_of(trace), trace), trace), trace)
        .join(trace.log_bounds.select(*_LOG, "log_end"), on=list(_LOG), how="inner")
        .join(timelines(trace), on=list(_LOG), how="left")
        .withColumn("end_after", F.coalesce("end_after", "log_end"))
        .where("from_offset >= start_low and from_offset <= greatest(end_before, end_after)")
        .withColumn("has_no_epoch", F.col("from_epoch") < 0)
        .withColumn("is_off", is_overwritten("from_epoch", "from_offset", until))
        .withColumn("may_be_off", may_be_overwritten("from_epoch", "from_offset", until))
        .withColumn("is_known", F.col("timeline").isNull() | has_begun("from_epoch", until))
    )
    found = within.where(
        "if(has_no_epoch, coalesce(from_offset <= end_before, true), is_known and not is_off)"
    )
    return CheckOutcome(findings(found, _UNJUSTIFIED), members_judged(trace))


CHECKS = (
    CheckDefinition(
        "F7",
        unjustified_reset,
        needs=("group_events", "log_starts", "epoch_checkpoints"),
        cases=_UNJUSTIFIED,
    ),
)

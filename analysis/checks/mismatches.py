"""Compare what clients report with what is stored, and with what brokers had to return."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.facts.commits import asked_commits, stored_otherwise
from analysis.facts.positions import withheld_commits
from analysis.facts.resets import with_log_ends, with_position_epochs
from analysis.facts.state import timelines
from analysis.facts.topics import of_present_topic, with_log_starts
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import RETRY_MICROS
from contract.clients import Client
from contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")

_STORED_OTHERWISE = Cases(
    violation(
        "{kind}",
        "{member} reported a commit of offset {asked_offset} with epoch {asked_epoch} as {outcome};"
        " offset {stored_offset} with epoch {stored_epoch} is stored",
        undecided_if=f"outcome = 'failed' and coalesce(took_micros >= {RETRY_MICROS}, true)",
    ),
    evidence="member, outcome, asked_offset, asked_epoch, stored_offset, stored_epoch",
    offset_first="stored_offset",
    offset_last="stored_offset",
    at="stored_micros",
)


def commit_mismatch(trace: Trace) -> CheckOutcome:
    """A commit as its client reports it, and the stored commit, differ.

    An acknowledged commit is stored with its offset and its epoch; a failed one, and one with
    nothing to commit, is not stored. `history_complete` finds a stored commit that no client
    reports.

    Undecided: the failed commit took so long (100 ms or more) that the client may have retried it:
        an earlier attempt may have been stored.
    Evaluates: every commit that a client reports.
    Source: `GroupCoordinator.commitOffsets`; `ConsumerCoordinator.commitOffsetsSync`.
    """
    return CheckOutcome(
        findings(stored_otherwise(trace).where("kind is not null"), _STORED_OTHERWISE),
        count(asked_commits(trace)),
    )


_IS_PROMISED = f"client = '{Client.LIBRDKAFKA}' and commit_epoch = '{CommitEpoch.RECORD}'"
_WITHHELD = (
    "{member} committed nothing, though its position was {position} (epoch {record_epoch}): offset"
    " {stored_offset} with epoch {stored_epoch} is stored"
)
_LEFT_OUT = Cases(
    violation(
        "behind a newer epoch",
        _WITHHELD,
        when=f"{_IS_PROMISED} and record_epoch >= 0 and stored_epoch > record_epoch",
    ),
    violation(
        "behind a larger offset", _WITHHELD, when=f"{_IS_PROMISED} and stored_offset > position"
    ),
    permitted("nothing to commit", _WITHHELD),
    evidence="member, position, record_epoch, stored_offset, stored_epoch, commit_epoch",
    offset_first="position",
    offset_last="position",
    at="at_micros",
)


def withheld_commit(trace: Trace) -> CheckOutcome:
    """A client committed nothing of a partition, though its position had moved.

    librdkafka leaves a position out that is not greater than the stored commit, by its leader epoch
    first: a group that reads records of older epochs commits nothing, and repeats them; one that
    went back behind its commit skips what lies between. A plain `commit()` promises to commit the
    offsets of the assignment.

    Permitted: the application chose the offsets, or the position awaited validation.
    Evaluates: every commit that stored nothing.
    Source: confluent_kafka `Consumer.commit`; librdkafka `rd_kafka_fetch_pos_cmp` (librdkafka#1372,
        librdkafka#4384); KIP-320.
    """
    rows = withheld_commits(trace).join(
        trace.groups.select("group", "client"), on="group", how="left"
    )
    return CheckOutcome(
        findings(rows, _LEFT_OUT), count(trace["commits"].where("outcome = 'nothing'"))
    )


_NO_DIVERGENCE = Cases(
    undecided(
        "unknown fork",
        "the end of the position's epoch at that time is not known",
        when="not is_above and (is_unreported or known_epoch < 0)",
    ),
    violation(
        "newer epoch",
        "the exception has divergent epoch {divergent_epoch}; expected an epoch not above the"
        " requested one, {asked_epoch}",
        when="is_above",
    ),
    violation(
        "elsewhere",
        "the exception has divergent offset {divergent_offset}, but epoch {known_epoch} ends at"
        " {forked_at} in the log",
    ),
    evidence="member, position, known_epoch, divergent_offset, divergent_epoch,"
    " asked_epoch, forked_at, start_high",
    offset_first="divergent_offset",
    offset_last="position",
    at="at_micros",
)


def divergence_mismatch(trace: Trace) -> CheckOutcome:
    """A LogTruncationException has an offset or an epoch at which the log did not diverge.

    The divergent offset has to be where the epoch after the position's started in the leader's log,
    or the log start of that time if it is higher; for a position of the newest epoch, the end of
    the log. An epoch that the surviving log does not have may be that, or the one after it. The
    divergent epoch has to be the largest that is not above the requested one.

    Undecided: no source reports where a newer epoch started or the log ended; or the position's
        epoch is not known.
    Evaluates: every LogTruncationException with a divergent offset.
    Source: KIP-320; `LeaderEpochFileCache.endOffsetFor`.
    """
    raised = with_position_epochs(
        of_present_topic(
            trace["group_events"].where("change = 'failed' and divergent_offset is not null"),
            trace,
            "at_micros",
        ),
        trace,
    ).withColumn("known_epoch", F.expr("if(known_epoch >= 0, known_epoch, divergent_epoch)"))
    # No epoch lies between the answer's and the requested one: both end where the next began.
    begun = "filter(timeline, one -> one.leader_epoch > known_epoch and {})"
    may_have = f"coalesce(one.from_micros <= at_micros + {trace.clock_micros}, true)"
    surely = f"coalesce(one.from_micros <= at_micros - {trace.clock_micros}, false)"
    judged = (
        with_log_starts(with_log_ends(raised, trace), trace)
        .join(timelines(trace), on=list(_LOG), how="left")
        .selectExpr(
            "*", f"{begun.format(may_have)} as newer", f"{begun.format(surely)} as surely_newer"
        )
        .withColumn("next_epoch", F.expr(_NEXT_KEPT))
        .withColumn(
            "newer", F.expr("filter(newer, one -> coalesce(one.leader_epoch <= next_epoch, true))")
        )
        .selectExpr(
            "*",
            f"size(filter(newer, one -> {_MAY_DIVERGE})) > 0"
            f" or size(surely_newer) = 0 and {_MAY_BE_END} as may_be",
            "coalesce(size(newer) = 0, true) and coalesce(end_before, end_after) is null"
            " as is_unreported",
            "coalesce(array_min(transform(newer, one -> one.start_high)), end_before, end_after)"
            " as forked_at",
        )
    )
    is_above = "coalesce(asked_epoch >= 0 and divergent_epoch > asked_epoch, false)"
    found = judged.withColumn("is_above", F.expr(is_above)).where(
        "is_above or not coalesce(may_be, false)"
    )
    return CheckOutcome(findings(found, _NO_DIVERGENCE), count(judged))


_NEXT_KEPT = (
    "array_min(transform(filter(surely_newer, one -> one.is_kept and one.start_high is not null),"
    " one -> one.leader_epoch))"
)
"""The first newer epoch that each leader since has: the surviving log has it too."""
_MAY_DIVERGE = (
    "divergent_offset >= greatest(coalesce(one.start_low, 0), start_low)"
    " and divergent_offset <= coalesce(greatest(array_min(transform(filter(newer,"
    " other -> other.leader_epoch >= one.leader_epoch), other -> other.start_high)), start_high),"
    " divergent_offset)"
)
"""Whether the divergent offset lies within the bounds of where a newer epoch started.

An epoch starts no later than those above it do: the one without a leader that precedes an election
has no start of its own.
"""
_MAY_BE_END = (
    "divergent_offset >= coalesce(end_before, divergent_offset)"
    " and divergent_offset <= coalesce(end_after, divergent_offset)"
    " and coalesce(end_before, end_after) is not null"
)
"""Whether the divergent offset may be the log end, where the newest epoch ends."""


CHECKS = (
    CheckDefinition(
        "D9", commit_mismatch, needs=("commits", "committed_offsets"), cases=_STORED_OTHERWISE
    ),
    CheckDefinition(
        "D11",
        withheld_commit,
        needs=("commits", "polls"),
        cases=_LEFT_OUT,
    ),
    CheckDefinition(
        "F12",
        divergence_mismatch,
        needs=("group_events", "epoch_checkpoints", "log_starts"),
        cases=_NO_DIVERGENCE,
    ),
)

"""Leader epochs of records and commits, against each other and the leaders'.

The right epoch to commit with offset o is that of the batch that holds o - 1. What was committed is
taken from `__consumer_offsets`, not from what a client claims.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import (
    AT_COMMIT,
    PERMIT,
    Cases,
    findings,
    permitted,
    undecided,
    violation,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import COMMIT, COMMIT_CLOCK_MICROS
from analysis.facts.commits import IS_CHOSEN, stored_commits
from analysis.facts.permits import with_permit, with_permit_since
from analysis.facts.state import (
    FOREVER,
    fork_then,
    timelines,
    took_over,
)
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")

_EPOCHS = "committed_epoch, record_epoch, led_epoch, commit_epoch"
_MISSING = Cases(
    violation(
        "missing",
        "the offset was committed without a leader epoch, so it cannot be validated",
        when="committed_epoch = -1",
        permitted_if=IS_CHOSEN,
        undecided_if="is_unclear",
    ),
    evidence=_EPOCHS,
    **AT_COMMIT,
)


def committed_epoch_missing(trace: Trace) -> CheckOutcome:
    """A commit has no epoch, though the group knew the epoch of the previous record.

    The group was delivered the previous record since it was opened, or had committed that offset
    with an epoch just before, or takes its epochs from elsewhere than its records.

    Permitted: the group does not commit the epochs of its records.
    Undecided: as clocks were apart, the record may have been delivered before the commit or after.
    Evaluates: every commit whose previous record has a known epoch that the group could know.
    Source: KAFKA-20507: a position without an epoch can't be validated.
    """
    return _compare(_known(trace).where("could_know"), _MISSING)


_STALE = Cases(
    violation(
        "stale",
        "the committed epoch is older than that of the record before; a client may report a"
        " truncation that did not happen",
        when="committed_epoch >= 0 and committed_epoch < record_epoch",
        permitted_if=IS_CHOSEN,
        undecided_if="is_unclear",
    ),
    permitted(
        "stale",
        "the log has another record before the offset since, of epoch {replaced_by}, which is newer"
        f" than the committed one; {PERMIT}",
        when="record_epoch is null and permit is not null",
    ),
    evidence=f"{_EPOCHS}, permit",
    **AT_COMMIT,
)


def committed_epoch_stale(trace: Trace) -> CheckOutcome:
    """The committed epoch is below the epoch of the previous record, which may be a control record.

    Permitted: the group does not commit the epochs of its records; or the log has another record
        there since, by an election that permits the loss.
    Undecided: as clocks were apart, the record may have been delivered before the commit or after.
    Evaluates: every commit whose previous record has a known epoch.
    Source: `OffsetAndMetadata.leaderEpoch`: the epoch of the record consumed before; KAFKA-19902.
    """
    older = stored_commits(trace).where(
        "committed_epoch >= 0 and committed_epoch < coalesce(record_epoch, replaced_by)"
    )
    found = with_permit_since(older, trace, offset="offset - 1")
    return CheckOutcome(findings(found, _STALE), count(_known(trace)))


_BEHIND_LEADER = Cases(
    permitted(
        "behind leader",
        "the committed epoch matches its offset; the leader epoch was already newer",
        when="committed_epoch = record_epoch and committed_epoch < led_epoch",
    ),
    evidence=_EPOCHS,
    **AT_COMMIT,
)


def committed_epoch_behind_leader(trace: Trace) -> CheckOutcome:
    """The committed epoch is that of the previous record, and the leader had a newer one.

    Permitted: always: a plain commit takes the epoch of its record.
    Evaluates: every commit whose previous record has a known epoch.
    Source: `SubscriptionState.allConsumed`; KAFKA-19902 reports it as a precondition.
    """
    return _compare(_known(trace), _BEHIND_LEADER)


_AHEAD = Cases(
    violation(
        "ahead",
        "the committed epoch is newer than that of the record before; a client may not detect a"
        " truncation below it",
        when="committed_epoch > record_epoch",
        permitted_if=IS_CHOSEN,
        undecided_if="is_unclear",
    ),
    evidence=_EPOCHS,
    **AT_COMMIT,
)


def committed_epoch_ahead(trace: Trace) -> CheckOutcome:
    """The committed epoch is above the epoch of the previous record.

    So a truncation below it can't be noticed.

    Permitted: the group does not commit the epochs of its records.
    Undecided: as clocks were apart, the record may have been delivered before the commit or after.
    Evaluates: every commit whose previous record has a known epoch.
    Source: `OffsetAndMetadata.leaderEpoch`: the epoch of the record consumed before.
    """
    return _compare(_known(trace), _AHEAD)


_UNKNOWN = Cases(
    undecided(
        "no such epoch",
        "the leader epoch is older than the oldest one in the metadata log",
        when="began_micros is null and coalesce(committed_epoch < oldest_epoch, true)",
    ),
    violation(
        "no such epoch",
        "the partition never had this leader epoch",
        when="began_micros is null",
    ),
    violation(
        "not begun",
        "the leader epoch began only after the commit",
        undecided_if="began_low <= committed_micros",
    ),
    evidence="committed_epoch, began_micros, oldest_epoch, commit_epoch",
    **AT_COMMIT,
)


def committed_epoch_unknown(trace: Trace) -> CheckOutcome:
    """The partition never had the committed epoch, or the epoch began after the commit.

    Undecided: the epoch began after the commit by no more than the clock bound; or the epoch is
        older than the oldest one in the metadata log.
    Evaluates: every commit that has an epoch.
    Source: KIP-631: PartitionChangeRecord is the only origin of leader epochs.
    """
    reported = stored_commits(trace).where("committed_epoch >= 0")
    began = trace["leaderships"].groupBy(*_LOG, F.col("leader_epoch").alias("committed_epoch"))
    oldest = trace["leaderships"].groupBy(*_LOG).agg(F.min("leader_epoch").alias("oldest_epoch"))
    found = (
        reported.join(
            began.agg(
                F.min("at_micros").alias("began_micros"),
                F.expr(f"min(at_micros) - {trace.clock_micros} as began_low"),
            ),
            on=[*_LOG, "committed_epoch"],
            how="left",
        )
        .join(oldest, on=list(_LOG), how="left")
        .where(f"began_micros is null or began_micros > committed_micros + {COMMIT_CLOCK_MICROS}")
    )
    return CheckOutcome(findings(found, _UNKNOWN), count(reported))


_IS_LATE = "led_epoch > committed_epoch"
_ENDS = (
    "epoch {committed_epoch} ends at {forked_at} in the surviving log: {records} records before the"
    " committed offset are not the ones that were read"
)
_ORPHAN = Cases(
    permitted("committed late", f"{_ENDS}; {PERMIT}", when=f"{_IS_LATE} and permit is not null"),
    violation("committed late", _ENDS, when=_IS_LATE, undecided_if="is_unreported"),
    permitted("truncated later", f"{_ENDS}; {PERMIT}", when="permit is not null"),
    violation("truncated later", _ENDS, undecided_if="is_unreported"),
    evidence="committed_epoch, forked_at, later_epoch, records, record_epoch,"
    " led_epoch, commit_epoch, permit",
    **AT_COMMIT,
)


def orphan_commit(trace: Trace) -> CheckOutcome:
    """The committed position lies on an abandoned branch of the log.

    A later epoch starts below the offset on the surviving branch. Epochs below that of the previous
    record only look so, and are left out: `committed_epoch_stale` finds them. A delivered record
    lay below the high watermark, so only an election that permits the loss may abandon it. Commits
    of records that another topic of this name had are left out: they were on no branch of this one;
    `commit_beyond_log` and `commit_beyond_processed` find them.

    Permitted: by the election that abandoned the branch, if it permits the loss.
    Undecided: the metadata log does not have all elections since.
    Evaluates: every commit that has an epoch.
    Source: KIP-101; KIP-320; KIP-966.
    """
    judged = (
        stored_commits(trace)
        .where("committed_epoch >= 0")
        .join(timelines(trace), on=list(_LOG), how="inner")
        .selectExpr("*", f"{took_over('committed_epoch', 'offset - 1')} as fork")
        .selectExpr(
            "*",
            "if(array_contains(fork.lacked, committed_epoch),"
            f" {fork_then('committed_epoch', FOREVER)}, fork.start_high) as forked_at",
        )
    )
    orphans = judged.where(
        "fork is not null and not is_of_former and coalesce(record_epoch, -1) <= committed_epoch"
    ).selectExpr(
        *COMMIT,
        "offset",
        "committed_epoch",
        "committed_micros",
        "record_epoch",
        "led_epoch",
        "commit_epoch",
        "forked_at",
        "fork.leader_epoch as later_epoch",
        "offset - forked_at as records",
    )
    found = with_permit(
        trace.engine.materialized(orphans),
        trace,
        after="committed_epoch",
        to="later_epoch",
        offset="forked_at",
    )
    return CheckOutcome(findings(found, _ORPHAN), count(judged))


def _compare(known: Frame, cases: Cases) -> CheckOutcome:
    return CheckOutcome(findings(known, cases), count(known))


def _known(trace: Trace) -> Frame:
    """Stored commits whose record before is known, from a poll or from the surviving log."""
    return stored_commits(trace).where("record_epoch is not null")


CHECKS = (
    CheckDefinition(
        "E2",
        committed_epoch_missing,
        needs=("committed_offsets", "polls", "leaderships"),
        cases=_MISSING,
    ),
    CheckDefinition(
        "E3",
        committed_epoch_stale,
        needs=("committed_offsets", "polls", "leaderships"),
        cases=_STALE,
    ),
    CheckDefinition(
        "E4",
        committed_epoch_behind_leader,
        needs=("committed_offsets", "polls", "leaderships"),
        cases=_BEHIND_LEADER,
    ),
    CheckDefinition(
        "E6",
        committed_epoch_ahead,
        needs=("committed_offsets", "polls", "leaderships"),
        cases=_AHEAD,
    ),
    CheckDefinition(
        "E8", committed_epoch_unknown, needs=("committed_offsets", "leaderships"), cases=_UNKNOWN
    ),
    CheckDefinition(
        "E9",
        orphan_commit,
        needs=("committed_offsets", "leaderships", "epoch_checkpoints"),
        cases=_ORPHAN,
    ),
)

"""The offset and epoch that each commit style selects."""

from dataclasses import dataclass

from contract.events import NO_EPOCH
from contract.outcomes import CommitEpoch, Outcome

OF_THE_CLIENTS_STATE = frozenset({CommitEpoch.POSITION, CommitEpoch.METADATA, CommitEpoch.MAX})
"""Styles that read epochs from the client's internal state, which not every client exposes."""


@dataclass(frozen=True)
class OffsetAndEpoch:
    """A position, with the leader epoch of the record before it."""

    offset: int
    epoch: int = NO_EPOCH


@dataclass(frozen=True, kw_only=True)
class ClientState:
    """A client's state of one of its partitions.

    position: its valid position; None while it awaits validation or a reset: a plain commit leaves
        such a partition out.
    leader_epoch: of the position's current leader.
    metadata_epoch: of the leader that the client's metadata names.
    """

    position: OffsetAndEpoch | None
    leader_epoch: int = NO_EPOCH
    metadata_epoch: int = NO_EPOCH


@dataclass(frozen=True, kw_only=True)
class Known:
    """The inputs of a commit for one partition.

    processed: the offset after the last record that the application processed, with that record's
        epoch.
    record_epoch: of the last record polled.
    cluster_epoch: the partition's leader epoch as the cluster reported it to the driver.
    """

    state: ClientState
    processed: OffsetAndEpoch | None
    record_epoch: int
    cluster_epoch: int


def chosen(style: CommitEpoch, known: Known) -> OffsetAndEpoch | None:
    """Return the offset and epoch that a style commits; None if there is nothing to commit.

    Styles that only choose the epoch use the processed offset where the client has no valid
    position.
    """
    state = known.state
    at = state.position
    if style is CommitEpoch.APPLICATION:
        return known.processed
    if style in (CommitEpoch.FORCED, CommitEpoch.NONE, CommitEpoch.STALE):
        at = at or known.processed
    if at is None:
        return None
    epoch = {
        CommitEpoch.RECORD: at.epoch,
        CommitEpoch.POSITION: state.leader_epoch,
        CommitEpoch.METADATA: state.metadata_epoch,
        CommitEpoch.MAX: max(at.epoch, state.leader_epoch),
        CommitEpoch.FORCED: known.cluster_epoch,
        CommitEpoch.NONE: NO_EPOCH,
        CommitEpoch.STALE: max(known.record_epoch - 1, NO_EPOCH),
    }[style]
    return OffsetAndEpoch(at.offset, epoch)


def of_plain_commit(
    outcome: Outcome, at: OffsetAndEpoch | None, *, known: Known, after: ClientState
) -> tuple[Outcome, OffsetAndEpoch | None]:
    """Return the outcome of a plain commit without error, and the position that it is about.

    The client takes its position between two reads of its state, and other threads of it change
    the state meanwhile: a newer leader invalidates the position, a response validates or resets it.
    A position does not become invalid without a newer leader epoch. So if both reads are equal, the
    commit has what they show, or left the partition out; else both are possible.

    Args:
        outcome: of a client whose state does not change.
        at: what such a client commits.
        known: read before the commit.
        after: read once the commit had ended.
    """
    before = known.state
    if (before.position, before.leader_epoch) == (after.position, after.leader_epoch):
        return outcome, at
    taken = at or after.position or known.processed
    return (outcome, at) if taken is None else (Outcome.UNKNOWN, taken)

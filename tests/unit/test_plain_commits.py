"""What a commit without arguments took: the client's state before it and after it."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from scripted_members import (
    ORDERS,
    ScriptedMember,
    TellingMember,
    reading_member,
    rows,
)

from contract.terms import CommitEpoch
from harness.clients.member import ClientState, MemberCommit, OffsetAndEpoch, Partition


class ChangingMember(TellingMember):
    """A member whose client has one state before its commit, and another one afterwards."""

    states: tuple[ClientState, ClientState]

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        self._looks = getattr(self, "_looks", -1) + 1
        return dict.fromkeys(partitions, self.states[self._looks])


def _under(leader_epoch: int, offset: int | None = 3, epoch: int = 4) -> ClientState:
    position = None if offset is None else OffsetAndEpoch(offset, epoch)
    return ClientState(position=position, leader_epoch=leader_epoch)


RESET = _under(0, 0, -1)
AWAITED = _under(-1, None)


@pytest.mark.parametrize(
    ("before", "after", "outcome", "position"),
    [
        (_under(5), _under(5), "ok", (3, 4)),
        (AWAITED, AWAITED, "nothing", (None, -1)),
        # A new leader: the client left the position out, unless the leader came later.
        (_under(5), _under(6), "unknown", (3, 4)),
        (_under(5), _under(6, None), "unknown", (3, 4)),
        # A reset, or a validation: the client took the position, unless that came later.
        (AWAITED, RESET, "unknown", (0, -1)),
        (_under(6, None), _under(6), "unknown", (3, 4)),
        # Validated and invalid again: the position that the application knows.
        (_under(6, None), _under(7, None), "unknown", (3, 1)),
    ],
)
def test_a_plain_commit_is_unknown_if_the_clients_state_changes(
    tmp_path: Path,
    before: ClientState,
    after: ClientState,
    outcome: str,
    position: tuple[int | None, int],
) -> None:
    """`commitSync()` takes `SubscriptionState.allConsumed` of its own moment."""
    member = reading_member(tmp_path, ChangingMember)
    member.states = (before, after)  # type: ignore[attr-defined]
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD)) == outcome
    (row,) = rows(tmp_path, "commits")
    assert (row["outcome"], (row["offset"], row["committed_epoch"])) == (outcome, position)
    assert row["error"] is None


def test_an_explicit_commit_does_not_depend_on_the_clients_state(tmp_path: Path) -> None:
    member = reading_member(tmp_path, ChangingMember)
    member.states = (_under(5), _under(6, None))  # type: ignore[attr-defined]
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.APPLICATION)) == "ok"


def test_an_application_knows_its_last_records_not_its_position(tmp_path: Path) -> None:
    """A position may have passed aborted records and markers of a newer epoch."""
    member = reading_member(tmp_path, ScriptedMember)
    member.pass_markers(5)
    assert member.processed() == {ORDERS: OffsetAndEpoch(3, 1)}

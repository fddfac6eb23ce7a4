"""Members whose client is a list of offsets."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.clients.history import HistoryWriter
from harness.clients.member import (
    Batch,
    ClientState,
    Failure,
    LogEnd,
    Member,
    OffsetAndEpoch,
    Partition,
)
from harness.clients.member_calls import CallingMember, Fetched
from harness.clients.member_role import MemberRole
from harness.clients.worker import WorkerPlan
from harness.decode.histories import read_histories

ORDERS = ("orders", 0)
MEMBER = Member(group="g", member="g#1", topic="orders", reset="earliest")
PLAN = WorkerPlan(worker="w", role="r", node="n", history="h", log="l", bootstrap="b", jars=["j"])


class ScriptedMember(CallingMember):
    """A member whose client is a list of offsets, of which 13 raises."""

    failures = (OverflowError,)
    definite_failures = frozenset({"CommitFailedException"})

    def _open(self, bootstrap: str) -> None:
        assert bootstrap == (self.member.bootstrap or "b")
        self._offsets = deque(range(20) if self.member.reset == "none" else range(5))
        self._at = 0

    def _subscribe(self) -> None:
        self._assigned = set() if self.member.topic == "unassigned" else {ORDERS}

    def _unsubscribe(self) -> None:
        self._assigned = set()

    def _assign(self, partitions: Iterable[Partition], offset: int | None) -> None:
        self._assigned, self._at = set(partitions), offset or 0

    def _seek(self, partition: Partition, at: OffsetAndEpoch) -> None:
        assert partition in self._assigned
        self._at = at.offset

    def _pause(self, partitions: Iterable[Partition]) -> None:
        self.paused = set(partitions)

    def _resume(self, partitions: Iterable[Partition]) -> None:
        self.paused -= set(partitions)

    def _committed(
        self, partitions: Sequence[Partition], *, timeout_seconds: float
    ) -> dict[Partition, Fetched]:
        if timeout_seconds == 0:
            raise OverflowError("too late")
        commits = {0: OffsetAndEpoch(7, 2), 1: None, 2: "UNSTABLE_OFFSET_COMMIT"}
        return {tp: commits[tp[1]] for tp in partitions}

    def _asks_stably(self) -> bool:
        return False

    def _fetch(self) -> list[Batch]:
        if not self._offsets:
            return []
        offset = self._offsets.popleft()
        if offset == 13:
            raise OverflowError("too far")
        self._at = offset + 1
        return [Batch(partition=ORDERS, offsets=[offset], epochs=[offset // 2], values=["v"])]

    def _assignment(self) -> set[Partition]:
        return self._assigned

    def _position(self, partition: Partition) -> int | None:
        return self._at if partition == ORDERS else None

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        self.sent = (dict(positions), is_plain)
        is_refused = positions == {ORDERS: OffsetAndEpoch(3, 7)}
        return {ORDERS: "CommitFailedException"} if is_refused else {}

    def _commit_unawaited(self, began_micros: int) -> None:
        at = {ORDERS: OffsetAndEpoch(self._at, 1)}
        self._record_response(
            at, {ORDERS: "Late"} if self._at == 2 else {}, began_micros=began_micros
        )

    def _close(self) -> None:
        self._offsets.clear()

    def _failure(self, error: BaseException) -> Failure:
        return Failure(exception=type(error).__name__, message=str(error), divergent_offset=12)

    def pass_markers(self, to: int) -> None:
        self._at = to

    def come_back_from_a_rebalance(self, *assigned: Partition) -> None:
        self._offsets.clear()
        self._note_assigned(assigned)
        self._poll()


class TellingMember(ScriptedMember):
    """A member whose client tells its state, which changes between any two looks at it.

    A commit ends its generation, as one does that the coordinator refuses.
    """

    tells_its_state = True
    awaits_validation = False
    generation = 9

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        self._looks = getattr(self, "_looks", 0) + 1
        at = None if self.awaits_validation else OffsetAndEpoch(self._at, 4)
        return {
            tp: ClientState(position=at, leader_epoch=5, metadata_epoch=5 + self._looks)
            for tp in partitions
        }

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        self.generation = -1
        return super()._commit(positions, is_plain=is_plain)

    def _generation(self) -> int:
        return self.generation


def role_in(folder: Path) -> MemberRole:
    history = HistoryWriter(folder / "w.jsonl")
    return MemberRole(
        PLAN, history, client="scripted", client_version="1", make_member=ScriptedMember
    )


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return read_histories(folder).of(table)


def end(offset: int) -> list[LogEnd]:
    return [LogEnd(topic="orders", partition=0, offset=offset)]


def reading_member(folder: Path, kind: type[ScriptedMember]) -> ScriptedMember:
    """A member that has read offsets 0 to 2, of which 2 has epoch 1."""
    member = kind(MEMBER, "b", HistoryWriter(folder / "w.jsonl"))
    member.take(3, timeout_seconds=5)
    return member

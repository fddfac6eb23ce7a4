"""A member of a group: the behaviour common to all clients under test, and the abstract rest."""

import operator
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from contract.errors import WorkerError
from contract.events import NO_EPOCH, Committed, ConsumerFailed, GroupChanged, Polled, PollsMade
from contract.software import Client, Level
from contract.terms import (
    CommitEpoch,
    GroupChange,
    Isolation,
    Manner,
    Outcome,
    commit_outcome,
)
from harness.clients.history import HistoryWriter

POLL_MS = 100
POSITION_MS = 100
_SPAN_MICROS = 1_000_000
"""An event is of polls in so long a time, or of those before a pause that is longer."""
NO_GENERATION = -1

Partition = tuple[str, int]
_NO_PARTITION: Partition = ("", -1)
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


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer to open: a member of `group`, a reader of `topic`, of a `client`.

    bootstrap: `bootstrap.servers`; None: the worker's own.
    settings: further ones, by the client's own names.
    manner: how it commits.
    is_subscribed: whether it subscribes to the topic when it is opened.
    level: what it shows, if it is a guest.
    """

    group: str
    member: str
    topic: str
    reset: str
    client: str = Client.JAVA
    isolation: str = Isolation.READ_UNCOMMITTED
    bootstrap: str | None = None
    settings: dict[str, str | int] = {}
    manner: str = Manner.SYNC
    is_subscribed: bool = True
    level: Level = Level.POSITIONS


class LogEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The log end of a partition."""

    topic: str
    partition: int
    offset: int


class MemberCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The commit of one member's position.

    cluster_epochs: by partition, the leader epoch as the cluster reports it, for style `forced`.
    """

    member: str
    commit_epoch: CommitEpoch
    cluster_epochs: dict[int, int] = {}


@dataclass(frozen=True)
class Batch:
    """Records that one poll returned for one partition, as parallel lists in order.

    following: the position that the client returns for a commit of these records; None if it
        returns none, so that the application computes it.
    """

    partition: Partition
    offsets: list[int]
    epochs: list[int]
    values: list[str]
    following: OffsetAndEpoch | None = None

    def processed(self) -> OffsetAndEpoch:
        """Return the position of an application that keeps its last record's offset and epoch."""
        return self.following or OffsetAndEpoch(self.offsets[-1] + 1, self.epochs[-1])


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a client's exception; the partition is ("", -1) if it names none.

    Attributes:
        position, position_epoch: the position on that partition that the exception names.
    """

    exception: str
    message: str
    topic: str = ""
    partition: int = -1
    position: int | None = None
    position_epoch: int = NO_EPOCH
    divergent_offset: int | None = None
    divergent_epoch: int = NO_EPOCH


class GroupMember(ABC):
    """One consumer, a member of its group; not to be used by two threads at a time.

    Attributes:
        failures: the exceptions with which the client reports to the application that it can't
            continue.
        definite_failures: the client's names for errors of a commit that surely did not happen; a
            commit with any other error is unknown.
        tells_its_state: whether its position's and its metadata's epochs can be read.
        member: the consumer to open.
        commits: the number of its acknowledged commits, each for one or more partitions.
        records: the number of records that its polls returned.
        failed: the number of exceptions of `failures` that its polls raised.
        failure: the last of them, in words.
    """

    failures: ClassVar[tuple[type[BaseException], ...]]
    definite_failures: frozenset[str]
    tells_its_state: ClassVar[bool] = False
    failure: str = ""

    def __init__(self, member: Member, bootstrap: str, history: HistoryWriter) -> None:
        """Open the consumer; once subscribed, it joins its group at its first `consume`."""
        self.member = member
        self.commits = self.failed = self.records = 0
        self._history = history
        self._is_by_itself = member.manner in (Manner.AUTO, Manner.PERIODIC)
        self._is_unawaited = member.manner == Manner.UNAWAITED
        self._last_epochs: dict[Partition, int] = {}
        self._processed: dict[Partition, OffsetAndEpoch] = {}
        self._last_generation = self._assigned_generation = NO_GENERATION
        self._last_member_id = ""
        self._last_assignment: set[Partition] = set()
        self._newly_assigned: set[Partition] = set()
        self._polled_micros: tuple[int, int] | None = None
        self._open(bootstrap)
        if member.is_subscribed:
            self._subscribe()
        self._record_change(GroupChange.OPENED)

    def consume(
        self, ends: Iterable[LogEnd], *, timeout_seconds: float, may_pass: bool = False
    ) -> str:
        """Poll to the log ends; returns how it ended: caught_up, failed or stalled."""
        self._enter()
        wanted = {(end.topic, end.partition): end.offset for end in ends}
        is_there = operator.ge if may_pass else operator.eq
        deadline = time.monotonic() + timeout_seconds
        try:
            while time.monotonic() < deadline:
                self._poll()
                positions = {tp: self._position(tp) for tp in self._to_read(wanted)}
                if positions and all(
                    at is not None and is_there(at, wanted[tp]) for tp, at in positions.items()
                ):
                    self._record_positions(GroupChange.CAUGHT_UP, positions)
                    return "caught_up"
        except self.failures as error:
            self._record_failure(self._failure(error))
            return "failed"
        finally:
            self._record_polls()
        if self._last_assignment:
            self._record_positions(GroupChange.STALLED, dict.fromkeys(self._last_assignment))
        else:
            self._record_change(GroupChange.STALLED)
        return "stalled"

    def take(self, records: int, *, timeout_seconds: float) -> int:
        """Poll until `records` records or the end of the time; returns the number of records.

        Raises:
            one of `failures`: as the client raised it.
        """
        deadline = time.monotonic() + timeout_seconds
        taken = 0
        try:
            while taken < records and time.monotonic() < deadline:
                taken += self._poll()
        finally:
            self._record_polls()
        return taken

    def read_on(
        self,
        stop: threading.Event,
        *,
        commit_epoch: CommitEpoch,
        commit_interval_seconds: float,
        processing_seconds: float = 0,
        is_persistent: bool = False,
    ) -> None:
        """Poll and commit until stopped, or until the client raises an exception.

        After each poll with records the application takes `processing_seconds`. One that
        `is_persistent` polls on after an exception of `failures`.
        """
        self._enter()
        order = MemberCommit(member=self.member.member, commit_epoch=commit_epoch)
        due = time.monotonic() + commit_interval_seconds
        try:
            while not stop.is_set():
                try:
                    polled = self._poll()
                    if polled and processing_seconds:
                        stop.wait(processing_seconds)
                    if polled and self._is_unawaited:
                        self._commit_unawaited(time.time_ns() // 1000)
                    if not self._is_unawaited and time.monotonic() >= due:
                        self.commit(order)
                        due = time.monotonic() + commit_interval_seconds
                except self.failures as error:
                    self._record_failure(self._failure(error))
                    if not is_persistent:
                        return
                    stop.wait(POLL_MS / 1000)  # One that can't poll any more raises at once.
        except WorkerError:
            raise
        except Exception as error:
            self._record_failure(Failure(exception=type(error).__name__, message=str(error)))
            raise
        finally:
            self._record_polls()

    def require(self, commit_epoch: CommitEpoch) -> None:
        """Refuse a style that this client can't commit.

        Raises:
            WorkerError: it can't.
        """
        if commit_epoch in OF_THE_CLIENTS_STATE and not self.tells_its_state:
            raise WorkerError(
                f"{self.member.client} does not let an application read the leader epochs of its "
                f"position and its metadata, so style {commit_epoch} can't be committed"
            )

    def commit(self, order: MemberCommit) -> str:
        """Commit the position of every assigned partition; returns the outcome.

        A plain commit takes the client's positions when it is sent, which may be others than those
        read before; `of_plain_commit` compares them with those read afterwards. One that succeeds
        is unknown for a partition that the client has lost by then: with KIP-848 a fenced member's
        commitSync() succeeds and commits nothing. A client that commits by itself is left to do so.

        Raises:
            WorkerError: the client can't commit in this style.
        """
        if self._is_by_itself:
            return Outcome.OK
        self._enter()
        self.require(order.commit_epoch)
        partitions = sorted(self._last_assignment)
        known = self._known_states(partitions, order)
        wanted = {
            tp: choose_offset(order.commit_epoch, known_state) for tp, known_state in known.items()
        }
        self._last_generation = self._generation()
        began_micros = time.time_ns() // 1000
        is_plain = order.commit_epoch is CommitEpoch.RECORD
        errors = self._commit(
            {tp: at for tp, at in wanted.items() if at is not None}, is_plain=is_plain
        )
        after = self._states(partitions)
        # A plain commit uses the assignment when it is sent, which may change meanwhile.
        kept = self._assignment() if is_plain else set(partitions)
        outcomes = []
        for tp, predicted in wanted.items():
            state, ended = known[tp].state, after[tp]
            error = errors.get(tp) if predicted is not None else None
            outcome = commit_outcome(error, self.definite_failures)
            if predicted is None:
                outcome = Outcome.NOTHING
            if outcome is Outcome.OK and tp not in kept:
                outcome = Outcome.UNKNOWN
            at = None if outcome is Outcome.NOTHING else predicted
            shown = self._shown_stored() if is_plain else None
            if error is None and shown is not None:
                outcome, at = (outcome if tp in shown else Outcome.NOTHING), shown.get(tp)
            elif is_plain and error is None:
                outcome, at = of_plain_commit(outcome, at, known=known[tp], after=ended)
            outcomes.append(outcome)
            self._history.write(
                Committed,
                group=self.member.group,
                member=self.member.member,
                topic=tp[0],
                partition=tp[1],
                offset=None if at is None else at.offset,
                epoch=NO_EPOCH if at is None else at.epoch,
                commit_epoch=order.commit_epoch,
                record_epoch=known[tp].record_epoch,
                position_epoch=state.leader_epoch,
                metadata_epoch=state.metadata_epoch,
                cluster_epoch=known[tp].cluster_epoch,
                position_epoch_after=ended.leader_epoch,
                metadata_epoch_after=ended.metadata_epoch,
                outcome=outcome,
                error=error,
                began_micros=began_micros,
                generation=self._last_generation,
                manner=Manner.SYNC if self._is_unawaited else Manner(self.member.manner),
            )
        self.commits += Outcome.OK in outcomes
        return next((outcome for outcome in outcomes if outcome != Outcome.OK), Outcome.OK)

    def _record_response(
        self,
        offsets: Mapping[Partition, OffsetAndEpoch],
        errors: Mapping[Partition, str],
        *,
        began_micros: int,
    ) -> None:
        """Record the response to a commit that was not awaited, as the client reports it."""
        for tp, at in offsets.items():
            error = errors.get(tp)
            outcome = commit_outcome(error, self.definite_failures)
            self.commits += outcome is Outcome.OK
            self._history.write(
                Committed,
                group=self.member.group,
                member=self.member.member,
                topic=tp[0],
                partition=tp[1],
                offset=at.offset,
                epoch=at.epoch,
                commit_epoch=CommitEpoch.RECORD,
                record_epoch=at.epoch,
                outcome=outcome,
                error=error,
                began_micros=began_micros,
                generation=self._last_generation,
                manner=Manner.UNAWAITED,
            )

    def processed(self) -> dict[Partition, OffsetAndEpoch]:
        """Return the position after the last record of each partition polled since assigned."""
        return dict(self._processed)

    def close(self) -> None:
        """Leave the group and close the consumer; commits nothing."""
        self._close()
        self._record_change(GroupChange.CLOSED)

    def _enter(self) -> None:  # noqa: B027 - most clients need not know
        """Note that this thread calls the client from now on."""

    @abstractmethod
    def _open(self, bootstrap: str) -> None:
        """Make the client's consumer."""

    @abstractmethod
    def _subscribe(self) -> None:
        """Subscribe it to the member's topic."""

    @abstractmethod
    def _fetch(self) -> Iterable[Batch]:
        """Poll once, for at most POLL_MS if there are no records.

        Raises:
            one of `failures`: as the client raised it.
        """

    @abstractmethod
    def _assignment(self) -> set[Partition]:
        """Return the consumer's current assignment."""

    @abstractmethod
    def _position(self, partition: Partition) -> int | None:
        """Return the consumer's valid position; None while it is being validated or reset."""

    @abstractmethod
    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> Mapping[Partition, str]:
        """Commit, wait for the response, and return the error's name of each partition that failed.

        NO_OFFSET is the error of a partition for which the client had nothing to commit.

        A plain commit (`commitSync()` without arguments) commits the client's own positions, and
        `positions` are those that are expected of it. Any other commits exactly `positions`, and
        nothing if there are none.
        """

    def _shown_stored(self) -> Mapping[Partition, OffsetAndEpoch] | None:
        """Return what the client reports that its last plain commit stored; None: nothing."""
        return None

    @abstractmethod
    def _commit_unawaited(self, began_micros: int) -> None:
        """Commit the client's positions, and let it call `_answered` with the response later."""

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        """Return the client's state of some partitions, without a change to it.

        Leader epochs are read before positions: a change between them shows in the next read.
        """
        states: dict[Partition, ClientState] = {}
        for tp in partitions:
            offset = self._position(tp)
            record_epoch = self._last_epochs.get(tp, NO_EPOCH)
            at = None if offset is None else OffsetAndEpoch(offset, record_epoch)
            states[tp] = ClientState(position=at)
        return states

    def _generation(self) -> int:
        """Return the group's generation, or the member epoch with KIP-848; -1 if not exposed."""
        return NO_GENERATION

    def _member_id(self) -> str:
        """Return the id under which its group knows it; empty if it has none, or if not exposed."""
        return ""

    def _is_eager(self) -> bool:
        """Return whether each new generation reassigns all partitions; False with KIP-848."""
        return True

    @abstractmethod
    def _close(self) -> None:
        """Leave the group and close the consumer."""

    @abstractmethod
    def _failure(self, error: BaseException) -> Failure:
        """Return the content of one of `failures`."""

    def _poll(self) -> int:
        batches = self._fetch_timed()
        assigned = self._assignment()
        # What the poll returned of a partition that is lost by now came before the loss: with
        # KIP-848 a thread of the client's own may take it away once the poll has returned.
        for batch in batches:
            if batch.partition not in assigned:
                self._record(batch)
        self._note_assignment(assigned)
        for batch in batches:
            if batch.partition in assigned:
                self._record(batch)
        return sum(len(batch.offsets) for batch in batches)

    def _fetch_timed(self) -> list[Batch]:
        """Poll once, and record each second that polls were made."""
        began = time.time_ns() // 1000
        if self._polled_micros and began - self._polled_micros[1] > _SPAN_MICROS:
            self._record_polls()
        try:
            return list(self._fetch())
        finally:
            first, ended = (self._polled_micros or (began,))[0], time.time_ns() // 1000
            self._polled_micros = (first, ended)
            if ended - first >= _SPAN_MICROS:
                self._record_polls()

    def _record_polls(self) -> None:
        """Record the polls since the last record of them."""
        if self._polled_micros:
            self._history.write(
                PollsMade,
                group=self.member.group,
                member=self.member.member,
                began_micros=self._polled_micros[0],
                ended_micros=self._polled_micros[1],
            )
            self._polled_micros = None

    def _record(self, batch: Batch) -> None:
        self.records += len(batch.offsets)
        self._history.write(
            Polled,
            group=self.member.group,
            member=self.member.member,
            topic=batch.partition[0],
            partition=batch.partition[1],
            offsets=batch.offsets,
            epochs=batch.epochs,
            values=batch.values,
        )
        self._last_epochs[batch.partition] = batch.epochs[-1]
        self._processed[batch.partition] = batch.processed()

    def _note_assigned(self, partitions: Iterable[Partition]) -> None:
        """Note which partitions a rebalance assigned, also from another thread.

        For clients that do not expose their generation. An eager assignor assigns all of them
        again, a cooperative one those that the member did not have (KIP-429).
        """
        self._newly_assigned.update(partitions)

    def _note_assignment(self, assigned: set[Partition]) -> None:
        """Record what was assigned and revoked since the last poll.

        With the classic protocol's eager assignors, each generation of the group revokes all
        partitions and assigns them again, from the committed offsets on. So a member that keeps a
        partition is assigned it again, and so is one that lost its membership and joined under
        another id. One poll may do both, and leave the set unchanged.
        Source: `ConsumerCoordinator.onJoinPrepare`.
        """
        generation, member_id = self._generation(), self._member_id()
        is_newer = generation not in (NO_GENERATION, self._assigned_generation)
        is_anew = self._is_eager() and is_newer
        if member_id not in ("", self._last_member_id):
            is_anew, self._last_member_id = True, member_id
        newly = frozenset(self._newly_assigned)
        if assigned == self._last_assignment and not is_anew and not newly:
            return
        self._newly_assigned -= newly
        self._last_generation = self._assigned_generation = generation
        kept = set() if is_anew else self._last_assignment & assigned - newly
        for tp in sorted(assigned - kept):
            self._record_change(GroupChange.ASSIGNED, tp, self._position(tp))
        for tp in sorted(self._last_assignment - assigned):
            self._record_change(GroupChange.REVOKED, tp)
        for tp in self._last_assignment - kept:
            self._forget(tp)
        self._last_assignment = assigned

    def _forget(self, partition: Partition) -> None:
        """Forget what was polled of a partition."""
        self._last_epochs.pop(partition, None)
        self._processed.pop(partition, None)

    def _known_states(
        self, partitions: list[Partition], order: MemberCommit
    ) -> dict[Partition, Known]:
        return {
            tp: Known(
                state=state,
                processed=self._processed.get(tp),
                record_epoch=self._last_epochs.get(tp, NO_EPOCH),
                cluster_epoch=order.cluster_epochs.get(tp[1], NO_EPOCH),
            )
            for tp, state in self._states(partitions).items()
        }

    def _record_failure(self, failure: Failure) -> None:
        self.failed += 1
        self.failure = f"{failure.exception}: {failure.message}"
        self._history.write(
            ConsumerFailed,
            group=self.member.group,
            member=self.member.member,
            **msgspec.structs.asdict(failure),
        )
        # The poll that raised may have taken partitions away, and no other one may follow.
        for tp in sorted(self._last_assignment - self._assignment()):
            self._record_change(GroupChange.REVOKED, tp)
            self._forget(tp)
            self._last_assignment.discard(tp)

    def _record_positions(
        self, change: GroupChange, positions: dict[Partition, int | None]
    ) -> None:
        for tp, at in sorted(positions.items()):
            self._record_change(change, tp, at if at is not None else self._position(tp))

    def _to_read(self, wanted: Mapping[Partition, int]) -> Iterable[Partition]:
        """Return which of the partitions that are to be read it has."""
        del wanted
        return self._last_assignment

    def _record_change(
        self, change: GroupChange, partition: Partition = _NO_PARTITION, position: int | None = None
    ) -> None:
        self._history.write(
            GroupChanged,
            group=self.member.group,
            member=self.member.member,
            change=change,
            topic=partition[0],
            partition=partition[1],
            position=position,
            position_epoch=self._last_epochs.get(partition, NO_EPOCH),
            generation=self._last_generation,
        )


def choose_offset(commit_epoch: CommitEpoch, known: Known) -> OffsetAndEpoch | None:
    """Return the offset and epoch that a style commits; None if there is nothing to commit.

    Styles that only choose the epoch use the processed offset where the client has no valid
    position.
    """
    state = known.state
    at = state.position
    if commit_epoch is CommitEpoch.APPLICATION:
        return known.processed
    if commit_epoch in (CommitEpoch.FORCED, CommitEpoch.NONE, CommitEpoch.STALE):
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
    }[commit_epoch]
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

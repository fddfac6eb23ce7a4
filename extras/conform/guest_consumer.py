"""Members whose client is a guest: a program of a user's, one process a member (docs/guests.md).

`python -m extras.conform.guest_consumer PLAN` is their worker.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

import msgspec

from contract.errors import WorkerError
from contract.events import NO_EPOCH, ClientNamed, Committed
from contract.software import Client, Guest, Level
from contract.terms import NO_OFFSET, GroupChange, Outcome, commit_outcome
from extras.conform.guest import (
    Asked,
    BrokenRuleError,
    GuestProcess,
    Position,
    Record,
    ReportedError,
    Response,
    Rule,
    is_transient,
)
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.member import (
    POLL_MS,
    Batch,
    ClientState,
    Failure,
    Member,
    MemberCommit,
    OffsetAndEpoch,
    Partition,
)
from harness.clients.member_calls import CallingMember, Fetched
from harness.clients.member_role import MemberFactory, MemberRole, open_log
from harness.clients.worker import WorkerPlan, run_worker

_JOIN_MS = 1000
"""Without partitions: some clients join only in a poll that is not interrupted."""
_SHOWN_BY_ALL = (GroupChange.OPENED, GroupChange.CLOSED)


class GuestMember(CallingMember):
    """A guest's process.

    One below the level `positions` does not show its assignment. What the harness needs of it is
    inferred from the records that it returned, and not recorded: it has the partitions that they
    are of, and stands after the last one of each.
    """

    failures = (ReportedError,)
    definite_failures = frozenset[str]()

    def __init__(
        self,
        member: Member,
        bootstrap: str,
        history: HistoryWriter,
        *,
        guest: Guest,
        log: logging.Handler,
    ) -> None:
        """`log` receives what the guest prints on standard error."""
        self._guest = guest
        self._log = log
        self._shows_all = member.level is Level.POSITIONS
        self._assigned: set[Partition] = set()
        self._at: dict[Partition, OffsetAndEpoch] = {}
        self._first: dict[Partition, int] = {}
        self._stored: dict[Partition, OffsetAndEpoch] | None = None
        super().__init__(member, bootstrap, history)

    def commit(self, order: MemberCommit) -> str:
        """See `GroupMember`; also records what is shown of partitions that it has not.

        A commit that failed, or does not show what it stored, is recorded without offsets.
        """
        if self._is_by_itself:
            return super().commit(order)
        began_micros = time.time_ns() // 1000
        if self._shows_all:
            outcome = super().commit(order)
            stored = self._stored or {}
            self._record_commits(
                order,
                {tp: stored[tp] for tp in stored.keys() - self._last_assignment},
                began_micros,
            )
            return outcome
        self.require(order.commit_epoch)
        errors = self._commit(self._at, is_plain=True)
        error = NO_OFFSET if self._stored == {} else next(iter(errors.values()), None)
        outcome = commit_outcome(error, self.definite_failures)
        if self.member.level is Level.COMMITS and outcome is not Outcome.NOTHING:
            shown = dict.fromkeys(self._at) if self._stored is None else self._stored
            self._record_commits(order, shown, began_micros, outcome=outcome, error=error)
        self.commits += outcome is Outcome.OK
        return outcome

    def _record_commits(
        self,
        order: MemberCommit,
        shown: Mapping[Partition, OffsetAndEpoch | None],
        began_micros: int,
        *,
        outcome: Outcome = Outcome.OK,
        error: str | None = None,
    ) -> None:
        for tp, at in sorted(shown.items()):
            self._history.write(
                Committed,
                group=self.member.group,
                member=self.member.member,
                topic=tp[0],
                partition=tp[1],
                offset=None if at is None else at.offset,
                epoch=NO_EPOCH if at is None else at.epoch,
                commit_epoch=order.commit_epoch,
                record_epoch=NO_EPOCH,
                outcome=outcome,
                error=error,
                began_micros=began_micros,
                manner=self.member.manner,
            )

    def _open(self, bootstrap: str) -> None:
        name = self.member.member
        self._program = GuestProcess(self._guest, name, log=_logging(self._log, name))
        opened = self._program.ask(
            "open",
            bootstrap=bootstrap,
            group=self.member.group,
            member=self.member.member,
            topic=self.member.topic,
            reset=str(self.member.reset),
            isolation=str(self.member.isolation),
            commit="automatic" if self._is_by_itself else "explicit",
            settings=self.member.settings,
        )
        if opened.error is not None:
            self._program.kill()
            error = ReportedError(opened.error)
            raise WorkerError(f"{self._program.name} could not open its consumer: {error}")
        self._history.write(ClientNamed, client=opened.client, version=opened.version)

    def end(self) -> None:
        """Kill its process."""
        self._program.kill()

    def _subscribe(self) -> None:
        """Do nothing: a guest subscribes when it is opened."""

    def _fetch(self) -> list[Batch]:
        self._first.clear()
        timeout_ms = POLL_MS if self._assigned else _JOIN_MS
        response = self._program.ask("poll", timeout_ms=timeout_ms)
        if response.error is not None:
            raised = ReportedError(response.error)
            if not is_transient(response.error):
                raise raised
            self._record_failure(self._failure(raised))
            Event().wait(POLL_MS / 1000)  # One that can't poll any more responds at once.
            return []
        records: dict[int, list[Record]] = {}
        for record in response.records:
            records.setdefault(record.partition, []).append(record)
        batches = [
            Batch(
                partition=(self.member.topic, partition),
                offsets=[record.offset for record in of],
                epochs=[record.epoch for record in of],
                values=[record.value for record in of],
            )
            for partition, of in records.items()
        ]
        self._first = {batch.partition: batch.offsets[0] for batch in batches}
        if self._shows_all:
            self._note(response)
        else:
            self._assigned |= self._first.keys()
            self._at |= {batch.partition: batch.processed() for batch in batches}
        return batches

    def _note(self, response: Response) -> None:
        """Take over what a response to a poll shows."""
        if response.assigned is None or response.positions is None:
            lacking = "assigned" if response.assigned is None else "positions"
            self._program.refuse(
                Rule.LEVEL,
                f"left out `{lacking}`, which a guest of the level {Level.POSITIONS} shows",
            )
        self._assigned = set(self._of_topic(response.assigned))
        self._at = self._by_partition(response.positions)
        if response.rebalanced is True:
            self._note_assigned(self._assigned)
        elif response.rebalanced:
            self._note_assigned(self._of_topic(response.rebalanced))

    def _poll(self) -> int:
        polled = super()._poll()
        self._first.clear()
        return polled

    def _assignment(self) -> set[Partition]:
        return set(self._assigned)

    def _position(self, partition: Partition) -> int | None:
        """See `GroupMember`; while a poll is recorded, that before its records."""
        at = self._at.get(partition)
        return self._first.get(partition, None if at is None else at.offset)

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        """Return positions; which epoch a commit of one would have is not shown before it."""
        states = {}
        for tp in partitions:
            offset = self._position(tp)
            at = None if offset is None else OffsetAndEpoch(offset)
            states[tp] = ClientState(position=at)
        return states

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        del is_plain
        self._stored = None
        if not positions:
            return {}
        try:
            response = self._program.ask("commit")
        except ReportedError as ended:
            return dict.fromkeys(positions, ended.reported.name)
        if response.unsupported:
            if self.member.level is not Level.DELIVERS:
                self._program.refuse(
                    Rule.LEVEL,
                    f"can't commit, which a guest of the level {self.member.level} does",
                )
            return dict.fromkeys(positions, NO_OFFSET)
        if (error := response.error) is not None:
            self.definite_failures = frozenset({error.name} if error.definite else ())
            return dict.fromkeys(positions, error.name)
        if response.committed is not None:
            self._stored = self._by_partition(response.committed)
        return {}

    def _shown_stored(self) -> Mapping[Partition, OffsetAndEpoch] | None:
        return self._stored

    def _close(self) -> None:
        self._program.close()

    def _failure(self, error: BaseException) -> Failure:
        if not isinstance(error, ReportedError):
            raise error
        reported = error.reported
        known = Failure(exception=reported.name, message=reported.message)
        if reported.partition is None:
            return known
        return msgspec.structs.replace(
            known,
            topic=self.member.topic,
            partition=reported.partition,
            position=reported.offset,
        )

    def _record_change(
        self, change: GroupChange, partition: Partition = ("", -1), position: int | None = None
    ) -> None:
        """See `GroupMember`; what was inferred is not recorded."""
        if self._shows_all or change in _SHOWN_BY_ALL:
            super()._record_change(change, partition, position)

    def _to_read(self, wanted: Mapping[Partition, int]) -> Iterable[Partition]:
        """See `GroupMember`; one that does not show its assignment has all of them."""
        return super()._to_read(wanted) if self._shows_all else wanted

    def _by_partition(self, positions: Iterable[Position]) -> dict[Partition, OffsetAndEpoch]:
        return {
            (self.member.topic, position.partition): OffsetAndEpoch(position.offset, position.epoch)
            for position in positions
        }

    def _lacks(self, what: str, *given: object) -> NoReturn:
        """Refuse a call with these arguments.

        Raises:
            WorkerError: always.
        """
        raise WorkerError(
            f"{self._program.name} can't {what} {given}: no request of guests is so "
            "(fencepost docs guests)"
        )

    def _commit_unawaited(self, began_micros: int) -> None:
        self._lacks("commit without a wait", began_micros)

    def _unsubscribe(self) -> None:
        self._lacks("unsubscribe")

    def _assign(self, partitions: Iterable[Partition], offset: int | None) -> None:
        self._lacks("assign by hand", partitions, offset)

    def _seek(self, partition: Partition, at: OffsetAndEpoch) -> None:
        self._lacks("seek", partition, at)

    def _pause(self, partitions: Iterable[Partition]) -> None:
        self._lacks("pause", partitions)

    def _resume(self, partitions: Iterable[Partition]) -> None:
        self._lacks("resume", partitions)

    def _committed(
        self, partitions: Sequence[Partition], *, timeout_seconds: float
    ) -> dict[Partition, Fetched]:
        self._lacks("ask for committed offsets", partitions, timeout_seconds)

    def _asks_stably(self) -> bool:
        return False


class GuestRole(MemberRole):
    """Members, and guests that are asked line by line (`fencepost guest check`)."""

    def __init__(self, plan: WorkerPlan, history: HistoryWriter, *, guest: Guest) -> None:
        """`guest` plays all of them."""
        log = open_log(Path(plan.log))
        make: MemberFactory = partial(GuestMember, guest=guest, log=log)
        super().__init__(plan, history, client=Client.GUEST, client_version="", make_member=make)
        self._guest = guest
        self._log = log
        self._asked: dict[str, GuestProcess] = {}

    @command
    def start_guest(self, name: str, arguments: list[str]) -> None:
        """Start a process, with further arguments."""
        command = [*self._guest.command, *arguments]
        guest = msgspec.structs.replace(self._guest, command=command)
        self._asked[name] = GuestProcess(guest, name, log=_logging(self._log, name))

    @command
    def ask_guests(self, names: list[str], do: str, fields: dict[str, Any]) -> dict[str, Asked]:
        """Send each the same request, all in parallel; returns what came of it."""
        found = self._pool.map(lambda name: self._ask(self._asked[name], do, fields), names)
        return dict(zip(names, found, strict=True))

    @command
    def end_guest(self, name: str) -> Asked:
        """End its standard input, and wait for its exit."""
        return _time_request(self._asked[name].leave)

    @command
    def kill_guest(self, name: str) -> None:
        """Kill it."""
        self._asked[name].kill()

    def close(self) -> None:
        """Kill the guests, and close the members."""
        for process in self._asked.values():
            process.kill()
        super().close()

    @staticmethod
    def _ask(process: GuestProcess, do: str, fields: dict[str, Any]) -> Asked:
        return _time_request(process.close if do == "close" else lambda: process.ask(do, **fields))


def _time_request(act: Callable[[], Response]) -> Asked:
    began = time.monotonic()
    response, rule, problem = None, "", ""
    try:
        response = act()
    except BrokenRuleError as error:
        rule, problem = error.rule, str(error)
    except ReportedError as error:
        rule, problem = Rule.STAYS, str(error)
    took_ms = round((time.monotonic() - began) * 1000)
    return Asked(response=response, took_ms=took_ms, rule=rule, problem=problem)


def _logging(log: logging.Handler, member: str) -> Callable[[str], None]:
    """Return what writes lines of a member's guest into the worker's client log."""

    def write(text: str) -> None:
        line = logging.makeLogRecord({"name": "guest", "levelname": "INFO", "msg": text})
        line.member, line.group = member, member.rpartition("#")[0]
        log.handle(line)

    return write


def _role(plan: WorkerPlan, history: HistoryWriter) -> MemberRole:
    if plan.guest is None:
        raise WorkerError(f"worker {plan.worker} has no guest")
    return GuestRole(plan, history, guest=plan.guest)


if __name__ == "__main__":
    run_worker(_role)

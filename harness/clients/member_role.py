"""A worker's role whose members are consumers of one client."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TypeVar

import msgspec

from contract.errors import WorkerError
from contract.events import NO_EPOCH
from contract.files import open_to_append
from contract.terms import CommitEpoch
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.member import LogEnd, Member, MemberCommit, OffsetAndEpoch
from harness.clients.member_calls import CallingMember, CommittedOffset
from harness.clients.worker import Role, WorkerPlan

_THREADS = 8
_CLOSE_SECONDS = 20

T = TypeVar("T")
MemberFactory = Callable[[Member, str, HistoryWriter], CallingMember]
"""Opens a member with its bootstrap servers and the worker's history."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What an open member has done so far: records polled, commits, exceptions of its polls."""

    member: str
    records: int
    commits: int
    failures: int


class _Reader:
    """A member that polls continuously in its own thread."""

    def __init__(
        self,
        member: CallingMember,
        *,
        commit_epoch: CommitEpoch,
        commit_interval_ms: int,
        processing_ms: int,
        is_persistent: bool,
    ) -> None:
        """Start reading.

        Raises:
            WorkerError: the commit needs an epoch that only the driver knows, or that the client
                does not expose.
        """
        if commit_epoch is CommitEpoch.FORCED:
            raise WorkerError(
                "a member that polls continuously can't commit style forced: it does not query "
                "the cluster"
            )
        member.require(commit_epoch)
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._member = member
        read_on = partial(
            member.read_on,
            self._stop,
            commit_epoch=commit_epoch,
            commit_interval_seconds=commit_interval_ms / 1000,
            processing_seconds=processing_ms / 1000,
            is_persistent=is_persistent,
        )
        self._thread = threading.Thread(target=self._read, args=(read_on,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the member after its current poll, and wait for it.

        Raises:
            WorkerError: it had ended before, by an error that is none of its client's.
        """
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            name = self._member.member.member
            raise WorkerError(f"{name} polled no longer: {self._error}") from self._error

    @property
    def ended_by(self) -> str:
        """The error after which it polls no longer, in words; empty while it polls."""
        if self._thread.is_alive() or self._stop.is_set():
            return ""
        return self._member.failure or str(self._error)

    def _read(self, read_on: Callable[[], None]) -> None:
        try:
            read_on()
        except Exception as error:  # noqa: BLE001 - raised when it is stopped
            self._error = error


class MemberRole(Role):
    """Opens members, lets them consume and commit in parallel, and closes them."""

    def __init__(
        self,
        plan: WorkerPlan,
        history: HistoryWriter,
        *,
        client: str,
        client_version: str,
        make_member: MemberFactory,
    ) -> None:
        """`make_member` creates a member."""
        self.client = client
        self.client_version = client_version
        self._plan = plan
        self._history = history
        self._open = make_member
        self._members: dict[str, CallingMember] = {}
        self._readers: dict[str, _Reader] = {}
        self._pool = ThreadPoolExecutor(_THREADS)

    @command
    def open_members(self, members: list[Member]) -> None:
        """Open consumers; they join their groups at their first poll."""
        for member in members:
            bootstrap = member.bootstrap or self._plan.bootstrap
            self._members[member.member] = self._open(member, bootstrap, self._history)

    @command
    def consume(
        self,
        members: list[str],
        *,
        ends: list[LogEnd],
        timeout_seconds: float,
        may_pass: bool = False,
    ) -> dict[str, str]:
        """Poll each member until its position is exactly the log end of each of its partitions.

        With `may_pass` a position beyond it suffices: for logs that still grow.

        A member whose poll raises an exception stops there. One that does not reach the log ends
        before the timeout is recorded as `stalled`. Returns how each member ended.
        """
        chosen = [self._member(name) for name in members]
        ended = self._pool.map(
            lambda member: member.consume(ends, timeout_seconds=timeout_seconds, may_pass=may_pass),
            chosen,
        )
        return dict(zip(members, ended, strict=True))

    @command
    def commit_positions(self, commits: list[MemberCommit]) -> dict[str, str]:
        """Let each member commit its position, with the leader epoch that its style selects.

        Returns the outcome of each.
        """
        outcomes = self._pool.map(lambda order: self._member(order.member).commit(order), commits)
        return {order.member: outcome for order, outcome in zip(commits, outcomes, strict=True)}

    @command
    def start_consuming(
        self,
        members: list[str],
        *,
        commit_epoch: CommitEpoch,
        commit_interval_ms: int,
        processing_ms: int = 0,
        is_persistent: bool = False,
    ) -> None:
        """Let members poll, each in its own thread, until `stop_consuming`.

        Args:
            members: names of open ones.
            commit_epoch: any but `forced`; each commits its positions in this style.
            commit_interval_ms: how often.
            processing_ms: how long the application takes for what a poll returned.
            is_persistent: whether each polls on after an exception of its client.
        """
        for name in members:
            self._readers[name] = _Reader(
                self._member(name),
                commit_epoch=commit_epoch,
                commit_interval_ms=commit_interval_ms,
                processing_ms=processing_ms,
                is_persistent=is_persistent,
            )

    @command
    def count_commits(self, members: list[str]) -> dict[str, int]:
        """Return the number of each member's commits that are acknowledged so far."""
        return {name: self._member(name).commits for name in members}

    @command
    def progress(self) -> list[Progress]:
        """Return what each open member has done."""
        return [
            Progress(
                member=name, records=member.records, commits=member.commits, failures=member.failed
            )
            for name, member in self._members.items()
        ]

    @command
    def count_failures(self, members: list[str]) -> dict[str, int]:
        """Return the number of exceptions that each member's polls raised so far."""
        return {name: self._member(name).failed for name in members}

    @command
    def ended(self, members: list[str]) -> dict[str, str]:
        """Return the error of each of these members that polled in its own thread, and ended."""
        found = {name: self._readers[name].ended_by for name in members if name in self._readers}
        return {name: error for name, error in found.items() if error}

    @command
    def stop_consuming(self, members: list[str]) -> None:
        """Let members stop polling; they stay open and in their groups."""
        list(self._pool.map(self._stop, members))

    @command
    def subscribe(self, members: list[str]) -> None:
        """Let consumers subscribe to their topics, after `unsubscribe`."""
        self._each(members, CallingMember.subscribe)

    @command
    def unsubscribe(self, members: list[str]) -> None:
        """Let consumers end their subscriptions or manual assignments."""
        self._each(members, CallingMember.unsubscribe)

    @command
    def assign(
        self, members: list[str], partitions: list[int], *, offset: int | None = None
    ) -> None:
        """Assign partitions to consumers that are not subscribed.

        They read from `offset`, or from the group's commits.
        """
        self._each(members, lambda member: member.assign(partitions, offset=offset))

    @command
    def take(self, members: list[str], records: int, *, timeout_seconds: float) -> dict[str, int]:
        """Let consumers poll until each has at least `records`; returns the number of each."""
        taken = self._each(
            members, lambda member: member.take(records, timeout_seconds=timeout_seconds)
        )
        return dict(zip(members, taken, strict=True))

    @command
    def seek(
        self, members: list[str], partitions: list[int], *, offset: int, epoch: int = NO_EPOCH
    ) -> None:
        """Set the positions of consumers on partitions that they have."""
        at = OffsetAndEpoch(offset, epoch)
        self._each(members, lambda member: member.seek(partitions, at))

    @command
    def pause(self, members: list[str], partitions: list[int]) -> None:
        """Let consumers fetch nothing of partitions until `resume`."""
        self._each(members, lambda member: member.pause(partitions))

    @command
    def resume(self, members: list[str], partitions: list[int]) -> None:
        """Let consumers fetch partitions again."""
        self._each(members, lambda member: member.resume(partitions))

    @command
    def committed(
        self, members: list[str], partitions: list[int], *, timeout_seconds: float
    ) -> dict[str, list[CommittedOffset]]:
        """Let consumers ask for their groups' committed offsets; returns them by member."""
        answers = self._each(
            members, lambda member: member.committed(partitions, timeout_seconds=timeout_seconds)
        )
        return dict(zip(members, answers, strict=True))

    @command
    def close_members(self, members: list[str]) -> None:
        """Close consumers: they leave their groups without a commit."""
        list(self._pool.map(self._leave, members))

    def _each(self, members: list[str], call: Callable[[CallingMember], T]) -> list[T]:
        """Call several members, all in parallel.

        Raises:
            WorkerError: one polls in a thread of its own: a consumer is used by one at a time.
        """
        if reading := sorted(set(members) & set(self._readers)):
            raise WorkerError(f"{', '.join(reading)} polls continuously: stop it before this call")
        return list(self._pool.map(lambda name: call(self._member(name)), members))

    def _stop(self, name: str) -> None:
        self._readers.pop(name).stop()

    def _leave(self, name: str) -> None:
        self._members.pop(name).close()

    def close(self) -> None:
        """Close every consumer that is still open, all in parallel.

        Raises:
            WorkerError: some did not close in time, or raised an exception; names them.
        """
        closing = {name: self._pool.submit(self._end, name) for name in self._members}
        done, _ = wait(closing.values(), timeout=_CLOSE_SECONDS)
        hung = sorted(name for name, future in closing.items() if future not in done)
        raised = {
            name: error
            for name, future in closing.items()
            if future in done and (error := future.exception()) is not None
        }
        self._members.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
        problems = [
            f"{name} raised {type(failure).__name__}: {failure}" for name, failure in raised.items()
        ]
        if hung:
            problems.append(f"{', '.join(hung)} did not close within {_CLOSE_SECONDS} s")
        if problems:
            raise WorkerError("; ".join(problems))

    def _end(self, name: str) -> None:
        try:
            if name in self._readers:
                self._stop(name)
        finally:
            self._members[name].close()

    def _member(self, name: str) -> CallingMember:
        try:
            return self._members[name]
        except KeyError:
            raise WorkerError(f"no member {name} is open here") from None


def open_log(path: Path) -> logging.Handler:
    """A handler that appends to a worker's client log, in the format of the Java client's.

    That is UTC, one line per message, with `[Consumer clientId=..., groupId=...]`: records must
    carry `member` and `group`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    formatter = logging.Formatter(
        "%(asctime)s.%(msecs)03d %(levelname)s %(name)s "
        "[Consumer clientId=%(member)s, groupId=%(group)s] %(message)s",
        datefmt="%Y-%m-%d %H:%M:%S",
        defaults={"member": "-", "group": "-"},
    )
    formatter.converter = time.gmtime
    handler = _LogHandler(path)
    handler.setFormatter(formatter)
    return handler


class _LogHandler(logging.FileHandler):
    """Opens its file as `contract.files` does."""

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open_to_append(Path(self.baseFilename)), encoding="utf-8")


class MemberStamp(logging.Filter):
    """Adds one member to each record."""

    def __init__(self, member: Member) -> None:
        """`member` is the member of all lines."""
        super().__init__()
        self._member = member

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the member; never drops a record."""
        record.member = self._member.member
        record.group = self._member.group
        return True

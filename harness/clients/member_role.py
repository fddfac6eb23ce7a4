"""A worker's role whose members are consumers of one client."""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from contract.clients import Client
from contract.errors import WorkerError
from contract.outcomes import CommitEpoch
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.member import GroupMember, LogEnd, Member, MemberCommit
from harness.clients.worker import Role, WorkerPlan, run_worker

_THREADS = 8
_CLOSE_SECONDS = 20
ASK_SETTINGS = "settings"
"""The argument of a member's program with which it says which settings its client refuses."""

MemberFactory = Callable[[Member, str, HistoryWriter], GroupMember]
"""Opens a member with its bootstrap servers and the worker's history."""


class _Reader:
    """A member that polls continuously in its own thread."""

    def __init__(
        self,
        member: GroupMember,
        *,
        style: CommitEpoch,
        commit_interval_ms: int,
        processing_ms: int,
    ) -> None:
        """Start reading.

        Raises:
            WorkerError: the commit needs an epoch that only the driver knows, or that the client
                does not expose.
        """
        if style is CommitEpoch.FORCED:
            raise WorkerError(
                "a member that polls continuously can't commit style forced: it does not query "
                "the cluster"
            )
        member.require(style)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=member.read_on,
            args=(self._stop,),
            kwargs={
                "style": style,
                "commit_interval_seconds": commit_interval_ms / 1000,
                "processing_seconds": processing_ms / 1000,
            },
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop the member after its current poll, and wait for it."""
        self._stop.set()
        self._thread.join()


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
        self._members: dict[str, GroupMember] = {}
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
            lambda one: one.consume(ends, timeout_seconds=timeout_seconds, may_pass=may_pass),
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
    ) -> None:
        """Let members poll, each in its own thread, until `stop_consuming`.

        Args:
            members: names of open ones.
            commit_epoch: any but `forced`; each commits its positions in this style.
            commit_interval_ms: how often.
            processing_ms: how long the application takes for what a poll returned.
        """
        for name in members:
            self._readers[name] = _Reader(
                self._member(name),
                style=commit_epoch,
                commit_interval_ms=commit_interval_ms,
                processing_ms=processing_ms,
            )

    @command
    def count_commits(self, members: list[str]) -> dict[str, int]:
        """Return the number of each member's commits that are acknowledged so far."""
        return {name: self._member(name).commits for name in members}

    @command
    def stop_consuming(self, members: list[str]) -> None:
        """Let members stop polling; they stay open and in their groups."""
        list(self._pool.map(self._stop, members))

    @command
    def close_members(self, members: list[str]) -> None:
        """Close consumers: they leave their groups without a commit."""
        list(self._pool.map(self._leave, members))

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
        hung = sorted(name for name, one in closing.items() if one not in done)
        raised = {
            name: error
            for name, one in closing.items()
            if one in done and (error := one.exception()) is not None
        }
        self._members.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
        problems = [f"{name} raised {type(one).__name__}: {one}" for name, one in raised.items()]
        if hung:
            problems.append(f"{', '.join(hung)} did not close within {_CLOSE_SECONDS} s")
        if problems:
            raise WorkerError("; ".join(problems))

    def _end(self, name: str) -> None:
        if name in self._readers:
            self._stop(name)
        self._members[name].close()

    def _member(self, name: str) -> GroupMember:
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
    handler = logging.FileHandler(path)
    handler.setFormatter(formatter)
    return handler


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


def serve_members(
    client: Client,
    *,
    client_version: str,
    factory: Callable[[logging.Handler], MemberFactory],
    refused: Callable[[Mapping[str, Any]], dict[str, str]],
) -> None:
    """The main program of a worker whose members use one client.

    Its argument is the worker's plan, which it serves. With two arguments, ASK_SETTINGS and
    settings as JSON, it only prints the settings that the client refuses.

    Args:
        client: that the members use.
        client_version: of the installed client.
        factory: makes the function that opens a member, given the handler of the client's log.
        refused: returns the settings that the client refuses, each with its reason.
    """
    if sys.argv[1] == ASK_SETTINGS:
        print(json.dumps(refused(json.loads(sys.argv[2]))))
        return
    run_worker(
        lambda plan, history: MemberRole(
            plan,
            history,
            client=client,
            client_version=client_version,
            make_member=factory(open_log(Path(plan.log))),
        )
    )

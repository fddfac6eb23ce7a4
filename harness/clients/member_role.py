"""A worker's role whose members are consumers of one client."""

import json
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from contract.clients import Client
from contract.errors import WorkerError
from contract.outcomes import CommitEpoch
from harness.clients.command import Command
from harness.clients.commands import (
    ASK_SETTINGS,
    CloseMembers,
    CommitPositions,
    Consume,
    CountCommits,
    Member,
    OpenMembers,
    StartConsuming,
    StopConsuming,
    WorkerPlan,
)
from harness.clients.history import HistoryWriter
from harness.clients.member import GroupMember
from harness.clients.python_log import open_log
from harness.clients.worker import Role, run_worker

_THREADS = 8
_CLOSE_SECONDS = 20

MemberFactory = Callable[[Member, str, HistoryWriter], GroupMember]
"""Opens a member with its bootstrap servers and the worker's history."""


class _Reader:
    """A member that polls continuously in its own thread."""

    def __init__(self, member: GroupMember, command: StartConsuming) -> None:
        """Start reading.

        Raises:
            WorkerError: the commit needs an epoch that only the driver knows, or that the client
                does not expose.
        """
        style = CommitEpoch(command.commit_epoch)
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
                "commit_interval_seconds": command.commit_interval_ms / 1000,
                "processing_seconds": command.processing_ms / 1000,
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

    def carry_out(self, command: Command) -> Any:
        """Open, consume, commit or close."""
        match command:
            case OpenMembers(members=members):
                for member in members:
                    self._members[member.member] = self._open(
                        member, member.bootstrap or self._plan.bootstrap, self._history
                    )
                return len(members)
            case Consume(members=names):
                chosen = [self._member(name) for name in names]
                ended = self._pool.map(lambda member: member.consume(command), chosen)
                return dict(zip(names, ended, strict=True))
            case CommitPositions(commits=commits):
                outcomes = self._pool.map(
                    lambda order: self._member(order.member).commit(order), commits
                )
                return {
                    order.member: outcome for order, outcome in zip(commits, outcomes, strict=True)
                }
            case StartConsuming():
                for name in command.members:
                    self._readers[name] = _Reader(self._member(name), command)
                return len(command.members)
            case CountCommits(members=names):
                return {name: self._member(name).commits for name in names}
            case StopConsuming(members=names) | CloseMembers(members=names):
                end = self._stop if isinstance(command, StopConsuming) else self._leave
                list(self._pool.map(end, names))
                return len(names)
            case _:
                raise WorkerError(
                    f"the {self.client} worker does not know {type(command).__name__}"
                )

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


def serve_members(
    client: Client,
    *,
    client_version: str,
    factory: Callable[[logging.Handler], MemberFactory],
    refused: Callable[[Mapping[str, Any]], dict[str, str]],
) -> None:
    """The whole program of a worker of one client: serve the plan given as its only argument.

    With ASK_SETTINGS and settings as JSON, it prints those that the client refuses, and ends.

    Args:
        client: whose members they are.
        client_version: of the installed client.
        factory: gives what opens the members, from the handler of the worker's client log.
        refused: returns why the client refuses settings, by the setting.
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

"""A worker's role whose members are consumers of one client, whichever it is."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness.clients.commands import (
    AnyCommand,
    CloseMembers,
    CommitPositions,
    Consume,
    Member,
    OpenMembers,
    WorkerPlan,
)
from harness.clients.history import HistoryWriter
from harness.clients.member import GroupMember
from harness.clients.worker import Role
from harness.contract.errors import WorkerError

_THREADS = 8

MemberFactory = Callable[[Member, str, HistoryWriter], GroupMember]


class MemberRole(Role):
    """Opens members, lets several at a time consume and commit, and closes them."""

    def __init__(
        self,
        plan: WorkerPlan,
        history: HistoryWriter,
        *,
        client_version: str,
        make_member: MemberFactory,
    ) -> None:
        """Serve members that `make_member` makes."""
        self.client_version = client_version
        self._plan = plan
        self._history = history
        self._open = make_member
        self._members: dict[str, GroupMember] = {}
        self._pool = ThreadPoolExecutor(_THREADS)

    def carry_out(self, command: AnyCommand) -> Any:
        """Open, consume, commit or close."""
        match command:
            case OpenMembers(members=members):
                for member in members:
                    self._members[member.member] = self._open(
                        member, self._plan.bootstrap, self._history
                    )
                return len(members)
            case Consume(members=names, ends=ends, timeout_seconds=timeout_seconds):
                chosen = [self._member(name) for name in names]
                ended = self._pool.map(
                    lambda member: member.consume(ends, timeout_seconds=timeout_seconds), chosen
                )
                return dict(zip(names, ended, strict=True))
            case CommitPositions(commits=commits):
                outcomes = self._pool.map(
                    lambda order: self._member(order.member).commit(order), commits
                )
                return {
                    order.member: outcome for order, outcome in zip(commits, outcomes, strict=True)
                }
            case CloseMembers(members=names):
                list(self._pool.map(lambda name: self._members.pop(name).close(), names))
                return len(names)
            case _:
                raise WorkerError(
                    f"the {self.client} worker does not know {type(command).__name__}"
                )

    def close(self) -> None:
        """Close every consumer that is still open."""
        for member in self._members.values():
            member.close()
        self._members.clear()
        self._pool.shutdown()

    def _member(self, name: str) -> GroupMember:
        try:
            return self._members[name]
        except KeyError:
            raise WorkerError(f"no member {name} is open here") from None

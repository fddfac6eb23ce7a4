"""The workers with the clients under test: a member's commands go to the worker of its client."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from contract.clients import Client
from contract.errors import UsageError
from contract.run_folder import GroupPlan
from harness.clients.command import Command
from harness.clients.kinds import JAVA_WORKER, WorkerKind, worker_of
from harness.clients.process import WorkerService

_CALL_SECONDS = 60


def workers_for(groups: Sequence[GroupPlan]) -> list[WorkerKind]:
    """Return the workers that a plan's groups need; always Java's, which also produces."""
    kinds = [JAVA_WORKER, *(kind for group in groups for kind in _kinds(group))]
    return list(dict.fromkeys(kinds))


def members_of(
    groups: Sequence[GroupPlan], *, incarnation: int, number: int | None = None
) -> dict[str, GroupPlan]:
    """Return the members of groups in one incarnation, by name: all, or those of one number.

    A name is `<group>#<incarnation>`, and `<group>#<incarnation>.<number>` if the group has several
    members.
    """
    return {
        f"{group.group}#{incarnation}" + (f".{one}" if group.members > 1 else ""): group
        for group in groups
        for one in range(1, group.members + 1)
        if number in (None, one)
    }


def _kinds(group: GroupPlan) -> list[WorkerKind]:
    """Return the workers of a group's members, by their numbers."""
    kind = worker_of(Client(group.client))
    return [kind.copy(number) for number in range(1, group.members + 1)]


class Consumers:
    """Sends commands about members to their workers, in parallel."""

    def __init__(
        self, workers: Mapping[WorkerKind, WorkerService], groups: Sequence[GroupPlan]
    ) -> None:
        """`workers` must have all of `workers_for` for these groups."""
        self.workers = workers
        self._clients = {Client(group.client) for group in groups}
        self._of_group = {
            group.group: [workers[kind] for kind in _kinds(group)] for group in groups
        }

    def versions(self) -> dict[str, str]:
        """The versions of Java's client and of each group's, as their workers reported them."""
        clients = {Client.JAVA, *self._clients}
        return {str(one): self.workers[worker_of(one)].client_version for one in sorted(clients)}

    @property
    def java(self) -> WorkerService:
        """The worker that also produces."""
        return self.workers[JAVA_WORKER]

    def call(
        self,
        members: Sequence[str],
        command: Callable[[list[str]], Command],
        *,
        timeout_seconds: float = _CALL_SECONDS,
    ) -> list[Any]:
        """Send each worker the command about its share of the members; returns their results.

        Args:
            members: names, as in `members_of`.
            command: returns the command about some of them.
            timeout_seconds: for each worker's result, from the arrival of the previous one.

        Raises:
            WorkerError: a command failed.
        """
        shares: dict[WorkerService, list[str]] = {}
        for member in members:
            shares.setdefault(self._worker(member), []).append(member)
        commands = {worker: command(share) for worker, share in shares.items()}
        requests = {worker: worker.send(sent) for worker, sent in commands.items()}
        return [
            worker.result(
                request, what=type(commands[worker]).__name__, timeout_seconds=timeout_seconds
            )
            for worker, request in requests.items()
        ]

    def _worker(self, member: str) -> WorkerService:
        group, _, place = member.rpartition("#")
        _, _, number = place.partition(".")
        workers = self._of_group.get(group, [])
        index = int(number or 1) - 1
        if not place or index >= len(workers):
            raise UsageError(f"{member} is no member of a group of the plan")
        return workers[index]

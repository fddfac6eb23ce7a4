"""The groups under test: their workers, members, commits, and from which brokers they read."""

import re
from collections import ChainMap, Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from contract.errors import UsageError, WorkerError
from contract.events import NO_EPOCH
from contract.run_folder import GroupPlan, ProducerPlan
from contract.software import Client, Level, client_of, is_guest, version_of
from contract.terms import ResetPolicy
from harness.clients.admin import GroupView, ListedOffset
from harness.clients.command import Call
from harness.clients.java_worker import JavaRole
from harness.clients.member import Member
from harness.clients.observer import Observer
from harness.clients.observer_worker import ObserverRole
from harness.clients.process import JAVA_WORKER, WorkerKind, WorkerService, worker_of
from harness.story.changes import Changes

_CALL_SECONDS = 60

T = TypeVar("T")
_STATE_SECONDS = 60
_STABLE, _EMPTY = "Stable", "Empty"
_EVICTED_SECONDS = 120
"""Twice the longest session timeout that a client has by default."""
_BYTES_MIN = 20_000
"""Of a window: much more than the metadata and the empty responses of a second."""
_SHARE_MIN = 0.9
_READ_SECONDS = 60

Received = dict[str, dict[int, int]]
"""By member and broker: bytes."""


def workers_for(
    groups: Sequence[GroupPlan], producers: Sequence[ProducerPlan] = ()
) -> list[WorkerKind]:
    """Return the workers that groups and producers of a plan need; always Java's."""
    kinds = [JAVA_WORKER, *(kind for group in groups for kind in _kinds(group))]
    return list(dict.fromkeys(kinds + [worker_of(producer.client) for producer in producers]))


def members_of(
    groups: Sequence[GroupPlan], *, incarnation: int, number: int | None = None
) -> dict[str, GroupPlan]:
    """Return the plans of members in one incarnation, by name: all, or those of one number.

    A name is `<group>#<incarnation>`, and `<group>#<incarnation>.<number>` if the group has several
    members.
    """
    return {
        f"{group.group}#{incarnation}" + (f".{at}" if group.members > 1 else ""): group.member(at)
        for group in groups
        for at in range(1, group.members + 1)
        if number in (None, at)
    }


def member_of(name: str, group: GroupPlan, *, bootstrap: str, is_subscribed: bool = True) -> Member:
    """Return the consumer to open under a name of `members_of`.

    In its first incarnation a group has no commit and starts at the log start; its own reset
    policy applies from the second on.
    """
    incarnation, _, number = name.rpartition("#")[2].partition(".")
    return Member(
        group=group.group,
        member=name,
        topic=group.topic,
        reset=ResetPolicy.EARLIEST if incarnation == "1" else group.reset,
        client=group.client,
        isolation=group.isolation_level,
        bootstrap=bootstrap,
        settings={
            setting: value.replace("{number}", number or "1") if isinstance(value, str) else value
            for setting, value in group.settings.items()
        },
        manner=group.manner,
        is_subscribed=is_subscribed,
        level=Level(group.level),
    )


def require_planned(groups: Sequence[GroupPlan], planned: Sequence[GroupPlan]) -> None:
    """Refuse groups that differ from the plan in what they are judged by.

    Settings and styles may be others in another incarnation: a commit is judged by its own.

    Raises:
        UsageError: one differs.
    """
    known = {group.group: _judged_by(group) for group in planned}
    for group in groups:
        own = _judged_by(group)
        plan = known.get(group.group, own)
        if changed := [name for name, value in own.items() if value != plan[name]]:
            raise UsageError(
                f"{', '.join(changed)} of group {group.group} differ from the plan, by which it is "
                "judged: plan a group of its own"
            )


def _judged_by(group: GroupPlan) -> dict[str, object]:
    """Return what of a group's plan the analysis applies to all incarnations; no versions."""
    return {
        "clients": [client_of(client) for client in group.clients],
        "topic": group.topic,
        "isolation": group.isolation_level,
        "members": group.members,
        "is_static": group.is_static,
        "commits_by_itself": group.commits_by_itself,
        "request_timeout_ms": group.request_timeout_ms,
        "level": group.level,
    }


def spare_workers(groups: Sequence[GroupPlan], spares: Mapping[Client, int]) -> list[WorkerKind]:
    """Return the workers that may replace those of a client's members, numbered after them."""
    found = []
    for client, count in spares.items():
        kind = worker_of(client)
        alike = [worker for worker in workers_for(groups) if worker.module == kind.module]
        numbers = range(len(alike) + 1, len(alike) + 1 + count)
        found += [(alike or [kind])[0].copy(number) for number in numbers]
    return found


def _kinds(group: GroupPlan) -> list[WorkerKind]:
    """Return the workers of a group's members, by their numbers: each client has its own."""
    workers = min(group.workers or group.members, group.members)
    placed: Counter[WorkerKind] = Counter()
    kinds = []
    for number in range(1, group.members + 1):
        kind = worker_of(group.member(number).client)
        kinds.append(kind.copy(placed[kind] % workers + 1))
        placed[kind] += 1
    return kinds


class Consumers:
    """Sends commands about members to their workers, in parallel.

    Attributes:
        workers: those that run, or did.
        by_name: the same by their names.
        changes: what the command changes of groups.
    """

    def __init__(
        self,
        workers: Mapping[WorkerKind, WorkerService],
        groups: Sequence[GroupPlan],
        spares: Mapping[WorkerKind, WorkerService] | None = None,
        *,
        changes: Changes | None = None,
    ) -> None:
        """`workers` are those of `workers_for`; `spares` are not launched."""
        self.changes = Changes(()) if changes is None else changes
        self.workers = dict(workers)
        self.by_name = {worker.worker: worker for worker in workers.values()}
        self._spares = dict(spares or {})
        self._clients = {client for group in groups for client in group.clients}
        self._of_group = {
            group.group: [workers[kind] for kind in _kinds(group)] for group in groups
        }

    def versions(self) -> dict[str, str]:
        """The versions of Java's client and of each group's, as their workers reported them.

        Raises:
            WorkerError: a worker runs another version than it was to run.
        """
        clients = sorted({str(Client.JAVA), *map(str, self._clients)})
        found = {client: self.workers[worker_of(client)].client_version for client in clients}
        for named, installed in found.items():
            version = "" if is_guest(named) else version_of(named)
            if version and version not in re.split(r"[ ()]+", installed):
                raise WorkerError(
                    f"the worker of {named} runs {client_of(named)} {installed}: an installed "
                    "package hides the wanted one"
                )
        return found

    @property
    def java(self) -> WorkerService:
        """The worker of the Java clients."""
        return self.workers[JAVA_WORKER]

    def producing(self, producer: ProducerPlan) -> WorkerService:
        """Return the worker of a producer's client.

        Raises:
            UsageError: the plan has no producer and no group of that client.
        """
        kind = worker_of(producer.client)
        if kind not in self.workers:
            raise UsageError(
                f"producer {producer.producer} of {producer.client} is not planned: name it among "
                "the scenario's producers"
            )
        return self.workers[kind]

    @property
    def spares(self) -> int:
        """How many workers can still be replaced."""
        return len(self._spares)

    def replace(self, worker: WorkerService, *, bootstrap: str, kafka: str) -> None:
        """Launch a spare worker for the members of one that was killed; it has none open yet.

        Raises:
            UsageError: no spare is left.
        """
        killed = next(kind for kind, other in self.workers.items() if other is worker)
        alike = (killed.module, killed.client)
        kind = next(
            (other for other in self._spares if (other.module, other.client) == alike), None
        )
        if kind is None:
            raise UsageError(f"no spare worker is left to replace {worker.worker}")
        spare = self.workers[kind] = self.by_name[kind.worker] = self._spares.pop(kind)
        spare.launch(bootstrap=bootstrap, kafka=kafka)
        for workers in self._of_group.values():
            workers[:] = [spare if other is worker else other for other in workers]

    def add(
        self, groups: Sequence[GroupPlan], producers: Sequence[ProducerPlan]
    ) -> list[WorkerService]:
        """Add groups and producers; returns the spare workers that they take, to be launched.

        Raises:
            UsageError: there is no worker for one of their clients.
        """
        kinds = workers_for(groups, producers)
        known = {*self.workers, *self._spares}
        if lacking := [kind.worker for kind in kinds if kind not in known]:
            raise UsageError(f"there is no worker {lacking[0]}, and no spare one of that name")
        new = {kind: self._spares.pop(kind) for kind in kinds if kind in self._spares}
        self.workers |= new
        self.by_name |= {worker.worker: worker for worker in new.values()}
        for group in groups:
            self._clients.update(group.clients)
            self._of_group[group.group] = [self.workers[kind] for kind in _kinds(group)]
        self._clients.update(producer.client for producer in producers)
        return list(new.values())

    def workers_of(self, group: GroupPlan) -> list[WorkerService]:
        """Return the workers of a group's members, by their numbers."""
        return list(self._of_group[group.group])

    def suspended(self, members: Sequence[str]) -> list[str]:
        """Those of some members whose worker is suspended, so that it responds to nothing."""
        return [member for member in members if self._worker(member).host.is_suspended()]

    def call(
        self,
        members: Sequence[str],
        command: Callable[[list[str]], Call[T]],
        *,
        timeout_seconds: float = _CALL_SECONDS,
    ) -> list[T]:
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
        sent = {worker: worker.send(command(share)) for worker, share in shares.items()}
        return [
            worker.result(pending, timeout_seconds=timeout_seconds)
            for worker, pending in sent.items()
        ]

    def _worker(self, member: str) -> WorkerService:
        group, _, place = member.rpartition("#")
        _, _, number = place.partition(".")
        workers = self._of_group.get(group, [])
        index = int(number or 1) - 1
        if not place or index >= len(workers):
            raise UsageError(f"{member} is no member of a group of the plan")
        return workers[index]


class Groups:
    """Queries coordinators for the state of groups, and waits for it."""

    def __init__(self, observer: Observer, *, require_reading: Callable[[str], None]) -> None:
        """Use the observer's worker; `require_reading` refuses a wait for a group that ended."""
        self._observer = observer
        self._require_reading = require_reading

    def await_members(
        self, group: str, count: int, *, timeout_seconds: float = _STATE_SECONDS
    ) -> GroupView:
        """Wait until a group is stable with `count` members, each with partitions.

        A group without members is not known to its coordinator; the wait continues.

        Raises:
            WaitTimeoutError: it is not; shows the last view.
        """

        def is_stable(view: GroupView) -> bool:
            assigned = [member for member in view.members if member.partitions]
            return view.state == _STABLE and len(view.members) == len(assigned) == count

        return self._observer.await_value(
            lambda: self._observer.worker.call(ObserverRole.describe_group(group)),
            is_stable,
            what=f"{group} to be stable with {count} members",
            timeout_seconds=timeout_seconds,
        )

    def await_no_members(self, group: str, *, timeout_seconds: float = _EVICTED_SECONDS) -> None:
        """Wait until a group with commits is empty at its coordinator.

        Raises:
            WaitTimeoutError: it is not; shows the last view.
        """
        self._observer.await_value(
            lambda: self._observer.worker.call(ObserverRole.describe_group(group)),
            lambda view: view.state == _EMPTY,
            what=f"{group} to have no members",
            timeout_seconds=timeout_seconds,
        )

    def read_offsets(
        self, group: str, topic: str, partitions: Sequence[int], *, is_stable: bool = False
    ) -> list[ListedOffset]:
        """Let Admin ask once for a group's committed offsets, with `is_stable` for stable ones."""
        call = ObserverRole.read_offsets(group, topic, list(partitions), is_stable=is_stable)
        return self._observer.worker.call(call)

    def alter_offsets(
        self, group: str, topic: str, offsets: dict[int, int], *, epoch: int = NO_EPOCH
    ) -> None:
        """Let Admin set committed offsets of a group without members, by partition of a topic.

        They are held against no client of the group.

        Raises:
            WorkerError: the cluster refused.
        """
        call = ObserverRole.alter_offsets(group, topic, offsets, epoch=epoch)
        self._observer.worker.call(call)

    def offsets_partition(self, group: str) -> int:
        """Return the partition of `__consumer_offsets` that has a group's commits.

        Its leader is the group's coordinator. Faults on partitions are for it, too.
        """
        return self._observer.worker.call(ObserverRole.offsets_partition(group))

    def await_coordinator(self, group: str, *, other_than: Sequence[int]) -> int:
        """Wait until a group's coordinator is none of these brokers; returns it.

        Raises:
            WaitTimeoutError: it is one of them.
        """
        return self._observer.await_value(
            lambda: self._observer.coordinator(group),
            lambda coordinator: coordinator not in other_than,
            what=f"{group} to have another coordinator than {list(other_than)}",
            timeout_seconds=_STATE_SECONDS,
        )

    def committed(self, group: str) -> dict[str, int]:
        """Return a group's committed offsets, by `topic-partition`."""
        return self._observer.worker.call(ObserverRole.committed(group))

    def _await_commits(
        self,
        group: str,
        reached: Callable[[dict[str, int]], bool],
        *,
        what: str,
        timeout_seconds: float,
    ) -> None:
        def probe() -> dict[str, int]:
            now = self.committed(group)
            if not reached(now):
                self._require_reading(group)
            return now

        self._observer.await_value(probe, reached, what=what, timeout_seconds=timeout_seconds)

    def await_committed(self, group: str, *, timeout_seconds: float = _STATE_SECONDS) -> None:
        """Wait until a group has committed, also where its client does so by itself.

        Raises:
            WorkerError: it can't, as the clients that read for it have ended.
            WaitTimeoutError: it has not.
        """
        self._await_commits(group, bool, what=f"{group} to commit", timeout_seconds=timeout_seconds)

    def await_committed_above(
        self, group: str, before: dict[str, int], *, timeout_seconds: float = _STATE_SECONDS
    ) -> None:
        """Wait until a group has committed beyond these offsets on each of their partitions.

        Raises:
            WorkerError: it can't, as the clients that read for it have ended.
            WaitTimeoutError: it has not; shows its committed offsets.
        """
        self._await_commits(
            group,
            lambda now: all(now.get(partition, -1) > at for partition, at in before.items()),
            what=f"{group} to commit beyond {before}",
            timeout_seconds=timeout_seconds,
        )


class Window:
    """The bytes that a member received from each broker since the window began."""

    def __init__(self, source: int) -> None:
        """Start without a count; `source` is the broker that it should read from."""
        self._source = source
        self._began: dict[int, int] | None = None

    def is_source(self, received: Mapping[int, int]) -> bool:
        """Return whether nearly all bytes of the window are the source's.

        A window with enough bytes, but from others too, ends; the next one begins.
        """
        if self._began is None:
            self._began = dict(received)
        began = self._began
        gained = {broker: count - began.get(broker, 0) for broker, count in received.items()}
        total = sum(gained.values())
        if total < _BYTES_MIN:
            return False
        self._began = dict(received)
        return gained.get(self._source, 0) >= _SHARE_MIN * total


class Sources:
    """Waits until members read from certain brokers (KIP-392)."""

    def __init__(self, consumers: Consumers, observer: Observer) -> None:
        """Query the workers of the members, and record waits with the observer."""
        self._consumers = consumers
        self._observer = observer

    def await_source(self, sources: Mapping[str, int]) -> None:
        """Wait until each member receives at least nine tenths of its bytes from its broker.

        The members are open, of Java clients, and read records meanwhile.

        Raises:
            WaitTimeoutError: one does not; shows the bytes received from each broker.
        """
        windows = {member: Window(source) for member, source in sources.items()}
        last: Received = {}

        def probe() -> bool:
            last.update(self._bytes_received(list(windows)))
            for member in [
                member for member, window in windows.items() if window.is_source(last[member])
            ]:
                del windows[member]
            return not windows

        of = ", ".join(f"{member} from broker {source}" for member, source in sources.items())
        self._observer.await_that(
            probe,
            what=f"members to receive records: {of}",
            timeout_seconds=_READ_SECONDS,
            last_seen=lambda: {member: last.get(member) for member in windows},
        )

    def _bytes_received(self, members: list[str]) -> Received:
        if not members:
            return {}
        brokers = self._observer.kafka.topology.broker_ids
        answers = self._consumers.call(
            members, lambda share: JavaRole.count_received(share, brokers=brokers)
        )
        return dict(ChainMap(*answers))

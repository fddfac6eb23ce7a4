"""What a playground looks like at one moment, also while faults hold."""

import time
from typing import Any

import msgspec

from cluster.kafka.topology import CONTROLLER_PORT
from cluster.nodes.node import NodeState
from contract.errors import WaitTimeoutError, WorkerError
from contract.run_folder import ProducerPlan
from harness.clients.broker_view import BrokerView, GroupState
from harness.clients.command import Call
from harness.clients.member_role import MemberRole, Progress
from harness.clients.observer_worker import ObserverRole
from harness.clients.process import WorkerService
from harness.clients.producer_role import ProducerRole
from harness.clients.views import PartitionState
from harness.faults.fault import HeldFault
from harness.playground.load import ProducerStatus, produced_by
from harness.story.run import Run

_WORKER_SECONDS = 2
_NO_CONTROLLER = -1
_MICROS = 1_000_000


class ServerState(msgspec.Struct, frozen=True, kw_only=True):
    """A server; its state is running, paused or down."""

    id: int
    roles: str
    state: str


class FaultState(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that holds; `landed` is None until it is proved."""

    number: int
    fault: str
    target: str
    landed: bool | None
    seconds: float


class OtherView(msgspec.Struct, frozen=True, kw_only=True):
    """A partition according to a broker that names another leader or leader epoch."""

    broker: int
    leader: int
    leader_epoch: int
    isr: list[int]
    log_end_offset: int


class PartitionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A partition according to its newest leader; -1: no leader, or a log end that none reports.

    other_views: of brokers that lag behind it, as a deposed leader does.
    """

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: list[int]
    log_start_offset: int
    log_end_offset: int
    other_views: list[OtherView]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A playground at one moment.

    controller: the active one; -1 if none is known.
    readers: what the members of `consume` have done.
    silent: the workers that did not respond.
    """

    controller: int
    servers: list[ServerState]
    faults: list[FaultState]
    partitions: list[PartitionStatus]
    groups: list[GroupState]
    producers: list[ProducerStatus]
    readers: list[Progress]
    silent: list[str]

    @property
    def paused(self) -> list[int]:
        """The servers whose nodes are paused."""
        return [server.id for server in self.servers if server.state == "paused"]


def status_of(run: Run, producers: dict[str, ProducerPlan]) -> Status:
    """Return the state of a cluster and of its load, without waiting for any state.

    Servers that are down or paused are not asked.
    """
    views = run.observer.look()
    silent: list[str] = []
    workers = list(run.consumers.by_name.values())
    progress = [_ask_worker(worker, MemberRole.progress(), silent) or [] for worker in workers]
    produced = [
        _ask_worker(worker, ProducerRole.count_all_produced(), silent) or {} for worker in workers
    ]
    return Status(
        controller=_active_controller(run),
        servers=[_server(run, server) for server in run.kafka.topology.server_ids],
        faults=[_fault(held) for held in run.held],
        partitions=partitions_of(views),
        groups=_newest([group for view in views for group in view.groups]),
        producers=[
            produced_by(producers[name], counts)
            for of_worker in produced
            for name, counts in of_worker.items()
        ],
        readers=[reader for of_worker in progress for reader in of_worker],
        silent=sorted(set(silent)),
    )


def partitions_of(views: list[BrokerView]) -> list[PartitionStatus]:
    """Return each partition by its newest leader, with the views of brokers that lag behind."""
    seen: dict[tuple[str, int], list[tuple[int, PartitionState]]] = {}
    for view in views:
        for state in view.partitions:
            seen.setdefault((state.topic, state.partition), []).append((view.broker, state))
    return [_partition(of_one) for _, of_one in sorted(seen.items())]


def _partition(seen: list[tuple[int, PartitionState]]) -> PartitionStatus:
    _, newest = max(seen, key=lambda pair: (pair[1].leader_epoch, pair[0] == pair[1].leader))
    others = [
        OtherView(
            broker=broker,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            log_end_offset=state.log_end_offset,
        )
        for broker, state in seen
        if (state.leader, state.leader_epoch) != (newest.leader, newest.leader_epoch)
    ]
    return PartitionStatus(**msgspec.structs.asdict(newest), other_views=others)


def _newest(groups: list[GroupState]) -> list[GroupState]:
    """Return each group once: as a coordinator with its members knows it, if there are several."""
    found: dict[str, GroupState] = {}
    for group in sorted(groups, key=lambda group: (group.group, len(group.members))):
        found[group.group] = group
    return list(found.values())


def _server(run: Run, server: int) -> ServerState:
    kafka = run.kafka
    return ServerState(
        id=server,
        roles=kafka.topology.roles(server),
        state=kafka.host(server).state if kafka.is_running(server) else "down",
    )


def _fault(held: HeldFault) -> FaultState:
    return FaultState(
        number=held.number,
        fault=held.fault.verb,
        target=str(held.fault.target),
        landed=held.evidence.landed if held.evidence.facts else None,
        seconds=round(time.time() - held.injected_micros / _MICROS, 1),
    )


def _active_controller(run: Run) -> int:
    """Return the leader of the newest quorum that a controller leads; none of them is awaited."""
    kafka = run.kafka
    asked = [
        i
        for i in kafka.topology.controller_ids
        if kafka.is_running(i) and kafka.host(i).state is not NodeState.SUSPENDED
    ]
    seen = [
        run.observer.worker.call(
            ObserverRole.look_at_quorum(run.observer.listener(i, CONTROLLER_PORT))
        )
        for i in asked
    ]
    led = [(quorum.leader_epoch, quorum.leader) for quorum in seen if quorum is not None]
    return max(led)[1] if led else _NO_CONTROLLER


def _ask_worker(worker: WorkerService, call: Call[Any], silent: list[str]) -> Any:
    """Return a worker's result; None if it is paused, ended or busy, which is noted."""
    try:
        if worker.host.state is not NodeState.SUSPENDED:
            return worker.call(call, timeout_seconds=_WORKER_SECONDS)
    except (WaitTimeoutError, WorkerError):
        pass
    silent.append(worker.worker)
    return None

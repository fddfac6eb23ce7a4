"""Faults on a client's node: it is paused or killed, or its packets to brokers are dropped."""

import signal

from cluster.kafka.topology import CLIENT_PORT
from cluster.nodes.node import Capability, NodeState
from cluster.nodes.traffic import Direction, Traffic
from contract.errors import FaultError, TargetError, WaitTimeoutError
from contract.terms import FaultTarget, TargetKind
from harness.clients.process import WorkerService
from harness.clients.worker import Role
from harness.faults.cut import await_packets, require_network, traffic_with
from harness.faults.fault import ByHand, Evidence, Fault, Field
from harness.faults.rules import lapse_of

_SILENT_SECONDS = 1


class ClientFault(Fault):
    """A fault on the node of a worker with clients under test."""

    on = TargetKind.CLIENT

    def __init__(self, worker: str) -> None:
        """`worker` as in `harness.clients.process`: clients (Java's), or a client's name."""
        self._worker = worker
        self.target = FaultTarget(target_kind=TargetKind.CLIENT, worker=worker)

    def prepare(self, field: Field) -> None:
        """Find the worker.

        Raises:
            TargetError: the run has no such worker.
        """
        if self._worker not in field.clients:
            workers = ", ".join(field.clients)
            raise TargetError(f"{self.target} is no worker of this run: there are {workers}")

    def worker(self, field: Field) -> WorkerService:
        """The worker on whose node the fault is."""
        return field.clients[self._worker]


class PauseClient(ClientFault):
    """Its clients are paused, and resume without detecting it: a stalled consumer."""

    verb = "pause"
    by_hand = (ByHand(verb=verb),)
    silences = True

    def inject(self, field: Field) -> None:
        """Suspend everything on its node."""
        host = self.worker(field).host
        host.pause()
        host.state = NodeState.SUSPENDED

    def prove(self, field: Field) -> Evidence:
        """Landed when the worker does not respond, and its node is suspended.

        A busy worker may not respond either.
        """
        is_silent = False
        try:
            self.worker(field).call(Role.ping(), timeout_seconds=_SILENT_SECONDS)
        except WaitTimeoutError:
            is_silent = True
        is_suspended = self.worker(field).host.is_suspended()
        return Evidence(
            landed=is_silent and is_suspended,
            facts={
                "silent_seconds": _SILENT_SECONDS if is_silent else 0,
                "is_suspended": is_suspended,
            },
        )

    def lapse(self, field: Field) -> str:
        """Its node goes on, or its process has ended."""
        is_suspended = self.worker(field).host.is_suspended()
        return "" if is_suspended else f"{self.target} is not suspended any more"

    def heal(self, field: Field) -> None:
        """Resume the node, and wait until the worker responds."""
        host = self.worker(field).host
        host.resume()
        host.state = NodeState.RUNNING
        self.worker(field).call(Role.ping())


class KillClient(ClientFault):
    """SIGKILL to its process: no client of it commits, or leaves its group.

    It is not healed: `Consumers.replace` puts another worker in its place.
    """

    verb = "kill"
    silences = True

    def prepare(self, field: Field) -> None:
        """Find the worker, which must run."""
        super().prepare(field)
        if self.worker(field).status() is not None:
            raise FaultError(f"{self.target} does not run")

    def inject(self, field: Field) -> None:
        """Kill it."""
        self.worker(field).stop()

    def prove(self, field: Field) -> Evidence:
        """Landed when the process was ended by the signal."""
        status = self.worker(field).status()
        return Evidence(landed=status == -signal.SIGKILL, facts={"exit_status": status})

    def heal(self, field: Field) -> None:
        """Do nothing: a killed process does not return."""


class CutClient(ClientFault):
    """Packets of its clients to brokers are dropped on its own node, so its clients must send."""

    verb = "cut"
    by_hand = (ByHand(verb=verb),)
    needs = Capability.CUT

    def prepare(self, field: Field) -> None:
        """Find the worker, on a node whose packets can be dropped."""
        super().prepare(field)
        require_network(self.worker(field).host)

    def inject(self, field: Field) -> None:
        """Set the rules on its node."""
        for rule in _rules(field):
            field.rules.block(self.worker(field).host, rule, by=self)

    def prove(self, field: Field) -> Evidence:
        """Landed when packets of the node were dropped, and none passed."""
        host, rules = self.worker(field).host, _rules(field)
        counted = await_packets(
            field,
            {host: rules},
            what=f"packets of {self.target} to be dropped",
            hint="do its clients write or read?",
        )[host]
        return Evidence(
            landed=counted.are_all_dropped,
            facts={
                "rules": [rule.name for rule in rules],
                "dropped_packets": counted.dropped,
                "passed_packets": counted.passed,
            },
        )

    def lapse(self, field: Field) -> str:
        """A rule is missing, or lets packets pass."""
        return lapse_of({self.worker(field).host: _rules(field)})

    def heal(self, field: Field) -> None:
        """Remove these rules."""
        for rule in _rules(field):
            field.rules.unblock(self.worker(field).host, rule, by=self)


def _rules(field: Field) -> list[Traffic]:
    brokers = [field.kafka.host(i).address for i in field.kafka.topology.broker_ids]
    return traffic_with(brokers, [Direction.OUT], CLIENT_PORT)

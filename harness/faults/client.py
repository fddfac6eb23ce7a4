"""Strike a client's node instead of a server's: it stands still, or no broker hears it."""

from abc import abstractmethod

from cluster.kafka.topology import CLIENT_PORT
from cluster.nodes.traffic import Direction, Traffic
from harness.clients.commands import Ping
from harness.clients.process import WorkerService
from harness.contract.errors import FaultError, WaitTimeoutError
from harness.faults.cut import dropped_packets, require_network, traffic_with
from harness.faults.fault import Evidence, Fault, Field

_SILENT_SECONDS = 1
_BITES_SECONDS = 20


class ClientFault(Fault):
    """A fault on the node of one worker with clients under test."""

    def __init__(self, worker: str) -> None:
        """`worker` as in `harness.clients.kinds`: clients (Java's), librdkafka, kafka-python."""
        self._worker = worker

    @property
    def target(self) -> str:
        """The worker."""
        return f"client:{self._worker}"

    def strike(self, field: Field) -> Evidence:
        """Strike the worker, if the run has it."""
        return self.strike_client(field, self._find(field))

    @abstractmethod
    def strike_client(self, field: Field, worker: WorkerService) -> Evidence:
        """Strike the worker and return the evidence."""

    def heal(self, field: Field) -> None:
        """Undo the strike; nothing happens where there is no such worker."""
        if self._worker in field.clients:
            self.heal_client(field, field.clients[self._worker])

    @abstractmethod
    def heal_client(self, field: Field, worker: WorkerService) -> None:
        """Undo the strike."""

    def _find(self, field: Field) -> WorkerService:
        try:
            return field.clients[self._worker]
        except KeyError:
            workers = ", ".join(field.clients)
            raise FaultError(f"{self.target} can't be struck: there are {workers}") from None


class PauseClient(ClientFault):
    """Its clients stand still, and wake up without having noticed: a stalled consumer."""

    verb = "pause"

    def strike_client(self, field: Field, worker: WorkerService) -> Evidence:  # noqa: ARG002
        """Landed when the worker, which is there, leaves a question unanswered."""
        worker.host.pause()
        try:
            worker.call(Ping(), timeout_seconds=_SILENT_SECONDS)
        except WaitTimeoutError:
            return Evidence(landed=True, facts={"silent_seconds": _SILENT_SECONDS})
        return Evidence(landed=False, facts={})

    def heal_client(self, field: Field, worker: WorkerService) -> None:  # noqa: ARG002
        """Let the node go on, and wait until the worker answers."""
        worker.host.resume()
        worker.call(Ping())


class CutClient(ClientFault):
    """What its clients send to brokers is dropped on its own node, so its clients must send."""

    verb = "cut"

    def strike_client(self, field: Field, worker: WorkerService) -> Evidence:
        """Landed when packets of the node were dropped."""
        require_network(worker.host)
        rules = _rules(field)
        for rule in rules:
            worker.host.block(rule)
        dropped = field.observer.await_that(
            lambda: dropped_packets(worker.host, rules) or None,
            what=f"packets of {self.target} to be dropped",
            timeout_seconds=_BITES_SECONDS,
            hint="do its clients write or read?",
        )
        facts = {"rules": [rule.name for rule in rules], "dropped_packets": dropped}
        return Evidence(landed=dropped > 0, facts=facts)

    def heal_client(self, field: Field, worker: WorkerService) -> None:
        """Remove these rules."""
        for rule in _rules(field):
            worker.host.unblock(rule)


def _rules(field: Field) -> list[Traffic]:
    brokers = [field.kafka.host(i).address for i in field.kafka.topology.broker_ids]
    return traffic_with(brokers, [Direction.OUT], CLIENT_PORT)

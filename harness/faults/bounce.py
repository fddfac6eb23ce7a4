"""Restart a broker: a controlled shutdown, followed by a start on its own data."""

from cluster.nodes.node import NodeProcess
from harness.faults.broker_fault import BrokerFault
from harness.faults.fault import ByHand, Evidence, Field
from harness.faults.stop import SHUT_DOWN
from harness.faults.targets import Target


class Bounce(BrokerFault):
    """A restart as for a configuration change or an upgrade: one broker after the other."""

    verb = "bounce"
    by_hand = (ByHand(verb=verb, place=9, behind=1),)
    is_instant = True
    may_cut = False

    def __init__(self, target: Target) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._before: dict[int, NodeProcess] = {}
        self._ran: set[int] = set()

    def inject_broker(self, field: Field, broker: int) -> None:
        """Stop and start it; the next one follows when all brokers see it as unfenced."""
        self._before[broker] = field.kafka.process(broker)
        if field.kafka.is_running(broker):
            self._ran.add(broker)
        field.kafka.stop_server(broker)
        field.kafka.start_server(broker)
        field.observer.await_unfenced(broker)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when the previous process ran and shut down by itself, and a new one serves."""
        before, after = self._before[broker], field.kafka.process(broker)
        has_shut_down = broker in self._ran and before.status() in SHUT_DOWN
        return Evidence(
            landed=has_shut_down and before.pid != after.pid and field.kafka.is_running(broker),
            facts={
                "broker": broker,
                "has_run": broker in self._ran,
                "exit_status": before.status(),
                "pids": [before.pid, after.pid],
            },
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Do nothing: it serves already."""

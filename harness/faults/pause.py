"""Pause a broker's whole node, like a long garbage collection or a frozen host."""

from cluster.nodes.node import NodeState
from harness.faults.broker_fault import BrokerFault, await_fenced, timeouts_of_silence
from harness.faults.fault import ByHand, Evidence, Field


class Pause(BrokerFault):
    """Everything on the broker's node is suspended; it resumes without detecting it."""

    verb = "pause"
    by_hand = (ByHand(verb=verb, place=2, fences=True, behind=1),)
    silences = True

    def inject_broker(self, field: Field, broker: int) -> None:
        """Suspend everything on its node."""
        node = field.kafka.host(broker)
        node.pause()
        node.state = NodeState.SUSPENDED

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when its node is suspended, it does not respond, and the others see it as fenced.

        A broker may be fenced for another reason, and a server that is no broker never responds to
        clients. So the node's state is checked too.
        """
        is_broker = broker in field.kafka.topology.broker_ids
        others = await_fenced(field, broker, among=self.brokers) if is_broker else []
        is_silent = not field.observer.brokers_seen_by(broker)
        is_suspended = field.kafka.host(broker).is_suspended()
        return Evidence(
            landed=is_silent and is_suspended and field.kafka.is_running(broker),
            facts={
                "broker": broker,
                "fenced_according_to": others,
                "is_silent": is_silent,
                "is_suspended": is_suspended,
            },
            forced_ms=timeouts_of_silence(field, broker),
        )

    def lapse(self, field: Field) -> str:
        """A node goes on, or its process has ended."""
        awake = [broker for broker in self.brokers if not field.kafka.host(broker).is_suspended()]
        return f"brokers that are not suspended any more: {awake}" if awake else ""

    def heal_broker(self, field: Field, broker: int) -> None:
        """Resume the node."""
        node = field.kafka.host(broker)
        node.resume()
        node.state = NodeState.RUNNING

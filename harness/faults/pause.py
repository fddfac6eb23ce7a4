"""Pause a broker's whole node, as a long garbage collection or a frozen host does."""

from harness.faults.broker_fault import BrokerFault, await_fenced, timeouts_of_silence
from harness.faults.fault import Evidence, Field


class Pause(BrokerFault):
    """Everything on the broker's node is stopped; it resumes without having noticed."""

    verb = "pause"

    def inject_broker(self, field: Field, broker: int) -> None:
        """Stop everything on its node."""
        field.kafka.host(broker).pause()

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when every other broker sees it as fenced, though its process is there.

        Where no broker is left that could report it, it must not answer.
        """
        is_broker = broker in field.kafka.topology.broker_ids
        others = await_fenced(field, broker, among=self.brokers) if is_broker else []
        is_silent = bool(others) or not field.observer.brokers_seen_by(broker)
        return Evidence(
            landed=is_silent and field.kafka.is_running(broker),
            facts={"broker": broker, "fenced_according_to": others},
            forced_ms=timeouts_of_silence(field, broker),
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Resume the node."""
        field.kafka.host(broker).resume()

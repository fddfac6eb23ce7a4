"""Pause a broker's whole node, as a long garbage collection or a frozen host does."""

from harness.faults.broker_fault import BrokerFault, await_fenced, timeouts_of_silence
from harness.faults.fault import Evidence, Field


class Pause(BrokerFault):
    """Everything on the broker's node stands still; it wakes up without having noticed."""

    verb = "pause"

    def strike_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when every other broker counts it as gone, though its process is there."""
        field.kafka.host(broker).pause()
        others = await_fenced(field, broker)
        return Evidence(
            landed=field.kafka.is_running(broker),
            facts={"broker": broker, "fenced_in_eyes_of": others},
            forced_ms=timeouts_of_silence(field, broker),
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Let the node go on."""
        field.kafka.host(broker).resume()

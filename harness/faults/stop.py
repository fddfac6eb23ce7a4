"""Stop a broker politely (controlled shutdown); healed by starting it again."""

from harness.faults.broker_fault import BrokerFault, await_noticed
from harness.faults.fault import Evidence, Field

_SIGTERM_STATUS = 143


class Stop(BrokerFault):
    """SIGTERM to the target's broker process: it hands over its leaderships first."""

    verb = "stop"

    def strike_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when the process ended by itself and the others noticed."""
        status = field.kafka.stop_server(broker)
        noticed = await_noticed(field, broker)
        return Evidence(
            landed=status in (0, _SIGTERM_STATUS),
            facts={"broker": broker, "exit_status": status, **noticed},
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Start the broker again."""
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker)

"""Kill a broker with SIGKILL; healed by starting it again on its own data."""

import signal

from harness.faults.broker_fault import BrokerFault, await_noticed
from harness.faults.fault import Evidence, Field


class Kill(BrokerFault):
    """SIGKILL to the target's broker process."""

    verb = "kill"

    def strike_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when the process died of the signal and the others noticed."""
        status = field.kafka.kill_server(broker)
        noticed = await_noticed(field, broker)
        return Evidence(
            landed=status == -signal.SIGKILL,
            facts={"broker": broker, "exit_status": status, **noticed},
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Start the broker again."""
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker)

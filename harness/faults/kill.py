"""Kill a broker with SIGKILL; healed by starting it again on its own data."""

import signal

from harness.faults.broker_fault import BrokerFault, await_fenced
from harness.faults.fault import Evidence, Field


class Kill(BrokerFault):
    """SIGKILL to the target's broker process."""

    verb = "kill"

    def strike_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when the process died of the signal and every other broker counts it as gone."""
        status = field.kafka.kill_server(broker)
        others = await_fenced(field, broker)
        return Evidence(
            landed=status == -signal.SIGKILL,
            facts={"broker": broker, "exit_status": status, "fenced_in_eyes_of": others},
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Start the broker again."""
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker)

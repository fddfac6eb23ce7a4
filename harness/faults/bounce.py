"""Restart a broker: a controlled shutdown, and at once a start on its own data."""

from harness.faults.broker_fault import BrokerFault
from harness.faults.fault import Evidence, Field


class Bounce(BrokerFault):
    """What a configuration change or an upgrade does to one broker."""

    verb = "bounce"

    def strike_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when another process serves, and every broker counts the bounced one in again."""
        before = field.kafka.process(broker).pid
        status = field.kafka.stop_server(broker)
        field.kafka.start_server(broker)
        field.observer.await_brokers(field.kafka.answering_brokers())
        after = field.kafka.process(broker).pid
        return Evidence(
            landed=before != after,
            facts={"broker": broker, "exit_status": status, "pids": [before, after]},
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """It serves already."""

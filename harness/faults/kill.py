"""Kill a broker with SIGKILL; healed by starting it again on its own data."""

import signal

from harness.contract.waiting import wait_until
from harness.faults.fault import Evidence, Fault, Field
from harness.faults.targets import Target

_NOTICED_SECONDS = 30


class Kill(Fault):
    """SIGKILL to the target's broker process."""

    verb = "kill"

    def __init__(self, target: Target) -> None:
        """The target is resolved when the fault strikes."""
        self._target = target
        self._broker: int | None = None

    @property
    def target(self) -> str:
        """The target as it was named, with the broker once it is known."""
        return (
            str(self._target) if self._broker is None else f"{self._target} (broker {self._broker})"
        )

    def strike(self, field: Field) -> Evidence:
        """Landed when the process died of the signal and every other broker counts it as gone."""
        self._broker = self._target.resolve(field.observer)
        status = field.kafka.kill_server(self._broker)
        others = [i for i in field.kafka.topology.broker_ids if field.kafka.is_running(i)]
        unaware = wait_until(
            lambda: self._forgotten_by(field, others),
            what=f"broker {self._broker} to be fenced in the eyes of {others}",
            timeout_seconds=_NOTICED_SECONDS,
        )
        return Evidence(
            landed=status == -signal.SIGKILL and unaware,
            facts={"broker": self._broker, "exit_status": status, "fenced_in_eyes_of": others},
        )

    def heal(self, field: Field) -> None:
        """Start the broker again."""
        if self._broker is not None and not field.kafka.is_running(self._broker):
            field.kafka.start_server(self._broker)

    def _forgotten_by(self, field: Field, others: list[int]) -> bool:
        return all(self._broker not in field.observer.brokers_seen_by(i) for i in others)

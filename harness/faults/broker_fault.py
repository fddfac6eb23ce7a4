"""What faults on one broker share: a target that is resolved late, and who has noticed."""

from abc import abstractmethod
from typing import ClassVar

from harness.contract.errors import FaultError
from harness.contract.waiting import wait_until
from harness.faults.fault import Evidence, Fault, Field
from harness.faults.targets import Target

_NOTICED_SECONDS = 30


class BrokerFault(Fault):
    """A fault on the broker that its target names when it strikes."""

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

    @property
    def broker(self) -> int:
        """The broker that was struck.

        Raises:
            FaultError: none was yet.
        """
        if self._broker is None:
            raise FaultError(f"{self.verb} {self._target} has not struck yet")
        return self._broker

    def strike(self, field: Field) -> Evidence:
        """Resolve the target and strike it."""
        self._broker = self._target.resolve(field.observer)
        return self.strike_broker(field, self._broker)

    @abstractmethod
    def strike_broker(self, field: Field, broker: int) -> Evidence:
        """Strike this broker and return the evidence."""

    def heal(self, field: Field) -> None:
        """Heal the broker that was struck; nothing happens where none was."""
        if self._broker is not None:
            self.heal_broker(field, self._broker)

    @abstractmethod
    def heal_broker(self, field: Field, broker: int) -> None:
        """Undo the strike."""


class EndServer(BrokerFault):
    """The target's server process ends, one way or another; healed by starting it on its data.

    Attributes:
        is_silent: whether the others notice only by a timeout.
    """

    is_silent: ClassVar[bool]

    @abstractmethod
    def end(self, field: Field, broker: int) -> tuple[int, bool]:
        """End the process; returns its exit status, and whether it ended as it should."""

    def strike_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when the process ended as it should and the others noticed."""
        status, is_as_it_should = self.end(field, broker)
        noticed = await_noticed(field, broker)
        return Evidence(
            landed=is_as_it_should,
            facts={"broker": broker, "exit_status": status, **noticed},
            forced_ms=timeouts_of_silence(field, broker) if self.is_silent else {},
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Start the server again."""
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker)


def await_fenced(field: Field, broker: int) -> list[int]:
    """Wait until a broker is fenced in the eyes of all others that answer; returns these.

    A fenced broker is no longer in the Metadata responses of others (KIP-631).

    Raises:
        WaitTimeoutError: some still count it in.
    """
    others = [i for i in field.kafka.answering_brokers() if i != broker]
    wait_until(
        lambda: all(broker not in field.observer.brokers_seen_by(i) for i in others),
        what=f"broker {broker} to be fenced in the eyes of {others}",
        timeout_seconds=_NOTICED_SECONDS,
    )
    return others


def timeouts_of_silence(field: Field, server: int) -> dict[str, int]:
    """What must pass until a server that falls silent is fenced, or succeeded as controller."""
    names = []
    if server in field.kafka.topology.broker_ids:
        names.append("broker.session.timeout.ms")
    if server in field.kafka.topology.controller_ids:
        names.append("controller.quorum.fetch.timeout.ms")
    return field.kafka.settings_ms(*names)


def await_noticed(field: Field, server: int) -> dict[str, object]:
    """Wait until a server's end is noticed: a broker's by fencing, a controller's by a successor.

    Returns facts for the evidence.

    Raises:
        WaitTimeoutError: nobody noticed.
    """
    facts: dict[str, object] = {}
    if server in field.kafka.topology.broker_ids:
        facts["fenced_in_eyes_of"] = await_fenced(field, server)
    if server in field.kafka.topology.controller_ids:
        facts["active_controller"] = wait_until(
            lambda: _other_than(server, field.observer.active_controller()),
            what=f"another active controller than {server}",
            timeout_seconds=_NOTICED_SECONDS,
        )
    return facts


def _other_than(server: int, found: int) -> int | None:
    return found if found != server else None

"""Upgrade a broker: a controlled shutdown, followed by a start of another Kafka on its own data."""

from collections.abc import Callable

from contract.software import ClassPath
from harness.faults.bounce import Bounce
from harness.faults.fault import Evidence, Field
from harness.faults.targets import Target


class Upgrade(Bounce):
    """A restart on another Kafka version, newer or older: one broker after the other."""

    verb = "upgrade"

    def __init__(
        self, target: Target, *, to: ClassPath, api: str, newest: Callable[[int], int]
    ) -> None:
        """The target is resolved just before the fault is injected.

        Args:
            target: the brokers.
            to: the other version.
            api: one whose newest version is another in that Kafka.
            newest: returns its newest version according to a broker's ApiVersions response.
        """
        super().__init__(target)
        self._to = to
        self._api = api
        self._newest = newest
        self._kafka_before: dict[int, str] = {}
        self._newest_before: dict[int, int] = {}

    def prepare(self, field: Field) -> None:
        """Ask each broker for its newest version of the API."""
        super().prepare(field)
        for broker in self.brokers:
            self._kafka_before[broker] = field.kafka.classes(broker).locked
            self._newest_before[broker] = self._newest(broker)

    def inject_broker(self, field: Field, broker: int) -> None:
        """Stop it, and start the other version; the next one follows when it is unfenced."""
        field.kafka.install(broker, self._to)
        super().inject_broker(field, broker)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when it was restarted, and supports another newest version of the API than before.

        The evidence has the newest version that every broker supports by now.
        """
        restart = super().prove_broker(field, broker)
        newest = {other: self._newest(other) for other in field.kafka.answering_brokers()}
        before = self._newest_before[broker]
        return Evidence(
            landed=restart.landed and newest.get(broker, before) != before,
            facts={
                **restart.facts,
                "kafka": [self._kafka_before[broker], self._to.locked],
                "api": self._api,
                "newest_version": [before, newest.get(broker)],
                "newest_versions_now": {str(other): version for other, version in newest.items()},
            },
        )

"""Delete a topic and create another one of the same name; never undone."""

from contract.terms import FaultTarget, TargetKind
from harness.clients.admin import NewTopic
from harness.clients.observer_worker import ObserverRole
from harness.faults.fault import ByHand, Evidence, Fault, Field
from harness.faults.targets import existing_topic

_SEEN_SECONDS = 30


class Recreate(Fault):
    """A topic is replaced by one with the same name, partitions, replicas and settings.

    The new topic begins at offset 0 and leader epoch 0, without records (KIP-516: another topic
    id).
    """

    verb = "recreate"
    on = TargetKind.TOPIC
    by_hand = (ByHand(verb=verb),)
    is_instant = True

    def __init__(self, topic: str) -> None:
        """The topic must exist when the fault is injected."""
        self.target = FaultTarget(target_kind=TargetKind.TOPIC, topic=topic)
        self._topic = topic
        self._ids_before: dict[str, str] = {}
        self._old: NewTopic | None = None

    def prepare(self, field: Field) -> None:
        """Note the topic's ids, replicas and settings."""
        existing_topic(field.observer, self._topic)
        self._old = field.observer.worker.call(ObserverRole.describe_topic(self._topic))
        self._ids_before = self._ids(field)

    def inject(self, field: Field) -> None:
        """Delete the topic, and create another."""
        worker = field.observer.worker
        worker.call(ObserverRole.delete_topic(self._topic))
        field.observer.await_that(
            lambda: not any(self._ids(field).values()),
            what=f"no broker to know {self._topic}",
            timeout_seconds=_SEEN_SECONDS,
            last_seen=lambda: self._ids(field),
        )
        worker.call(ObserverRole.create_topics([self._old] if self._old else []))

    def prove(self, field: Field) -> Evidence:
        """Landed when all responding brokers report the same new id for the name."""
        after = field.observer.await_that(
            lambda: self._ids_if_agreed(field),
            what=f"every broker to know the new {self._topic}",
            timeout_seconds=_SEEN_SECONDS,
            last_seen=lambda: self._ids(field),
        )
        return Evidence(
            landed=not set(self._ids_before.values()) & set(after.values()),
            facts={"topic_id_before": self._ids_before, "topic_id": after},
        )

    def heal(self, field: Field) -> None:
        """Do nothing: a deletion is not undone."""

    def _ids(self, field: Field) -> dict[str, str]:
        """Return the topic's id by broker."""
        return {
            str(broker): field.observer.topic_id_seen_by(broker, self._topic)
            for broker in field.kafka.answering_brokers()
        }

    def _ids_if_agreed(self, field: Field) -> dict[str, str] | None:
        ids = self._ids(field)
        return ids if all(ids.values()) and len(set(ids.values())) == 1 else None

"""The kafka-python producer under test, without transactions."""

from collections.abc import Iterable
from typing import Any, ClassVar

from kafka import KafkaProducer
from kafka.errors import KafkaError

from cluster.kafka.settings import unknown_names
from contract.errors import WorkerError
from contract.software import without_codec
from contract.terms import TransactionStep
from harness.clients.producers import (
    CLOSE_SECONDS,
    NO_OFFSET,
    Answer,
    Opening,
    ProducerClient,
    ProducerSettings,
)


class KafkaPythonProducer(ProducerClient):
    """A `kafka.KafkaProducer`, which sends in a thread of its own."""

    failures = (KafkaError,)
    definite_failures: ClassVar = frozenset(
        {
            "MessageSizeTooLargeError",
            "InvalidTopicError",
            "TopicAuthorizationFailedError",
            "ClusterAuthorizationFailedError",
            "UnsupportedVersionError",
            "InvalidRequiredAcksError",
            "UnknownTopicOrPartitionError",
            "UnknownTopicIdError",
            "NotEnoughReplicasError",
            "CorruptRecordError",
            "InvalidProducerEpochError",
        }
    )
    definite_step_failures: ClassVar = frozenset()

    def __init__(self, opening: Opening) -> None:
        """Open it; its own settings replace those of the harness."""
        self._producer = KafkaProducer(**_settings(opening))
        self._delivery_seconds = 2 * self._producer.config["delivery_timeout_ms"] / 1000
        self.settings = ProducerSettings(
            idempotent=bool(self._producer.config["enable_idempotence"]),
            in_flight_max=int(self._producer.config["max_in_flight_requests_per_connection"]),
        )

    def send(self, topic: str, partition: int, values: Iterable[str]) -> list[Any]:
        """See `ProducerClient`; a result is a future, or the client's immediate error."""
        return [self._attempt(topic, partition, value) for value in values]

    def _attempt(self, topic: str, partition: int, value: str) -> Any:
        try:
            return self._producer.send(topic, value.encode(), partition=partition)
        except KafkaError as error:
            return error

    def is_done(self, sent: Any) -> bool:
        """See `ProducerClient`."""
        return isinstance(sent, KafkaError) or bool(sent.is_done)

    def answer(self, sent: Any) -> Answer:
        """See `ProducerClient`."""
        if isinstance(sent, KafkaError):
            return self.error_of(sent), NO_OFFSET
        try:
            return None, int(sent.get(timeout=self._delivery_seconds).offset)
        except KafkaError as error:
            return self.error_of(error), NO_OFFSET

    def flush(self) -> None:
        """See `ProducerClient`; what has no outcome by then has none."""
        try:
            self._producer.flush(timeout=self._delivery_seconds)
        except KafkaError:
            return

    def close(self) -> None:
        """See `ProducerClient`."""
        self._producer.close(timeout=CLOSE_SECONDS)

    def take(self, step: TransactionStep, *arguments: Any) -> None:
        """Refuse: kafka-python 3.0.12 waits for the end of a transaction without a time limit.

        Raises:
            WorkerError: always.
        """
        raise WorkerError(f"kafka-python can't {step} {arguments or ''}: it has no transactions")

    def error_of(self, failure: BaseException) -> str:
        """See `ProducerClient`."""
        return type(failure).__name__


class _Settled(Exception):  # noqa: N818 - not an error
    """A producer has accepted its settings."""


class _Asked(KafkaProducer):  # type: ignore[misc]
    """A producer that ends once it has compared its settings, before it starts a thread."""

    @classmethod
    def max_usable_produce_magic(cls, _api_version: Any) -> int:
        """Called right after the settings are compared."""
        raise _Settled


class _NoCluster:
    """In the place of a client's connections: a cluster of the newest version."""

    broker_version_data = object()
    broker_version = (4, 0)
    cluster = None

    def __init__(self, **_settings: Any) -> None:
        """Connect to nothing."""
        self._manager = self


def refusal(opening: Opening) -> str:
    """Why kafka-python refuses settings of a producer; empty if it does not."""
    if unknown := unknown_names(opening.settings, KafkaProducer.DEFAULT_CONFIG):
        return "; ".join(unknown.values())
    try:
        _Asked(**_settings(opening), kafka_client=_NoCluster, metrics_enabled=False)
    except _Settled:
        return ""
    except RuntimeError as error:
        codec = str(opening.settings.get("compression_type"))
        return f"{error}: {without_codec('kafka-python', codec)}"
    except Exception as error:  # noqa: BLE001 - it refuses by several classes
        return str(error)
    return ""


def _settings(opening: Opening) -> dict[str, Any]:
    return {
        "bootstrap_servers": opening.bootstrap.split(","),
        "client_id": opening.producer,
        "acks": opening.acks if opening.acks == "all" else int(opening.acks),
        "delivery_timeout_ms": opening.delivery_ms,
        "request_timeout_ms": opening.request_ms,
        "max_block_ms": opening.block_ms,
        "linger_ms": 5,
        **opening.settings,
    }

"""The Java producer under test (`org.apache.kafka.clients.producer.KafkaProducer`)."""

from collections.abc import Iterable
from typing import Any, ClassVar

import jpype

from contract.terms import (
    DEFINITE_SEND_FAILURES,
    DEFINITE_TRANSACTION_FAILURES,
    TransactionStep,
)
from harness.clients.history import HistoryWriter
from harness.clients.producers import (
    CLOSE_SECONDS,
    NO_OFFSET,
    UNREPORTED,
    Answer,
    Opening,
    ProducerClient,
    ProducerSettings,
    TransactionalProducer,
    in_transactions,
)
from harness.java.jvm import exception_name, java_class, java_properties, private_field

_SERIALIZER = "org.apache.kafka.common.serialization.StringSerializer"
_WRAPPERS = frozenset({"ExecutionException", "KafkaException"})


class JavaProducer(ProducerClient):
    """A `KafkaProducer` of strings."""

    failures = (jpype.JException,)
    definite_failures: ClassVar = DEFINITE_SEND_FAILURES
    definite_step_failures: ClassVar = DEFINITE_TRANSACTION_FAILURES

    def __init__(self, opening: Opening) -> None:
        """Open it; its own settings replace those of the harness."""
        self._producer = java_class("org.apache.kafka.clients.producer.KafkaProducer")(
            java_properties(_properties(opening))
        )
        self.settings = settings_of(self._producer)

    def send(self, topic: str, partition: int, values: Iterable[str]) -> list[Any]:
        """See `ProducerClient`; a result is a future, or the client's immediate error."""
        record = java_class("org.apache.kafka.clients.producer.ProducerRecord")
        number = java_class("java.lang.Integer")(partition)
        return [self._attempt(record(topic, number, None, value)) for value in values]

    def _attempt(self, record: Any) -> Any:
        try:
            return self._producer.send(record)
        except jpype.JException as error:
            return error

    def is_done(self, sent: Any) -> bool:
        """See `ProducerClient`."""
        return isinstance(sent, jpype.JException) or bool(sent.isDone())

    def answer(self, sent: Any) -> Answer:
        """See `ProducerClient`."""
        if isinstance(sent, jpype.JException):
            return self.error_of(sent), NO_OFFSET
        try:
            return None, int(sent.get().offset())
        except jpype.JException as error:
            return self.error_of(error), NO_OFFSET

    def flush(self) -> None:
        """See `ProducerClient`."""
        self._producer.flush()

    def close(self) -> None:
        """See `ProducerClient`."""
        self._producer.close(java_class("java.time.Duration").ofSeconds(CLOSE_SECONDS))

    def take(self, step: TransactionStep, *arguments: Any) -> None:
        """See `ProducerClient`."""
        steps = {
            TransactionStep.INITIALIZE: self._producer.initTransactions,
            TransactionStep.BEGIN: self._producer.beginTransaction,
            TransactionStep.SEND_OFFSETS: self._producer.sendOffsetsToTransaction,
            TransactionStep.COMMIT: self._producer.commitTransaction,
            TransactionStep.ABORT: self._producer.abortTransaction,
        }
        steps[step](*arguments)

    def error_of(self, failure: Any) -> str:
        """Return the simple name of an exception, or of the cause of a wrapper."""
        while exception_name(failure) in _WRAPPERS and failure.getCause() is not None:
            failure = failure.getCause()
        return exception_name(failure)

    def id_and_epoch(self) -> tuple[int, int]:
        """Return producer id and epoch from the client's private transaction manager.

        `KafkaProducer` does not expose them.
        """
        try:
            manager = private_field(self._producer, "transactionManager")
            pair = private_field(manager, "producerIdAndEpoch")
        except java_class("java.lang.NoSuchFieldException"):
            return UNREPORTED
        return int(private_field(pair, "producerId")), int(private_field(pair, "epoch"))


def settings_of(producer: Any) -> ProducerSettings:
    """Return the producer's settings, after it has resolved defaults and conflicts.

    Kafka's default of `enable.idempotence` is true, and is disabled if `acks` conflicts with it
    (`ProducerConfig.postProcessAndValidateIdempotenceConfigs`).
    """
    config = private_field(producer, "producerConfig")
    return ProducerSettings(
        idempotent=bool(config.getBoolean("enable.idempotence")),
        in_flight_max=int(config.getInt("max.in.flight.requests.per.connection")),
    )


def transactional(
    producer: str,
    *,
    transactional_id: str,
    timeout_ms: int,
    bootstrap: str,
    history: HistoryWriter,
) -> TransactionalProducer:
    """Open a Java producer with transactions, to be used step by step."""
    opening = Opening(producer=producer, bootstrap=bootstrap, transaction_timeout_ms=timeout_ms)
    return TransactionalProducer(
        in_transactions(opening, transactional_id), open_producer=JavaProducer, history=history
    )


def refusal(opening: Opening) -> str:
    """Why Java's producer refuses settings; empty if it does not."""
    try:
        JavaProducer(opening).close()
    except jpype.JException as error:
        cause = error if error.getCause() is None else error.getCause()
        return str(cause.getMessage())
    return ""


def _properties(opening: Opening) -> dict[str, str]:
    transactions = {
        "transactional.id": opening.transactional_id,
        "transaction.timeout.ms": str(opening.transaction_timeout_ms),
    }
    return {
        "bootstrap.servers": opening.bootstrap,
        "client.id": opening.producer,
        "linger.ms": "5",
        "key.serializer": _SERIALIZER,
        "value.serializer": _SERIALIZER,
        "acks": opening.acks,
        "delivery.timeout.ms": str(opening.delivery_ms),
        "request.timeout.ms": str(opening.request_ms),
        "max.block.ms": str(opening.block_ms),
        **(transactions if opening.transactional_id else {}),
        **{name: str(value) for name, value in opening.settings.items()},
    }

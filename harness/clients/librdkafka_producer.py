"""The librdkafka producer under test, through confluent-kafka."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from contract.terms import TransactionStep
from harness.clients.producers import (
    NO_OFFSET,
    Answer,
    Opening,
    ProducerClient,
    ProducerSettings,
)

_POLL_SECONDS = 0.1
_QUEUE_FULL = "_QUEUE_FULL"
_IN_FLIGHT = ("max.in.flight", "max.in.flight.requests.per.connection")
_IN_FLIGHT_MAX, _IDEMPOTENT_IN_FLIGHT_MAX = 1_000_000, 5
_REFUSED = frozenset(
    {
        _QUEUE_FULL,
        "MSG_SIZE_TOO_LARGE",
        "TOPIC_EXCEPTION",
        "TOPIC_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "UNSUPPORTED_VERSION",
        "INVALID_REQUIRED_ACKS",
        "INVALID_TXN_STATE",
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_EPOCH",
        "_FENCED",
    }
)


class _Delivery:
    """A message, until its delivery report is there."""

    answer: Answer | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        """Called by librdkafka in a poll."""
        offset = message.offset()
        acknowledged = (None, NO_OFFSET if offset is None or offset < 0 else offset)
        self.answer = acknowledged if error is None else (error.name(), NO_OFFSET)


class LibrdkafkaProducer(ProducerClient):
    """A `confluent_kafka.Producer`.

    Its transactions have no timeout of their own: a step that takes longer than the harness lets it
    ends with `_TIMED_OUT`, and is unknown.
    """

    failures = (KafkaException,)
    definite_failures: ClassVar = _REFUSED | {
        "UNKNOWN_TOPIC_OR_PART",
        "UNKNOWN_TOPIC_ID",
        "NOT_ENOUGH_REPLICAS",
        "INVALID_MSG",
    }
    definite_step_failures: ClassVar = _REFUSED | {
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "TRANSACTION_ABORTABLE",
        "INVALID_PRODUCER_ID_MAPPING",
    }

    def __init__(self, opening: Opening) -> None:
        """Open it; its own settings replace those of the harness."""
        self._step_seconds = opening.block_ms / 1000
        self._producer = Producer(_settings(opening))
        given = opening.settings
        is_idempotent = bool(opening.transactional_id) or _is_true(
            given.get("enable.idempotence", False)
        )
        most = _IDEMPOTENT_IN_FLIGHT_MAX if is_idempotent else _IN_FLIGHT_MAX
        in_flight = next((given[name] for name in _IN_FLIGHT if name in given), most)
        self.settings = ProducerSettings(idempotent=is_idempotent, in_flight_max=int(in_flight))

    def send(self, topic: str, partition: int, values: Iterable[str]) -> list[_Delivery]:
        """See `ProducerClient`."""
        return [self._attempt(topic, partition, value) for value in values]

    def _attempt(self, topic: str, partition: int, value: str) -> _Delivery:
        delivery = _Delivery()
        try:
            self._producer.produce(topic, value.encode(), partition=partition, on_delivery=delivery)
        except BufferError:
            delivery.answer = (_QUEUE_FULL, NO_OFFSET)
        except KafkaException as error:
            delivery.answer = (self.error_of(error), NO_OFFSET)
        return delivery

    def is_done(self, sent: _Delivery) -> bool:
        """See `ProducerClient`."""
        return sent.answer is not None

    def answer(self, sent: _Delivery) -> Answer:
        """See `ProducerClient`."""
        while sent.answer is None:
            self._producer.poll(_POLL_SECONDS)
        return sent.answer

    def flush(self) -> None:
        """See `ProducerClient`."""
        self._producer.flush()

    def close(self) -> None:
        """See `ProducerClient`."""
        self._producer.close()

    def serve(self) -> None:
        """See `ProducerClient`."""
        self._producer.poll(0)

    def take(self, step: TransactionStep, *arguments: Any) -> None:
        """See `ProducerClient`."""
        if step is TransactionStep.BEGIN:
            self._producer.begin_transaction()
            return
        steps: dict[TransactionStep, Callable[..., object]] = {
            TransactionStep.INITIALIZE: self._producer.init_transactions,
            TransactionStep.SEND_OFFSETS: self._producer.send_offsets_to_transaction,
            TransactionStep.COMMIT: self._producer.commit_transaction,
            TransactionStep.ABORT: self._producer.abort_transaction,
        }
        steps[step](*arguments, self._step_seconds)

    def error_of(self, failure: BaseException) -> str:
        """See `ProducerClient`."""
        cause: KafkaError = failure.args[0]
        return cause.name()


def refusal(opening: Opening) -> str:
    """Why librdkafka refuses settings of a producer; empty if it does not."""
    try:
        LibrdkafkaProducer(opening)
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        return cause.str().strip()
    return ""


def _settings(opening: Opening) -> dict[str, Any]:
    transactions = {
        "transactional.id": opening.transactional_id,
        "transaction.timeout.ms": opening.transaction_timeout_ms,
    }
    return {
        "bootstrap.servers": opening.bootstrap,
        "client.id": opening.producer,
        "acks": opening.acks,
        "message.timeout.ms": opening.delivery_ms,
        "request.timeout.ms": opening.request_ms,
        **(transactions if opening.transactional_id else {}),
        **opening.settings,
    }


def _is_true(value: str | int) -> bool:
    return str(value).lower() in ("true", "1", "t")

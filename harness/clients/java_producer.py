"""The Java producer under test (`org.apache.kafka.clients.producer.KafkaProducer`)."""

from typing import Any

import jpype

from harness.clients.commands import Produce
from harness.clients.history import HistoryWriter
from harness.clients.jvm import exception_name, java_class, java_properties
from harness.contract.events import SendsIntended, Sent
from harness.contract.outcomes import Outcome, send_outcome
from harness.contract.values import make_value

_NO_OFFSET = -1
_DELIVERY_TIMEOUT_MS = 30_000
_CHUNK = 1000


def produce(command: Produce, *, bootstrap: str, history: HistoryWriter) -> dict[str, int]:
    """Send what is commanded and record each outcome; answers the count of each outcome."""
    producer = open_producer(
        command.producer,
        bootstrap=bootstrap,
        settings={
            "acks": command.acks,
            "delivery.timeout.ms": str(_DELIVERY_TIMEOUT_MS),
            "request.timeout.ms": "10000",
        },
    )
    counts = dict.fromkeys(Outcome, 0)
    try:
        end = command.sequence_first + command.count
        for first in range(command.sequence_first, end, _CHUNK):
            sequences = range(first, min(first + _CHUNK, end))
            for outcome, count in _send(producer, command, sequences, history).items():
                counts[outcome] += count
    finally:
        producer.close()
    return {str(outcome): count for outcome, count in counts.items()}


def open_producer(name: str, *, bootstrap: str, settings: dict[str, str]) -> Any:
    """A `KafkaProducer` of strings."""
    serializer = "org.apache.kafka.common.serialization.StringSerializer"
    return java_class("org.apache.kafka.clients.producer.KafkaProducer")(
        java_properties(
            {
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "linger.ms": "5",
                "key.serializer": serializer,
                "value.serializer": serializer,
                **settings,
            }
        )
    )


def _send(
    producer: Any, command: Produce, sequences: range, history: HistoryWriter
) -> dict[Outcome, int]:
    history.write(
        SendsIntended,
        producer=command.producer,
        topic=command.topic,
        partition=command.partition,
        acks=command.acks,
        sequence_first=sequences[0],
        sequence_last=sequences[-1],
    )
    record_class = java_class("org.apache.kafka.clients.producer.ProducerRecord")
    partition = java_class("java.lang.Integer")(command.partition)
    futures = [
        producer.send(
            record_class(command.topic, partition, None, make_value(command.producer, sequence))
        )
        for sequence in sequences
    ]
    producer.flush()
    answers: dict[str | None, tuple[list[int], list[int]]] = {}
    for sequence, future in zip(sequences, futures, strict=True):
        error, offset = answer_of(future)
        sequences_of, offsets_of = answers.setdefault(error, ([], []))
        sequences_of.append(sequence)
        offsets_of.append(offset)
    counts: dict[Outcome, int] = {}
    for error, (sequences_of, offsets_of) in answers.items():
        outcome = send_outcome(error)
        counts[outcome] = counts.get(outcome, 0) + len(sequences_of)
        history.write(
            Sent,
            producer=command.producer,
            topic=command.topic,
            partition=command.partition,
            acks=command.acks,
            outcome=outcome,
            sequences=sequences_of,
            offsets=offsets_of,
            error=error,
        )
    return counts


def answer_of(future: Any) -> tuple[str | None, int]:
    """A send's error (the simple name of its exception, None: acknowledged) and its offset."""
    try:
        return None, int(future.get().offset())
    except jpype.JException as error:
        cause = error.getCause() if error.getCause() is not None else error
        return exception_name(cause), _NO_OFFSET

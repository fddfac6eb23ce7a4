"""The Java producer under test (`org.apache.kafka.clients.producer.KafkaProducer`)."""

from typing import Any

from contract.outcomes import Outcome
from harness.clients.commands import Produce
from harness.clients.history import HistoryWriter
from harness.clients.java_sends import ProducerSettings, Sends, answer_of
from harness.java.jvm import java_class, java_properties, private_field

_DELIVERY_TIMEOUT_MS = 30_000
_CHUNK = 1000


def produce(command: Produce, *, bootstrap: str, history: HistoryWriter) -> dict[str, int]:
    """Send a command's values and record each outcome; returns the count of each outcome."""
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
    """Open a `KafkaProducer` of strings."""
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


def _send(
    producer: Any, command: Produce, sequences: range, history: HistoryWriter
) -> dict[Outcome, int]:
    sends = Sends(
        producer=command.producer,
        topic=command.topic,
        partition=command.partition,
        acks=command.acks,
        sequences=sequences,
        settings=settings_of(producer),
    )
    sends.intend(history)
    futures = [producer.send(record) for record in sends.records()]
    producer.flush()
    return sends.record_outcomes(futures, history, answer=answer_of)

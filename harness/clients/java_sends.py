"""Sends of a Java producer: they are recorded as intended, then with their outcomes."""

from collections.abc import Callable, Iterable
from typing import Any

import jpype
import msgspec

from contract.events import INTENDED_MAX, SendsIntended, Sent
from contract.outcomes import Outcome, send_outcome
from contract.values import make_value
from harness.clients.history import HistoryWriter
from harness.java.jvm import exception_name, java_class

NO_OFFSET = -1

Answer = tuple[str | None, int]
"""A send's error (the simple name of its exception, None: acknowledged) and its offset."""


class ProducerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective `enable.idempotence` and `max.in.flight.requests.per.connection`."""

    idempotent: bool
    in_flight_max: int


class Sends(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive values of one producer to one partition, in one transaction or none."""

    producer: str
    topic: str
    partition: int
    acks: str
    sequences: range
    settings: ProducerSettings
    transaction: int | None = None

    def intend(self, history: HistoryWriter) -> None:
        """Record that they are about to be sent."""
        for begin in range(0, len(self.sequences), INTENDED_MAX):
            part = self.sequences[begin : begin + INTENDED_MAX]
            history.write(
                SendsIntended,
                producer=self.producer,
                topic=self.topic,
                partition=self.partition,
                acks=self.acks,
                sequence_first=part[0],
                sequence_last=part[-1],
                transaction=self.transaction,
                **msgspec.structs.asdict(self.settings),
            )

    def records(self) -> list[Any]:
        """Return their `ProducerRecord`s."""
        record = java_class("org.apache.kafka.clients.producer.ProducerRecord")
        partition = java_class("java.lang.Integer")(self.partition)
        return [
            record(self.topic, partition, None, make_value(self.producer, sequence))
            for sequence in self.sequences
        ]

    def record_outcomes(
        self, sent: Iterable[Any], history: HistoryWriter, *, answer: Callable[[Any], Answer]
    ) -> dict[Outcome, int]:
        """Record the outcome of each; returns the count of each outcome.

        Args:
            sent: arguments of `answer`, one per value in their order.
            history: the history to write to.
            answer: returns the error and offset of a send; waits for them if needed.
        """
        by_error: dict[str | None, tuple[list[int], list[int]]] = {}
        for sequence, one in zip(self.sequences, sent, strict=True):
            error, offset = answer(one)
            sequences, offsets = by_error.setdefault(error, ([], []))
            sequences.append(sequence)
            offsets.append(offset)
        counts: dict[Outcome, int] = {}
        for error, (sequences, offsets) in by_error.items():
            outcome = send_outcome(error)
            counts[outcome] = counts.get(outcome, 0) + len(sequences)
            history.write(
                Sent,
                producer=self.producer,
                topic=self.topic,
                partition=self.partition,
                acks=self.acks,
                outcome=outcome,
                sequences=sequences,
                offsets=offsets,
                error=error,
                transaction=self.transaction,
            )
        return counts


def answer_of(future: Any) -> Answer:
    """Return the error and offset of a send's future; waits until it is done."""
    try:
        return None, int(future.get().offset())
    except jpype.JException as error:
        cause = error.getCause() if error.getCause() is not None else error
        return exception_name(cause), NO_OFFSET

"""The Java producers under test (`org.apache.kafka.clients.producer.KafkaProducer`).

Sends are recorded as intended, then with their outcomes.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import jpype
import msgspec

from contract.events import INTENDED_MAX, SendsIntended, Sent, TransactionChanged
from contract.outcomes import (
    Outcome,
    TransactionChange,
    TransactionStep,
    is_fencing,
    send_outcome,
    transaction_outcome,
)
from contract.values import make_value
from harness.clients.history import HistoryWriter
from harness.java.jvm import exception_name, java_class, java_properties, private_field

_DELIVERY_TIMEOUT_MS, _STEADY_DELIVERY_TIMEOUT_MS = 30_000, 20_000
_REQUEST_TIMEOUT_MS = 10_000
_CHUNK = 1000
_TICK_SECONDS = 0.01
_LATE_SECONDS = 1.0
_NO_OFFSET = -1
_IN_TRANSACTION = {
    "max.block.ms": "30000",
    "delivery.timeout.ms": "20000",
    "request.timeout.ms": "5000",
}
_CLOSE_SECONDS = 5
_UNREPORTED = (-1, -1)
_WRAPPERS = frozenset({"ExecutionException", "KafkaException"})
_DONE = {
    TransactionStep.INITIALIZE: TransactionChange.INITIALIZED,
    TransactionStep.BEGIN: TransactionChange.BEGUN,
    TransactionStep.SEND_OFFSETS: TransactionChange.OFFSETS_SENT,
    TransactionStep.COMMIT: TransactionChange.COMMITTED,
    TransactionStep.ABORT: TransactionChange.ABORTED,
}

Counts = dict[int, dict[Outcome, int]]
"""The number of a producer's values by partition, then by outcome."""

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
        return exception_name(cause), _NO_OFFSET


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a step of a transaction; `error` is the simple name of the exception."""

    change: TransactionChange
    outcome: Outcome
    error: str | None


def produce(
    name: str,
    topic: str,
    partition: int,
    *,
    acks: str,
    sequences: range,
    bootstrap: str,
    history: HistoryWriter,
) -> dict[Outcome, int]:
    """Send values with a new producer and record each outcome; returns the count of each."""
    producer = open_producer(
        name,
        bootstrap=bootstrap,
        settings={
            "acks": acks,
            "delivery.timeout.ms": str(_DELIVERY_TIMEOUT_MS),
            "request.timeout.ms": str(_REQUEST_TIMEOUT_MS),
        },
    )
    counts = dict.fromkeys(Outcome, 0)
    try:
        settings = settings_of(producer)
        for first in range(0, len(sequences), _CHUNK):
            sends = Sends(
                producer=name,
                topic=topic,
                partition=partition,
                acks=acks,
                sequences=sequences[first : first + _CHUNK],
                settings=settings,
            )
            sends.intend(history)
            futures = [producer.send(record) for record in sends.records()]
            producer.flush()
            for outcome, count in sends.record_outcomes(futures, history, answer=answer_of).items():
                counts[outcome] += count
    finally:
        producer.close()
    return counts


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


@dataclass(frozen=True)
class _Batch:
    """The sends of one tick to one partition."""

    sends: Sends
    futures: list[Any]

    def is_done(self) -> bool:
        return all(future.isDone() for future in self.futures)


class SteadyProducer:
    """One `KafkaProducer` and its thread.

    Outcomes are polled once a tick, so an acknowledgement is recorded about ten milliseconds after
    its arrival at most. A producer that can't keep up skips ticks, and does not catch up by bursts.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        partitions: Sequence[int],
        *,
        acks: str,
        records_per_second: int,
        bootstrap: str,
        history: HistoryWriter,
    ) -> None:
        """Open the producer and begin to send to each partition in turn."""
        self._name, self._topic, self._partitions = name, topic, partitions
        self._acks, self._rate = acks, records_per_second
        self._history = history
        self._counts = {partition: Counter[Outcome]() for partition in partitions}
        self._waiting: dict[int, deque[_Batch]] = {p: deque() for p in partitions}
        self._next_sequence = 0
        self._producer = open_producer(
            name,
            bootstrap=bootstrap,
            settings={
                "acks": acks,
                "delivery.timeout.ms": str(_STEADY_DELIVERY_TIMEOUT_MS),
                "request.timeout.ms": str(_REQUEST_TIMEOUT_MS),
                "max.block.ms": str(_REQUEST_TIMEOUT_MS),
            },
        )
        self._settings = settings_of(self._producer)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def counts(self) -> Counts:
        """Return the number of values with each outcome so far, by partition."""
        return {partition: dict(counts) for partition, counts in self._counts.items()}

    def stop(self) -> Counts:
        """Stop sending, wait for every outcome and close the producer."""
        self._stop.set()
        self._thread.join()
        self._producer.flush()
        self._reap(lambda _: True)
        self._producer.close()
        return self.counts()

    def _run(self) -> None:
        partitions = cycle(self._partitions)
        began, due = time.monotonic(), 0.0
        while not self._stop.wait(max(0.0, began + _TICK_SECONDS - time.monotonic())):
            lag = time.monotonic() - began - _TICK_SECONDS
            began = began + _TICK_SECONDS if lag < _LATE_SECONDS else time.monotonic()
            due += self._rate * _TICK_SECONDS
            if due >= 1:
                self._send(next(partitions), int(due))
                due -= int(due)
            self._reap(_Batch.is_done)

    def _send(self, partition: int, count: int) -> None:
        sends = Sends(
            producer=self._name,
            topic=self._topic,
            partition=partition,
            acks=self._acks,
            sequences=range(self._next_sequence, self._next_sequence + count),
            settings=self._settings,
        )
        self._next_sequence += count
        sends.intend(self._history)
        futures = [self._producer.send(record) for record in sends.records()]
        self._waiting[partition].append(_Batch(sends, futures))

    def _reap(self, is_ready: Callable[[_Batch], bool]) -> None:
        """Record the outcomes of completed batches, in order within each partition."""
        for partition, waiting in self._waiting.items():
            while waiting and is_ready(waiting[0]):
                batch = waiting.popleft()
                self._counts[partition].update(
                    batch.sends.record_outcomes(batch.futures, self._history, answer=answer_of)
                )


class TransactionalProducer:
    """One `KafkaProducer` with a transactional.id, step by step: a scenario can stop anywhere.

    Its values are numbered across transactions. An error does not stop it: like a zombie it
    continues with its next step. Each outcome is written to the history.
    """

    def __init__(
        self,
        name: str,
        *,
        transactional_id: str,
        timeout_ms: int,
        bootstrap: str,
        history: HistoryWriter,
    ) -> None:
        """Open the producer; it sends no request before `initialize`."""
        self._name = name
        self._transactional_id = transactional_id
        self._history = history
        self._transaction: int | None = None
        self._next_sequence = 0
        self._producer = open_producer(
            name,
            bootstrap=bootstrap,
            settings={
                "transactional.id": transactional_id,
                "transaction.timeout.ms": str(timeout_ms),
                **_IN_TRANSACTION,
            },
        )
        self._settings = settings_of(self._producer)

    def initialize(self) -> StepAnswer:
        """Initialize the transactional.id: the coordinator raises its producer epoch."""
        return self._step(TransactionStep.INITIALIZE, self._producer.initTransactions)

    def begin(self) -> StepAnswer:
        """Begin a transaction; brokers see it with its first send."""
        self._transaction = 0 if self._transaction is None else self._transaction + 1
        return self._step(TransactionStep.BEGIN, self._producer.beginTransaction)

    def end(self, *, is_commit: bool) -> StepAnswer:
        """Commit or abort."""
        if is_commit:
            return self._step(TransactionStep.COMMIT, self._producer.commitTransaction)
        return self._step(TransactionStep.ABORT, self._producer.abortTransaction)

    def send(self, topic: str, partitions: Iterable[int], count: int) -> dict[Outcome, int]:
        """Send values to each partition and wait for their outcomes; returns the count of each."""
        intended = [self._intend(topic, partition, count) for partition in partitions]
        attempts = [
            [_attempt(self._producer, record) for record in sends.records()] for sends in intended
        ]
        counts = dict.fromkeys(Outcome, 0)
        for sends, attempted in zip(intended, attempts, strict=True):
            outcomes = sends.record_outcomes(attempted, self._history, answer=_answer)
            for outcome, number in outcomes.items():
                counts[outcome] += number
        return counts

    def send_offsets(self, positions: Any, group: Any) -> StepAnswer:
        """Send offsets, as a Java map by partition, and the metadata of the group."""
        return self._step(
            TransactionStep.SEND_OFFSETS,
            lambda: self._producer.sendOffsetsToTransaction(positions, group),
        )

    def close(self) -> None:
        """Close the producer; it tries to abort an open transaction."""
        try:
            self._producer.close(java_class("java.time.Duration").ofSeconds(_CLOSE_SECONDS))
        except jpype.JException as error:
            if not is_fencing(_cause(error)):
                raise

    def _step(self, step: TransactionStep, act: Callable[[], Any]) -> StepAnswer:
        began_micros = time.time_ns() // 1000
        error: str | None = None
        try:
            act()
        except jpype.JException as failure:
            error = _cause(failure)
        producer_id, producer_epoch = _producer_id_and_epoch(self._producer)
        refused = TransactionChange.FENCED if is_fencing(error) else TransactionChange.FAILED
        answer = StepAnswer(
            change=_DONE[step] if error is None else refused,
            outcome=transaction_outcome(error),
            error=error,
        )
        self._history.write(
            TransactionChanged,
            producer=self._name,
            transactional_id=self._transactional_id,
            step=step,
            transaction=self._transaction,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            began_micros=began_micros,
            **msgspec.structs.asdict(answer),
        )
        return answer

    def _intend(self, topic: str, partition: int, count: int) -> Sends:
        sends = Sends(
            producer=self._name,
            topic=topic,
            partition=partition,
            acks="all",
            sequences=range(self._next_sequence, self._next_sequence + count),
            settings=self._settings,
            transaction=self._transaction,
        )
        self._next_sequence += count
        sends.intend(self._history)
        return sends


def _attempt(producer: Any, record: Any) -> Any:
    """Return a send's future, or the client's immediate error."""
    try:
        return producer.send(record)
    except jpype.JException as error:
        return error


def _answer(attempt: Any) -> Answer:
    """Return an attempt's error (None: acknowledged) and its offset."""
    if isinstance(attempt, jpype.JException):
        return _cause(attempt), _NO_OFFSET
    try:
        return None, int(attempt.get().offset())
    except jpype.JException as error:
        return _cause(error), _NO_OFFSET


def _cause(error: Any) -> str:
    """Return the simple name of an exception, or of the cause of a wrapper."""
    while exception_name(error) in _WRAPPERS and error.getCause() is not None:
        error = error.getCause()
    return exception_name(error)


def _producer_id_and_epoch(producer: Any) -> tuple[int, int]:
    """Return producer id and epoch from the client's private transaction manager; -1 without one.

    `KafkaProducer` does not expose them.
    """
    try:
        manager = private_field(producer, "transactionManager")
        pair = private_field(manager, "producerIdAndEpoch")
    except java_class("java.lang.NoSuchFieldException"):
        return _UNREPORTED
    return int(private_field(pair, "producerId")), int(private_field(pair, "epoch"))

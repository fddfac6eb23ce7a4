"""The producers under test: what is common to all clients, and the abstract rest.

Sends are recorded as intended, then with their outcomes.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from typing import Any, ClassVar

import msgspec

from contract.events import INTENDED_MAX, SendsIntended, Sent, TransactionChanged, make_value
from contract.run_folder import ProducerPlan, TransactionPlan
from contract.software import DELIVERY_MS, PRODUCER_REQUEST_MS, Client
from contract.terms import (
    Outcome,
    TransactionChange,
    TransactionStep,
    is_fencing,
    send_outcome,
    transaction_outcome,
)
from harness.clients.history import HistoryWriter

NO_OFFSET = -1
UNREPORTED = (-1, -1)
CLOSE_SECONDS = 5
_CHUNK = 1000
_TICK_SECONDS = 0.01
_LATE_SECONDS = 1.0
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
"""A send's error (the client's name of it, None: acknowledged) and its offset."""


class ProducerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective `enable.idempotence` and `max.in.flight.requests.per.connection`."""

    idempotent: bool
    in_flight_max: int


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A producer to open; the times are defaults of the harness, which `settings` replace.

    settings: further ones, by the client's own names.
    delivery_ms, request_ms: until a value, and a request, without a response ends with an error.
    block_ms: how long a call may wait for the cluster.
    transactional_id: `transactional.id`; empty: it has no transactions.
    transaction_timeout_ms: after this time the coordinator aborts an open transaction.
    """

    producer: str
    bootstrap: str = ""
    client: str = Client.JAVA
    acks: str = "all"
    settings: dict[str, str | int] = {}
    delivery_ms: int = DELIVERY_MS
    request_ms: int = PRODUCER_REQUEST_MS
    block_ms: int = 10_000
    transactional_id: str = ""
    transaction_timeout_ms: int = 60_000


class ProducerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Asks a client whether it takes a producer's settings; `jars` are those of a Java client."""

    opening: Opening
    jars: list[str] = []


ASK_PRODUCER = "producer"
"""The argument of a worker's program with which it says why its client refuses a producer."""


def opening_of(plan: ProducerPlan, bootstrap: str) -> Opening:
    """Return the opening of a planned producer."""
    opening = Opening(
        producer=plan.producer,
        bootstrap=bootstrap,
        client=plan.client,
        acks=plan.acks,
        settings=plan.settings,
    )
    return opening if plan.transactions is None else in_transactions(opening, plan.producer)


def in_transactions(opening: Opening, transactional_id: str) -> Opening:
    """Return the same with transactions."""
    return msgspec.structs.replace(
        opening, transactional_id=transactional_id, request_ms=5_000, block_ms=30_000
    )


class ProducerClient(ABC):
    """A producer of one client; not to be used by two threads at a time.

    Attributes:
        failures: the exceptions that its calls raise.
        definite_failures: the client's names for errors of a send that surely did not happen; one
            with any other error is unknown.
        definite_step_failures: the same, of a step of a transaction.
        settings: the effective ones.
    """

    failures: ClassVar[tuple[type[BaseException], ...]]
    definite_failures: ClassVar[frozenset[str]]
    definite_step_failures: ClassVar[frozenset[str]]
    settings: ProducerSettings

    @abstractmethod
    def send(self, topic: str, partition: int, values: Iterable[str]) -> list[Any]:
        """Send values; returns for each what `is_done` and `answer` take.

        An immediate error of the client is such a result, too.
        """

    @abstractmethod
    def is_done(self, sent: Any) -> bool:
        """Whether a send has an outcome."""

    @abstractmethod
    def answer(self, sent: Any) -> Answer:
        """Wait until a send has an outcome, and return its error and offset."""

    @abstractmethod
    def flush(self) -> None:
        """Send what is buffered, and wait for its outcomes."""

    @abstractmethod
    def close(self) -> None:
        """Close the producer; it may try to abort an open transaction."""

    @abstractmethod
    def take(self, step: TransactionStep, *arguments: Any) -> None:
        """Carry out a step of a transaction.

        Raises:
            one of `failures`: as the client raised it.
        """

    @abstractmethod
    def error_of(self, failure: BaseException) -> str:
        """Return the client's name of one of `failures`."""

    def serve(self) -> None:  # noqa: B027 - most clients call back from threads of their own
        """Let the client report outcomes."""

    def id_and_epoch(self) -> tuple[int, int]:
        """Return the producer id and epoch; UNREPORTED where the client does not expose them."""
        return UNREPORTED


OpenProducer = Callable[[Opening], ProducerClient]


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

    def send(self, client: ProducerClient) -> list[Any]:
        """Send them; returns what the client returns for each."""
        values = (make_value(self.producer, sequence) for sequence in self.sequences)
        return client.send(self.topic, self.partition, values)

    def record_outcomes(
        self, sent: Iterable[Any], history: HistoryWriter, *, client: ProducerClient
    ) -> dict[Outcome, int]:
        """Record the outcome of each; returns the count of each outcome."""
        by_error: dict[str | None, tuple[list[int], list[int]]] = {}
        for sequence, delivery in zip(self.sequences, sent, strict=True):
            error, offset = client.answer(delivery)
            sequences, offsets = by_error.setdefault(error, ([], []))
            sequences.append(sequence)
            offsets.append(offset)
        counts: dict[Outcome, int] = {}
        for error, (sequences, offsets) in by_error.items():
            outcome = send_outcome(error, client.definite_failures)
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


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a step of a transaction; `error` is the client's name of it."""

    change: TransactionChange
    outcome: Outcome
    error: str | None


def produce(
    client: ProducerClient,
    plan: ProducerPlan,
    partition: int,
    *,
    sequences: range,
    history: HistoryWriter,
) -> dict[Outcome, int]:
    """Send values with a new producer and record each outcome; returns the count of each.

    It closes the producer.
    """
    counts = dict.fromkeys(Outcome, 0)
    try:
        for first in range(0, len(sequences), _CHUNK):
            sends = Sends(
                producer=plan.producer,
                topic=plan.topic,
                partition=partition,
                acks=plan.acks,
                sequences=sequences[first : first + _CHUNK],
                settings=client.settings,
            )
            sends.intend(history)
            sent = sends.send(client)
            client.flush()
            for outcome, count in sends.record_outcomes(sent, history, client=client).items():
                counts[outcome] += count
    finally:
        client.close()
    return counts


class Load(ABC):
    """A producer that sends in a thread of its own, until `stop`."""

    def __init__(
        self,
        plan: ProducerPlan,
        partitions: Sequence[int],
        *,
        records_per_second: int,
        history: HistoryWriter,
    ) -> None:
        """`begin` starts it."""
        self._plan, self._partitions, self._rate = plan, partitions, records_per_second
        self._history = history
        self._counts = {partition: Counter[Outcome]() for partition in partitions}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """Begin to send."""
        self._thread.start()

    def counts(self) -> Counts:
        """Return the number of values with each outcome so far, by partition."""
        return {partition: dict(counts) for partition, counts in self._counts.items()}

    def stop(self) -> Counts:
        """Stop sending, wait for every outcome and close the producer."""
        self._stop.set()
        self._thread.join()
        self._end()
        return self.counts()

    @abstractmethod
    def _run(self) -> None:
        """Send until `_stop` is set."""

    @abstractmethod
    def _end(self) -> None:
        """Wait for every outcome, and close the producer."""


@dataclass(frozen=True)
class _Batch:
    """The sends of one tick to one partition."""

    sends: Sends
    sent: list[Any]


class SteadyLoad(Load):
    """One producer without transactions.

    Outcomes are polled once a tick, so an acknowledgement is recorded about ten milliseconds after
    its arrival at most. A producer that can't keep up skips ticks, and does not catch up by bursts.
    """

    def __init__(
        self,
        plan: ProducerPlan,
        partitions: Sequence[int],
        *,
        records_per_second: int,
        client: ProducerClient,
        history: HistoryWriter,
    ) -> None:
        """`client` is open; it sends to each partition in turn."""
        super().__init__(plan, partitions, records_per_second=records_per_second, history=history)
        self._waiting: dict[int, deque[_Batch]] = {p: deque() for p in partitions}
        self._next_sequence = 0
        self._client = client

    def _end(self) -> None:
        self._client.flush()
        self._reap(lambda _: True)
        self._client.close()

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
            self._client.serve()
            self._reap(self._is_done)

    def _send(self, partition: int, count: int) -> None:
        sends = Sends(
            producer=self._plan.producer,
            topic=self._plan.topic,
            partition=partition,
            acks=self._plan.acks,
            sequences=range(self._next_sequence, self._next_sequence + count),
            settings=self._client.settings,
        )
        self._next_sequence += count
        sends.intend(self._history)
        self._waiting[partition].append(_Batch(sends, sends.send(self._client)))

    def _is_done(self, batch: _Batch) -> bool:
        return all(map(self._client.is_done, batch.sent))

    def _reap(self, is_ready: Callable[[_Batch], bool]) -> None:
        """Record the outcomes of completed batches, in order within each partition."""
        for partition, waiting in self._waiting.items():
            while waiting and is_ready(waiting[0]):
                batch = waiting.popleft()
                self._counts[partition].update(
                    batch.sends.record_outcomes(batch.sent, self._history, client=self._client)
                )


class TransactionalProducer:
    """One producer with a transactional.id, step by step: a scenario can stop anywhere.

    Its values are numbered across transactions. An error does not stop it: like a zombie it
    continues with its next step. Each outcome is written to the history.
    """

    def __init__(
        self, opening: Opening, *, open_producer: OpenProducer, history: HistoryWriter
    ) -> None:
        """Open the producer; it sends no request before `initialize`."""
        self._opening, self._open = opening, open_producer
        self._history = history
        self._transaction: int | None = None
        self._next_sequence = 0
        self._client = open_producer(opening)

    def open_again(self) -> None:
        """Close the producer and open another one, which goes on with the next numbers."""
        with suppress(*self._client.failures):
            self._client.close()
        self._client = self._open(self._opening)

    def initialize(self) -> StepAnswer:
        """Initialize the transactional.id: the coordinator raises its producer epoch."""
        return self._step(TransactionStep.INITIALIZE)

    def begin(self) -> StepAnswer:
        """Begin a transaction; brokers see it with its first send."""
        self._transaction = 0 if self._transaction is None else self._transaction + 1
        return self._step(TransactionStep.BEGIN)

    def end(self, *, is_commit: bool) -> StepAnswer:
        """Commit or abort."""
        return self._step(TransactionStep.COMMIT if is_commit else TransactionStep.ABORT)

    def send(self, topic: str, partitions: Iterable[int], count: int) -> dict[Outcome, int]:
        """Send values to each partition and wait for their outcomes; returns the count of each."""
        counts = dict.fromkeys(Outcome, 0)
        for outcomes in self.send_each(topic, dict.fromkeys(partitions, count)).values():
            for outcome, number in outcomes.items():
                counts[outcome] += number
        return counts

    def send_each(self, topic: str, numbers: Mapping[int, int]) -> Counts:
        """Send a number of values to each partition and wait for their outcomes."""
        intended = [self._intend(topic, partition, count) for partition, count in numbers.items()]
        attempts = [sends.send(self._client) for sends in intended]
        self._client.flush()
        return {
            sends.partition: sends.record_outcomes(sent, self._history, client=self._client)
            for sends, sent in zip(intended, attempts, strict=True)
        }

    def send_offsets(self, positions: Any, group: Any) -> StepAnswer:
        """Send offsets, as a Java map by partition, and the metadata of the group."""
        return self._step(TransactionStep.SEND_OFFSETS, positions, group)

    def close(self) -> None:
        """Close the producer; it tries to abort an open transaction."""
        try:
            self._client.close()
        except self._client.failures as error:
            if not is_fencing(self._client.error_of(error)):
                raise

    def _step(self, step: TransactionStep, *arguments: Any) -> StepAnswer:
        began_micros = time.time_ns() // 1000
        error: str | None = None
        try:
            self._client.take(step, *arguments)
        except self._client.failures as failure:
            error = self._client.error_of(failure)
        producer_id, producer_epoch = self._client.id_and_epoch()
        refused = TransactionChange.FENCED if is_fencing(error) else TransactionChange.FAILED
        answer = StepAnswer(
            change=_DONE[step] if error is None else refused,
            outcome=transaction_outcome(error, self._client.definite_step_failures),
            error=error,
        )
        self._history.write(
            TransactionChanged,
            producer=self._opening.producer,
            transactional_id=self._opening.transactional_id,
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
            producer=self._opening.producer,
            topic=topic,
            partition=partition,
            acks="all",
            sequences=range(self._next_sequence, self._next_sequence + count),
            settings=self._client.settings,
            transaction=self._transaction,
        )
        self._next_sequence += count
        sends.intend(self._history)
        return sends


class TransactionalLoad(Load):
    """One producer with transactions of a number of values, one after the other.

    After a step that failed it is closed and opened again, as applications are to do after
    an error that can't be aborted (Javadoc of `KafkaProducer`); `initTransactions` then ends the
    open transaction. Values count as acknowledged also where their transaction is aborted.
    """

    def __init__(
        self,
        plan: ProducerPlan,
        partitions: Sequence[int],
        transactions: TransactionPlan,
        *,
        records_per_second: int,
        producer: TransactionalProducer,
        history: HistoryWriter,
    ) -> None:
        """`producer` is open, and not initialized; `transactions` are those of its plan."""
        super().__init__(plan, partitions, records_per_second=records_per_second, history=history)
        self._transactions = transactions
        self._producer = producer
        self._is_ready = False

    def _end(self) -> None:
        if not self._is_ready:
            self._producer.initialize()
        self._producer.close()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            began = time.monotonic()
            if not self._is_ready:
                self._is_ready = _is_done(self._producer.initialize())
            if self._is_ready:
                self._is_ready = self._carry_out(number)
                number += 1
            if not self._is_ready:
                self._producer.open_again()
            due = began + self._transactions.records / max(1, self._rate)
            self._stop.wait(max(_TICK_SECONDS, due - time.monotonic()))

    def _carry_out(self, number: int) -> bool:
        """Carry out one transaction; returns whether each step succeeded."""
        if not _is_done(self._producer.begin()):
            return False
        sent = self._producer.send_each(self._plan.topic, self._share(number))
        for partition, outcomes in sent.items():
            self._counts[partition].update(outcomes)
        is_sent = all(set(outcomes) <= {Outcome.OK} for outcomes in sent.values())
        is_commit = is_sent and not self._transactions.is_aborted(number)
        return _is_done(self._producer.end(is_commit=is_commit))

    def _share(self, number: int) -> Mapping[int, int]:
        """How many values of a transaction each partition gets."""
        first = number * self._transactions.records
        count = len(self._partitions)
        places = range(first, first + self._transactions.records)
        return Counter(self._partitions[place % count] for place in places)


def _is_done(answer: StepAnswer) -> bool:
    return answer.outcome is Outcome.OK

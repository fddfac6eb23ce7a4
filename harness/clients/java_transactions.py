"""The Java producer with a transactional.id, step by step, so that a scenario can stop anywhere.

An error does not stop a producer here: like a zombie it continues with its next step. Each outcome
is written to the history.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

import jpype
import msgspec

from contract.errors import WorkerError
from contract.events import TransactionChanged
from contract.outcomes import (
    Outcome,
    TransactionChange,
    TransactionStep,
    is_fencing,
    transaction_outcome,
)
from harness.clients.commands import (
    BeginTransaction,
    CopyInTransaction,
    EndTransaction,
    OpenTransactional,
    SendInTransaction,
    StepAnswer,
    TransactionCommand,
)
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember
from harness.clients.java_producer import open_producer, settings_of
from harness.clients.java_sends import NO_OFFSET, Answer, Sends
from harness.java.jvm import exception_name, java_class, private_field

_BLOCK_MS = 30_000
_DELIVERY_TIMEOUT_MS = 20_000
_REQUEST_TIMEOUT_MS = 5_000
_CLOSE_SECONDS = 5
_UNTOLD = (-1, -1)
_WRAPPERS = frozenset({"ExecutionException", "KafkaException"})
_DONE = {
    TransactionStep.INITIALIZE: TransactionChange.INITIALIZED,
    TransactionStep.BEGIN: TransactionChange.BEGUN,
    TransactionStep.SEND_OFFSETS: TransactionChange.OFFSETS_SENT,
    TransactionStep.COMMIT: TransactionChange.COMMITTED,
    TransactionStep.ABORT: TransactionChange.ABORTED,
}


class TransactionalProducer:
    """One `KafkaProducer` with a transactional.id; its values are numbered across transactions."""

    def __init__(
        self, command: OpenTransactional, *, bootstrap: str, history: HistoryWriter
    ) -> None:
        """Open the producer; it sends no request before `initialize`."""
        self._name = command.producer
        self._transactional_id = command.transactional_id
        self._history = history
        self._transaction: int | None = None
        self._next_sequence = 0
        self._producer = open_producer(
            command.producer,
            bootstrap=bootstrap,
            settings={
                "transactional.id": command.transactional_id,
                "transaction.timeout.ms": str(command.transaction_timeout_ms),
                "max.block.ms": str(_BLOCK_MS),
                "delivery.timeout.ms": str(_DELIVERY_TIMEOUT_MS),
                "request.timeout.ms": str(_REQUEST_TIMEOUT_MS),
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

    def send(self, topic: str, partitions: Iterable[int], count: int) -> dict[str, int]:
        """Send values to each partition and wait for their outcomes; returns the count of each."""
        intended = [self._intend(topic, partition, count) for partition in partitions]
        attempts = [
            [_attempt(self._producer, record) for record in sends.records()] for sends in intended
        ]
        counts = dict.fromkeys(map(str, Outcome), 0)
        for sends, attempted in zip(intended, attempts, strict=True):
            outcomes = sends.record_outcomes(attempted, self._history, answer=_answer)
            for outcome, number in outcomes.items():
                counts[str(outcome)] += number
        return counts

    def copy(self, command: CopyInTransaction, member: JavaMember) -> StepAnswer:
        """Write a value for each record that the member polls, and send its offsets too.

        Raises:
            WorkerError: the member received too few records.
        """
        taken = member.take(command.records, timeout_seconds=command.timeout_seconds)
        if taken < command.records:
            raise WorkerError(f"{command.member} got {taken} of {command.records} records to copy")
        if taken:
            self.send(command.topic, [command.partition], taken)
        return self.send_offsets(*member.positions_to_commit())

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


class Transactions:
    """The transactional producers of one worker, by name."""

    def __init__(
        self, *, bootstrap: str, history: HistoryWriter, member: Callable[[str], Any]
    ) -> None:
        """`member` returns an open member of a group by its name."""
        self._bootstrap = bootstrap
        self._history = history
        self._member = member
        self._producers: dict[str, TransactionalProducer] = {}

    def carry_out(self, command: TransactionCommand) -> Any:
        """Carry out one step of one producer."""
        match command:
            case OpenTransactional():
                opened = TransactionalProducer(
                    command, bootstrap=self._bootstrap, history=self._history
                )
                self._producers[command.producer] = opened
                return msgspec.to_builtins(opened.initialize())
            case BeginTransaction(producer=name):
                return msgspec.to_builtins(self._producer(name).begin())
            case SendInTransaction(producer=name):
                return self._producer(name).send(command.topic, command.partitions, command.count)
            case CopyInTransaction(producer=name):
                member = self._member(command.member)
                return msgspec.to_builtins(self._producer(name).copy(command, member))
            case EndTransaction(producer=name, is_commit=is_commit):
                return msgspec.to_builtins(self._producer(name).end(is_commit=is_commit))

    def close(self) -> None:
        """Close every producer that is still open."""
        for producer in self._producers.values():
            producer.close()
        self._producers.clear()

    def _producer(self, name: str) -> TransactionalProducer:
        try:
            return self._producers[name]
        except KeyError:
            raise WorkerError(f"no transactional producer {name} was opened here") from None


def _attempt(producer: Any, record: Any) -> Any:
    """Return a send's future, or the client's immediate error."""
    try:
        return producer.send(record)
    except jpype.JException as error:
        return error


def _answer(attempt: Any) -> Answer:
    """Return an attempt's error (None: acknowledged) and its offset."""
    if isinstance(attempt, jpype.JException):
        return _cause(attempt), NO_OFFSET
    try:
        return None, int(attempt.get().offset())
    except jpype.JException as error:
        return _cause(error), NO_OFFSET


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
        return _UNTOLD
    return int(private_field(pair, "producerId")), int(private_field(pair, "epoch"))

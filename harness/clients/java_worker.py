"""The worker with the Java clients: `python -m harness.clients.java_worker PLAN`."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from contract.errors import WorkerError
from contract.software import Client
from contract.terms import Outcome
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember, java_member
from harness.clients.java_producer import JavaProducer, refusal, transactional
from harness.clients.producer_role import ProducerRole
from harness.clients.producers import (
    ASK_PRODUCER,
    ProducerQuestion,
    StepAnswer,
    TransactionalProducer,
)
from harness.clients.worker import WorkerPlan, run_worker
from harness.java.jvm import kafka_version, start_jvm


class JavaRole(ProducerRole):
    """Producers and consumers of the Java client, several at a time in one JVM."""

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Start the JVM."""
        start_jvm(plan.jars, log=Path(plan.log))
        super().__init__(
            plan,
            history,
            client=Client.JAVA,
            client_version=kafka_version(),
            make_member=java_member,
            open_producer=JavaProducer,
        )
        self._transactional: dict[str, TransactionalProducer] = {}

    @command
    def count_received(
        self, members: list[str], *, brokers: list[int]
    ) -> dict[str, dict[int, int]]:
        """Return, by member, the bytes that it received from each broker so far.

        They are those of the connection on which it fetches; its group's coordinator has another
        one.
        """
        return {name: self._java_member(name).bytes_received(brokers) for name in members}

    @command
    def open_transactional(
        self, producer: str, *, transactional_id: str, timeout_ms: int
    ) -> StepAnswer:
        """Open a producer with a transactional.id and initialize it.

        `timeout_ms`: after this time the coordinator aborts an open transaction.
        """
        opened = self._transactional[producer] = transactional(
            producer,
            transactional_id=transactional_id,
            timeout_ms=timeout_ms,
            bootstrap=self._plan.bootstrap,
            history=self._history,
        )
        return opened.initialize()

    @command
    def begin_transaction(self, producer: str) -> StepAnswer:
        """Begin a transaction of an open transactional producer."""
        return self._producer(producer).begin()

    @command
    def send_in_transaction(
        self, producer: str, topic: str, partitions: list[int], *, count: int
    ) -> dict[Outcome, int]:
        """Send `count` values to each partition; returns their number by outcome."""
        return self._producer(producer).send(topic, partitions, count)

    @command
    def copy_in_transaction(
        self,
        producer: str,
        topic: str,
        partition: int,
        *,
        member: str,
        records: int,
        timeout_seconds: float = 30,
    ) -> StepAnswer:
        """Write a value to `partition` for each record that an open member polls.

        It polls until it has at least `records`, and sends the member's positions to the
        transaction. With 0 records it only sends the positions. Returns the outcome of that.

        Raises:
            WorkerError: the member received fewer records in time.
        """
        reader, writer = self._java_member(member), self._producer(producer)
        taken = reader.take(records, timeout_seconds=timeout_seconds)
        if taken < records:
            raise WorkerError(f"{member} got {taken} of {records} records to copy")
        if taken:
            writer.send(topic, [partition], taken)
        return writer.send_offsets(*reader.positions_to_commit())

    @command
    def end_transaction(self, producer: str, *, is_commit: bool) -> StepAnswer:
        """Commit or abort the transaction."""
        return self._producer(producer).end(is_commit=is_commit)

    def close(self) -> None:
        """Close everything that is still open."""
        for producer in self._transactional.values():
            producer.close()
        self._transactional.clear()
        super().close()

    def _java_member(self, name: str) -> JavaMember:
        member = self._member(name)
        if not isinstance(member, JavaMember):
            raise WorkerError(f"{name} is no Java consumer")
        return member

    def _producer(self, name: str) -> TransactionalProducer:
        try:
            return self._transactional[name]
        except KeyError:
            raise WorkerError(f"no transactional producer {name} was opened here") from None


def _answer(asked: str) -> None:
    """Print why the client refuses a producer, as `serve_members` does."""
    question = msgspec.json.decode(asked, type=ProducerQuestion)
    with TemporaryDirectory() as folder:
        start_jvm(question.jars, log=Path(folder) / "client.log")
        print(json.dumps(refusal(question.opening)))


if __name__ == "__main__":
    if sys.argv[1] == ASK_PRODUCER:
        _answer(sys.argv[2])
    else:
        run_worker(JavaRole)

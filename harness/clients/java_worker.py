"""The worker with the Java clients: `python -m harness.clients.java_worker PLAN`."""

from pathlib import Path

from contract.clients import Client
from contract.errors import WorkerError
from contract.outcomes import Outcome
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember, java_member
from harness.clients.java_producers import (
    Counts,
    SteadyProducer,
    StepAnswer,
    TransactionalProducer,
    produce,
)
from harness.clients.member_role import MemberRole
from harness.clients.worker import WorkerPlan, run_worker
from harness.java.jvm import kafka_version, start_jvm


class JavaRole(MemberRole):
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
        )
        self._loads: dict[str, SteadyProducer] = {}
        self._transactional: dict[str, TransactionalProducer] = {}

    @command
    def produce(
        self,
        producer: str,
        topic: str,
        partition: int,
        *,
        acks: str,
        sequence_first: int,
        count: int,
        bootstrap: str | None = None,
    ) -> dict[Outcome, int]:
        """Send `count` values with a new producer and wait until each has an outcome.

        `bootstrap`: `bootstrap.servers`; None: the worker's own. Returns the count of each outcome.
        """
        return produce(
            producer,
            topic,
            partition,
            acks=acks,
            sequences=range(sequence_first, sequence_first + count),
            bootstrap=bootstrap or self._plan.bootstrap,
            history=self._history,
        )

    @command
    def start_producer(
        self,
        producer: str,
        topic: str,
        partitions: list[int],
        *,
        acks: str,
        records_per_second: int,
    ) -> None:
        """Send values at a fixed rate, to each partition in turn, until `stop_producer`.

        `acks`: 0, 1 or all. A value without an outcome within `delivery.timeout.ms` is unknown.
        """
        self._loads[producer] = SteadyProducer(
            producer,
            topic,
            partitions,
            acks=acks,
            records_per_second=records_per_second,
            bootstrap=self._plan.bootstrap,
            history=self._history,
        )

    @command
    def count_produced(self, producer: str) -> Counts:
        """Return the number of a started producer's values so far."""
        return self._load(producer).counts()

    @command
    def stop_producer(self, producer: str) -> Counts:
        """Stop sending, wait for all outcomes, close the producer; returns their numbers."""
        counts = self._load(producer).stop()
        del self._loads[producer]
        return counts

    @command
    def count_received(
        self, members: list[str], *, brokers: list[int]
    ) -> dict[str, dict[int, int]]:
        """Return, by member, the bytes that it received from each broker so far.

        They are those of the connection on which it fetches; its group's coordinator has another
        one.
        """
        return {name: self._java_member(name).received(brokers) for name in members}

    @command
    def open_transactional(
        self, producer: str, *, transactional_id: str, timeout_ms: int
    ) -> StepAnswer:
        """Open a producer with a transactional.id and initialize it.

        `timeout_ms`: after this time the coordinator aborts an open transaction.
        """
        opened = self._transactional[producer] = TransactionalProducer(
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
        for load in self._loads.values():
            load.stop()
        for producer in self._transactional.values():
            producer.close()
        self._transactional.clear()
        super().close()

    def _java_member(self, name: str) -> JavaMember:
        member = self._member(name)
        if not isinstance(member, JavaMember):
            raise WorkerError(f"{name} is no Java consumer")
        return member

    def _load(self, producer: str) -> SteadyProducer:
        try:
            return self._loads[producer]
        except KeyError:
            raise WorkerError(f"no producer {producer} was started here") from None

    def _producer(self, name: str) -> TransactionalProducer:
        try:
            return self._transactional[name]
        except KeyError:
            raise WorkerError(f"no transactional producer {name} was opened here") from None


if __name__ == "__main__":
    run_worker(JavaRole)

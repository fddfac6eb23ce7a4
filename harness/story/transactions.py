"""Transactional producers of a scenario, which the Java worker carries out step by step."""

from collections.abc import Iterable

from contract.errors import WorkerError
from contract.run_folder import TopicPlan
from contract.terms import Outcome
from harness.clients.command import Call
from harness.clients.java_worker import JavaRole
from harness.clients.process import WorkerService
from harness.clients.producers import StepAnswer

_STEP_SECONDS = 90
_TIMEOUT_MS = 60_000


class Transactions:
    """Steps of transactional producers; each call returns after its step.

    Use `require(...)` for a step that must succeed; otherwise use its `StepAnswer`.
    """

    def __init__(self, worker: WorkerService) -> None:
        """`worker` is the one with the Java clients."""
        self._worker = worker

    def open(
        self, producer: str, *, transactional_id: str, timeout_ms: int = _TIMEOUT_MS
    ) -> StepAnswer:
        """Open a producer and initialize it, which fences all others of its transactional.id."""
        return self._step(
            JavaRole.open_transactional(
                producer, transactional_id=transactional_id, timeout_ms=timeout_ms
            )
        )

    def begin(self, producer: str) -> StepAnswer:
        """Begin a transaction."""
        return self._step(JavaRole.begin_transaction(producer))

    def send(
        self,
        producer: str,
        topic: TopicPlan,
        *,
        count: int,
        partitions: Iterable[int] | None = None,
    ) -> dict[Outcome, int]:
        """Send `count` values to each partition, by default all; returns counts by outcome."""
        chosen = range(topic.partitions) if partitions is None else partitions
        return self._worker.call(
            JavaRole.send_in_transaction(producer, topic.topic, list(chosen), count=count),
            timeout_seconds=_STEP_SECONDS,
        )

    def copy(
        self, producer: str, *, member: str, topic: TopicPlan, partition: int, records: int
    ) -> StepAnswer:
        """Write a value for each record that an open member reads, with the member's offsets.

        With 0 records only its offsets are sent.
        """
        return self._step(
            JavaRole.copy_in_transaction(
                producer, topic.topic, partition, member=member, records=records
            )
        )

    def commit(self, producer: str) -> StepAnswer:
        """Commit the transaction."""
        return self._step(JavaRole.end_transaction(producer, is_commit=True))

    def abort(self, producer: str) -> StepAnswer:
        """Abort the transaction."""
        return self._step(JavaRole.end_transaction(producer, is_commit=False))

    def _step(self, step: Call[StepAnswer]) -> StepAnswer:
        return self._worker.call(step, timeout_seconds=_STEP_SECONDS)


def require(*answers: StepAnswer | dict[Outcome, int]) -> None:
    """Check that a step succeeded.

    Raises:
        WorkerError: a step failed, or a value was not acknowledged.
    """
    for answer in answers:
        if isinstance(answer, StepAnswer):
            if answer.outcome is not Outcome.OK:
                raise WorkerError(f"a step of a transaction {answer.change}: {answer.error}")
        elif any(count for outcome, count in answer.items() if outcome is not Outcome.OK):
            raise WorkerError(f"values of a transaction were not acknowledged: {answer}")

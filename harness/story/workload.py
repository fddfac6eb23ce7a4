"""Producers and readers in the background of a scenario."""

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from contract.errors import UsageError, WorkerError
from contract.run_folder import Expectation, GroupPlan, ProducerPlan, TopicPlan, TransactionPlan
from contract.software import Client, Level
from contract.terms import Check, CommitEpoch, Manner, Outcome, ResetPolicy
from contract.waiting import wait_until
from harness.clients.member_role import MemberRole
from harness.clients.observer import Observer
from harness.clients.process import Pending, WorkerService
from harness.clients.producer_role import ProducerRole
from harness.clients.producers import Counts
from harness.story.consumers import Consumers

_COMMIT_INTERVAL_MS = 1000
_DRAIN_SECONDS = 60
_REFUSED_SECONDS = 90


def reader(  # noqa: PLR0913 - what a group may have
    group: str,
    topic: str,
    *,
    client: str = Client.JAVA,
    reset: ResetPolicy = ResetPolicy.EARLIEST,
    members: int = 1,
    manner: str = Manner.SYNC,
    settings: Mapping[str, str | int] | None = None,
    level: str = Level.POSITIONS,
) -> GroupPlan:
    """Return a group that commits the epochs of its records, as its client does by itself.

    `level`: what a guest shows of its client (docs/guests.md).
    """
    return GroupPlan(
        group=group,
        client=client,
        topic=topic,
        commit_epoch=CommitEpoch.RECORD,
        reset=reset,
        members=members,
        manner=manner,
        settings=dict(settings or {}),
        level=level,
    )


def commits_no_epochs(groups: Sequence[str]) -> Expectation:
    """Return what is expected of groups of kafka-python, whose plain commits have no epoch."""
    return Expectation(check=Check.COMMITTED_EPOCH_MISSING, groups=list(groups), is_optional=True)


def writer(
    producer: str,
    topic: str,
    *,
    acks: str = "all",
    client: str = Client.JAVA,
    settings: Mapping[str, str | int] | None = None,
    records_per_second: int | None = None,
    transactions: TransactionPlan | None = None,
) -> ProducerPlan:
    """Return a producer; without a rate of its own it has that of the load."""
    return ProducerPlan(
        producer=producer,
        topic=topic,
        client=client,
        acks=acks,
        records_per_second=records_per_second,
        settings=dict(settings or {}),
        transactions=transactions,
    )


class Numbers:
    """The numbers of values: those of one producer are all different, so that its values are."""

    def __init__(self) -> None:
        """Start without producers."""
        self._next: dict[str, int | None] = {}

    def take(self, producer: str, count: int | None = None) -> int:
        """Return the first of the next `count` numbers of a producer; of all of them without one.

        Raises:
            UsageError: they are taken.
        """
        first = self._next.get(producer, 0)
        if first is None or (count is None and first):
            raise UsageError(
                f"producer {producer} has written before, and numbers its values from 0: two "
                "records would have one value. Give it another name"
            )
        self._next[producer] = None if count is None else first + count
        return first


class Workload:
    """The producers and readers while faults hold."""

    def __init__(
        self, consumers: Consumers, observer: Observer, topics: Sequence[TopicPlan]
    ) -> None:
        """Start without producers and readers; `topics` are those that may be written to."""
        self._consumers = consumers
        self._observer = observer
        self._partitions = {topic.topic: topic.partitions for topic in topics}
        self._producers: dict[str, WorkerService] = {}
        self.numbers = Numbers()
        self._readers: list[str] = []

    def start_producer(self, producer: ProducerPlan, *, records_per_second: int) -> None:
        """Write to all partitions of its topic at a fixed rate, until `stop_producers`.

        Its own rate counts, if it has one.

        Raises:
            UsageError: the name was used before.
        """
        self.numbers.take(producer.producer)
        worker = self._consumers.producing(producer)
        rate = producer.records_per_second
        worker.call(
            ProducerRole.start_producer(
                producer,
                list(range(self._partitions[producer.topic])),
                records_per_second=records_per_second if rate is None else rate,
            )
        )
        self._producers[producer.producer] = worker

    def acknowledged(self, producer: str, partitions: Iterable[int] | None = None) -> int:
        """Return the number of acknowledged values of a producer, by default in all partitions."""
        counts = self._counts(producer)
        chosen = counts if partitions is None else partitions
        return sum(counts[partition].get(Outcome.OK, 0) for partition in chosen)

    def await_refused(self, producer: str) -> None:
        """Wait until a value of a producer has ended without an acknowledgement.

        Raises:
            WaitTimeoutError: none has.
        """

        def count_refused() -> int:
            counts = self._counts(producer)
            return sum(sum(of.values()) - of.get(Outcome.OK, 0) for of in counts.values())

        self._observer.await_that(
            lambda: count_refused() > 0,
            what=f"a value of {producer} to be refused",
            timeout_seconds=_REFUSED_SECONDS,
        )

    def await_acknowledged(
        self,
        producers: Sequence[str],
        more: int,
        *,
        partitions: Iterable[int] | None = None,
        timeout_seconds: float = 60,
    ) -> None:
        """Wait until `more` further values of each producer are acknowledged.

        Until the first ones it waits for the cluster; then, for the load.

        Raises:
            WaitTimeoutError: they were not.
        """
        chosen = None if partitions is None else list(partitions)

        def count_acknowledged() -> dict[str, int]:
            return {producer: self.acknowledged(producer, chosen) for producer in producers}

        before = count_acknowledged()

        def count_gained() -> dict[str, int]:
            return {
                producer: now - before[producer] for producer, now in count_acknowledged().items()
            }

        chosen_name = chosen or "the topic"
        self._observer.await_that(
            lambda: all(count_gained().values()),
            what=f"values of each of {', '.join(producers)} to be acknowledged in {chosen_name}",
            timeout_seconds=timeout_seconds,
            last_seen=count_gained,
        )
        wait_until(
            lambda: all(gain >= more for gain in count_gained().values()),
            what=f"{more} more values of each of {', '.join(producers)} to be acknowledged in "
            f"{chosen_name}",
            timeout_seconds=timeout_seconds,
            last_seen=count_gained,
        )

    def stop_producer(self, name: str) -> Counts:
        """Stop one producer; returns its values' outcomes."""
        worker = self._producers.pop(name)
        return _await_stop(name, worker, worker.send(ProducerRole.stop_producer(name)))

    def stop_producers(self) -> dict[str, Counts]:
        """Stop all producers and wait for the outcome of every value; returns these by producer."""
        sent = {
            name: (worker, worker.send(ProducerRole.stop_producer(name)))
            for name, worker in self._producers.items()
        }
        self._producers.clear()
        return {name: _await_stop(name, *stopping) for name, stopping in sent.items()}

    def _counts(self, producer: str) -> Counts:
        return self._producers[producer].call(ProducerRole.count_produced(producer))

    def start_reading(
        self,
        members: Sequence[str],
        *,
        commit_epoch: CommitEpoch = CommitEpoch.RECORD,
        processing_ms: int = 0,
        is_persistent: bool = False,
    ) -> None:
        """Let open members read and commit every second, until `stop_reading`.

        The application takes `processing_ms` for what a poll returned. Members that are persistent
        poll on after an exception of their client.
        """
        self._consumers.call(
            members,
            lambda share: MemberRole.start_consuming(
                share,
                commit_epoch=commit_epoch,
                commit_interval_ms=_COMMIT_INTERVAL_MS,
                processing_ms=processing_ms,
                is_persistent=is_persistent,
            ),
        )
        self._readers += members

    def await_commits(
        self,
        groups: Mapping[str, Sequence[str]],
        *,
        are_new: bool = False,
        timeout_seconds: float = 60,
    ) -> None:
        """Wait until a member of each group has committed; `groups` has their members' names.

        With `are_new` only commits from now on count.

        Raises:
            WorkerError: none of a group can, as their clients have ended.
            WaitTimeoutError: no member of a group has.
        """
        members = [member for names in groups.values() for member in names]

        def count_committed() -> dict[str, int]:
            counts = ChainMap(*self._consumers.call(members, MemberRole.count_commits))
            return {
                group: sum(counts[member] for member in names) for group, names in groups.items()
            }

        before = count_committed() if are_new else dict.fromkeys(groups, 0)

        def have_committed() -> bool:
            counts = count_committed()
            waiting = [group for group, count in counts.items() if count <= before[group]]
            for group in waiting:
                self.require_reading(groups[group])
            return not waiting

        self._observer.await_that(
            have_committed,
            what=f"a commit of each of {', '.join(groups)} to be acknowledged",
            timeout_seconds=timeout_seconds,
            last_seen=count_committed,
        )

    def require_reading(self, members: Sequence[str]) -> None:
        """Refuse to wait for members that all have ended. One that is suspended may go on.

        Raises:
            WorkerError: with the error of the last one's client.
        """
        if self._consumers.suspended(members):
            return
        ended = dict(ChainMap(*self._consumers.call(members, MemberRole.ended)))
        if ended and len(ended) == len(members):
            member, error = max(ended.items())
            raise WorkerError(f"{member} reads no more, its client raised {error}")

    def require_group(self, group: str) -> None:
        """As `require_reading`, of the members of a group that read in the background."""
        if members := [name for name in self._readers if name.rpartition("#")[0] == group]:
            self.require_reading(members)

    def await_failed(self, members: Sequence[str], *, timeout_seconds: float = 60) -> None:
        """Wait until a poll of each member has raised an exception.

        Raises:
            WaitTimeoutError: one has not.
        """

        def failures() -> dict[str, int]:
            return dict(ChainMap(*self._consumers.call(members, MemberRole.count_failures)))

        self._observer.await_that(
            lambda: all(failures().values()),
            what=f"a poll of each of {', '.join(members)} to fail",
            timeout_seconds=timeout_seconds,
            last_seen=failures,
        )

    def stop_reading(self, members: Sequence[str] | None = None) -> list[str]:
        """Stop some or all members from polling; they stay open. Returns their names."""
        stopped = list(self._readers if members is None else members)
        self._readers = [member for member in self._readers if member not in stopped]
        if stopped:
            self._consumers.call(stopped, MemberRole.stop_consuming)
        return stopped

    def forget(self, members: Sequence[str]) -> None:
        """Let go of members whose process was killed."""
        self._readers = [member for member in self._readers if member not in members]

    def end(self) -> None:
        """Stop all producers and readers."""
        self.stop_producers()
        self.stop_reading()


def _await_stop(name: str, worker: WorkerService, pending: Pending[Counts]) -> Counts:
    """Wait for the outcomes of a producer; the message of an error names it."""
    return worker.result(pending, timeout_seconds=_DRAIN_SECONDS, what=f"stop producer {name}")

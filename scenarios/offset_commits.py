"""Offsets that are committed in transactions: by clients that copy, and by single requests."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from contract.events import NO_EPOCH
from contract.protocol import (
    COMMIT,
    FIRST_WITH_GENERATION,
    FIRST_WITH_STABLE,
    OFFSET_FETCH,
    TXN_COMMIT,
)
from contract.run_folder import GroupPlan, TopicPlan
from harness.clients.observer import Observer
from harness.clients.observer_worker import WireResult
from harness.story.run import Run
from harness.story.transactions import require
from harness.story.wire import Wire
from harness.wire.requests import (
    NO_GENERATION,
    Offset,
    WireRequest,
    add_offsets_to_txn,
    consumer_group_heartbeat,
    end_txn,
    init_producer_id,
    join_group,
    offset_commit,
    offset_fetch,
    sync_group,
    txn_offset_commit,
)

_NO_ERROR = 0
FIRST_WITHOUT_ADD_OFFSETS = 5
"""The first version of TxnOffsetCommit that adds the group to its transaction itself (KIP-890)."""
_LAST_WITHOUT_MEMBER_ID = 3
"""The last version of JoinGroup that a new member sends once; later ones give it an id first."""
_STATE_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Producer:
    """A producer of a transactional.id: its id and epoch."""

    transactional_id: str
    identity: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Membership:
    """A member of a group, its generation or member epoch, and the only partition it commits."""

    group: str
    member: str = ""
    generation: int = NO_GENERATION
    only: int | None = None

    def __str__(self) -> str:
        """Read as `orders/a@3`, or `orders/a@3/0` of one partition."""
        of = "" if self.only is None else f"/{self.only}"
        return f"{self.group}/{self.member}@{self.generation}{of}"

    def at(self, generation: int) -> "Membership":
        """The same member with another generation."""
        return replace(self, generation=generation)


class WireCommits:
    """Sends requests to the coordinators; each is recorded with its response."""

    def __init__(self, wire: Wire, observer: Observer) -> None:
        """Use the observer's worker."""
        self._wire = wire
        self._observer = observer
        self._groups: dict[str, int] = {}

    def coordinator(self, group: str) -> int:
        """Return the broker that coordinated a group when it was first asked for."""
        if group not in self._groups:
            self._groups[group] = self._observer.coordinator(group)
        return self._groups[group]

    def versions(self, group: str, api: str) -> range:
        """Return the versions of an API that a group's coordinator supports."""
        return self._wire.versions(self.coordinator(group), api)

    def send(self, group: str, request: WireRequest) -> WireResult:
        """Send a request to a group's coordinator."""
        (found,) = self._wire.call(self.coordinator(group), [request])
        return found

    def initialize(self, transactional_id: str) -> Producer:
        """Raise the producer epoch of a transactional.id, as `initTransactions` does."""
        found = self._of_transaction(
            transactional_id, init_producer_id(transactional_id=transactional_id, version=4)
        )
        identity = (found["producerId"], found["producerEpoch"])
        return Producer(transactional_id=transactional_id, identity=identity)

    def add_group(self, producer: Producer, group: str) -> None:
        """Add a group to a producer's transaction."""
        self._of_transaction(
            producer.transactional_id,
            add_offsets_to_txn(
                transactional_id=producer.transactional_id,
                group=group,
                producer=producer.identity,
                version=3,
            ),
        )

    def commit_in(
        self, producer: Producer, by: Membership, offsets: Sequence[Offset], *, version: int
    ) -> WireResult:
        """Send offsets to a transaction."""
        return self.send(
            by.group,
            txn_offset_commit(
                transactional_id=producer.transactional_id,
                group=by.group,
                producer=producer.identity,
                member=by.member,
                generation=by.generation,
                offsets=offsets,
                version=version,
            ),
        )

    def end(self, producer: Producer, *, is_commit: bool = True) -> None:
        """Commit or abort a transaction, at a version that leaves the producer's epoch as it is."""
        self._of_transaction(
            producer.transactional_id,
            end_txn(
                transactional_id=producer.transactional_id,
                producer=producer.identity,
                is_commit=is_commit,
                version=3,
            ),
        )

    def await_stable(self, group: str, offsets: Sequence[Offset]) -> None:
        """Wait until the coordinator returns stable offsets: no transaction has any left."""
        request = offset_fetch(group=group, offsets=offsets, version=7, is_stable=True)
        self._observer.await_that(
            lambda: _errors(self.send(group, request)) == {_NO_ERROR},
            what=f"offsets of {group} to be stable",
            timeout_seconds=_STATE_SECONDS,
        )

    def join_classic(self, group: str) -> Membership:
        """Join a group by the classic protocol, as its only member."""
        joined = self._of_group(group, join_group(group=group, version=_LAST_WITHOUT_MEMBER_ID))
        by = Membership(group=group, member=joined["memberId"], generation=joined["generationId"])
        self._of_group(
            group, sync_group(group=group, version=3, member=by.member, generation=by.generation)
        )
        return by

    def join_consumer(self, group: str, member: str, topic: str) -> Membership:
        """Join a group by the consumer protocol (KIP-848)."""
        by = Membership(group=group, member=member, generation=0)
        return by.at(self._heartbeat(by, topics=[topic])["memberEpoch"])

    def await_newer(self, by: Membership) -> Membership:
        """Send heartbeats until a member has a newer epoch; it revokes what it has to."""
        owned: list[Any] | None = None

        def probe() -> Membership | None:
            nonlocal owned
            found = self._heartbeat(by, owned=owned)
            if found["assignment"] is not None:
                owned = found["assignment"]["topicPartitions"]
            return by.at(found["memberEpoch"]) if found["memberEpoch"] > by.generation else None

        return self._observer.await_that(
            probe, what=f"{by.member} to have a newer epoch", timeout_seconds=_STATE_SECONDS
        )

    def _heartbeat(self, by: Membership, **fields: Any) -> dict[str, Any]:
        return self._of_group(
            by.group,
            consumer_group_heartbeat(
                group=by.group, member=by.member, epoch=by.generation, version=0, **fields
            ),
        )

    def _of_group(self, group: str, request: WireRequest) -> dict[str, Any]:
        return self._accepted_response(lambda: self.send(group, request), request)

    def _of_transaction(self, transactional_id: str, request: WireRequest) -> dict[str, Any]:
        def ask() -> WireResult:
            broker = self._observer.coordinator(transactional_id, of_transactions=True)
            (found,) = self._wire.call(broker, [request])
            return found

        return self._accepted_response(ask, request)

    def _accepted_response(
        self, ask: Callable[[], WireResult], request: WireRequest
    ) -> dict[str, Any]:
        """Return the response that has no error, once the coordinator is ready."""
        return self._observer.await_value(
            lambda: ask().response,
            lambda response: response.get("errorCode") == _NO_ERROR,
            what=f"{request.api} to be accepted",
        )


def _errors(result: WireResult) -> set[int]:
    """Return the errors of an OffsetFetch response, which may be of the group or of partitions."""
    response = result.response
    if response is None:
        return set()
    of_partitions = {
        partition["errorCode"] for topic in response["topics"] for partition in topic["partitions"]
    }
    return of_partitions | {response["errorCode"]}


_ROUND_SECONDS = 120


class Repeated:
    """Repeats a step in a thread until the end of a `with` block.

    The block must not use the workers that the step uses. An error of the step ends the repetition
    and is raised by `await_more`, and at the end of the block.
    """

    def __init__(self, step: Callable[[], None], *, observer: Observer, what: str) -> None:
        """`what` names a repetition in words."""
        self._step = step
        self._observer = observer
        self._what = what
        self._is_over = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._repeat, name=what)
        self.rounds = 0

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait until the last repetition is done."""
        self._is_over.set()
        self._thread.join()
        if error is None:
            self._raise()

    def await_more(self, rounds: int) -> None:
        """Wait until the step was done this many times more.

        Raises:
            WaitTimeoutError: it was not.
        """
        before = self.rounds

        def is_done() -> bool:
            self._raise()
            return self.rounds >= before + rounds

        self._observer.await_that(
            is_done,
            what=f"{rounds} more times: {self._what}",
            timeout_seconds=_ROUND_SECONDS,
            last_seen=lambda: self.rounds,
        )

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _repeat(self) -> None:
        try:
            while not self._is_over.is_set():
                self._step()
                self.rounds += 1
        except BaseException as error:  # noqa: BLE001 - raised in the block's thread
            self._error = error


PER_EPOCH = 50


class Copying:
    """Steps of scenarios whose groups copy; the producer of a group is `<group>.<role>`."""

    orders: TopicPlan
    copies: TopicPlan
    check_reader: GroupPlan

    def fill(self, run: Run) -> None:
        """Write to both partitions."""
        for partition in range(self.orders.partitions):
            run.produce("orders", count=PER_EPOCH, producer=f"p{partition}", partition=partition)

    def copy(self, run: Run, group: str, role: str, *, incarnation: int) -> None:
        """Begin a transaction, and copy what was written last, with the group's offsets."""
        producer = f"{group}.{role}"
        require(
            run.transactions.begin(producer),
            run.transactions.copy(
                producer,
                member=f"{group}#{incarnation}",
                topic=self.copies,
                partition=0,
                records=PER_EPOCH * self.orders.partitions,
            ),
        )

    def send_offsets(self, run: Run, group: str, role: str) -> None:
        """Send the positions of a group's member to its transaction; an error does not stop."""
        run.transactions.copy(
            f"{group}.{role}", member=f"{group}#1", topic=self.copies, partition=0, records=0
        )

    def succeed(self, run: Run, name: str) -> None:
        """Open another producer of a transactional.id."""
        require(run.transactions.open(f"{name}.new", transactional_id=name))

    def open_producers(self, run: Run, groups: list[str]) -> None:
        """Open the first producer of each group; its transactional.id is the group's name."""
        for group in groups:
            require(run.transactions.open(f"{group}.old", transactional_id=group))

    def copy_once(
        self,
        run: Run,
        groups: list[str],
        *,
        incarnation: int,
        pending: Callable[[str], None] = lambda _group: None,
    ) -> None:
        """Write to both partitions, and let each group copy that in a transaction.

        `pending` is called with each group while its transaction is open.
        """
        self.fill(run)
        for group in groups:
            self.copy(run, group, "old", incarnation=incarnation)
            pending(group)
            require(run.transactions.commit(f"{group}.old"))

    def copying(self, run: Run, groups: list[str]) -> Repeated:
        """Let the groups copy again and again, until the end of a `with` block."""
        step = partial(self.copy_once, run, groups, incarnation=1)
        return Repeated(step, observer=run.observer, what="each group copies")

    def read(self, run: Run) -> None:
        """Read all copies."""
        run.settle()
        run.open([self.check_reader], incarnation=1)
        run.read_to_end([self.check_reader])


NO_SUCH_PARTITION = 99
SIMPLE = Membership(group="simple")


class Committing:
    """Steps of scenarios that commit without a client; each request is recorded.

    Attributes:
        topic_id: of the topic.
        no_id: an id that no topic has.
        epochs: of the records of partition 0.
        made: how many times offsets were made.
    """

    random: Random
    topic_id: str
    no_id: str
    epochs: Sequence[int]
    made: int

    def identify(self, run: Run, epochs: Sequence[int] = (0,)) -> None:
        """Note the id of the topic, one that no topic has, and the epochs of its records."""
        self.topic_id = run.wire.topic_id("orders")
        self.no_id = base64.urlsafe_b64encode(self.random.randbytes(16)).decode().rstrip("=")
        self.epochs = epochs
        self.made = 0

    def offsets(self, name: str, *, only: int | None = None) -> list[Offset]:
        """An offset of each partition, and of a partition and a topic that do not exist.

        With `only` there is one partition.
        Each is another offset, with the epoch of the record before it.
        """
        self.made += 1
        number = self.made % PER_EPOCH
        at = partial(Offset, topic="orders", topic_id=self.topic_id, metadata=name)
        offsets = [
            at(partition=0, offset=number + 1, epoch=self.epochs[0]),
            at(partition=1, offset=number + 1, epoch=self.epochs[0]),
            at(partition=NO_SUCH_PARTITION, offset=1, epoch=NO_EPOCH),
            Offset(topic="nothing", topic_id=self.no_id, offset=1, metadata=name),
        ]
        return offsets if only is None else [offsets[only]]

    def commit(self, commits: WireCommits, by: Membership) -> None:
        """Commit at each version, and fetch what is stored at each version."""
        for version in commits.versions(by.group, COMMIT):
            if version >= FIRST_WITH_GENERATION[COMMIT]:
                offsets = self.offsets(f"{by} version {version}", only=by.only)
                commits.send(
                    by.group,
                    offset_commit(
                        group=by.group,
                        member=by.member,
                        generation=by.generation,
                        offsets=offsets,
                        version=version,
                    ),
                )
        self.fetch(commits, by.group)

    def fetch(self, commits: WireCommits, group: str, *, is_stable: bool = False) -> None:
        """Fetch a group's offsets at each version."""
        for version in commits.versions(group, OFFSET_FETCH):
            if version < (FIRST_WITH_STABLE if is_stable else 1):
                continue
            request = offset_fetch(
                group=group, offsets=self.offsets(""), version=version, is_stable=is_stable
            )
            commits.send(group, request)

    def commit_in_transaction(
        self, commits: WireCommits, members: list[Membership], version: int
    ) -> None:
        """Commit by each member in one transaction; then by a producer that was succeeded."""
        producer = commits.initialize(f"version-{version}")
        if version < FIRST_WITHOUT_ADD_OFFSETS:
            for group in sorted({member.group for member in members}):
                commits.add_group(producer, group)
        for by in members:
            if by == SIMPLE or version >= FIRST_WITH_GENERATION[TXN_COMMIT]:
                name = f"{by} version {version} in a transaction"
                commits.commit_in(producer, by, self.offsets(name, only=by.only), version=version)
        known = self.offsets("")[:2]
        self.fetch(commits, SIMPLE.group, is_stable=True)
        commits.end(producer)
        commits.await_stable(SIMPLE.group, known)
        self.fetch(commits, SIMPLE.group)
        commits.initialize(f"version-{version}")
        name = f"zombie version {version}"
        commits.commit_in(producer, SIMPLE, self.offsets(name), version=version)

    def fetch_of(self, run: Run, commits: WireCommits, groups: list[str]) -> None:
        """Fetch what is stored of groups, once no transaction is pending."""
        self.identify(run)
        for group in groups:
            commits.await_stable(group, self.offsets("")[:2])
            self.fetch(commits, group)

    def ask(self, run: Run, groups: list[str]) -> None:
        """Commit at each version that a coordinator supports now, and fetch what is stored."""
        commits = WireCommits(run.wire, run.observer)
        self.commit(commits, SIMPLE)
        for version in commits.versions(SIMPLE.group, TXN_COMMIT):
            self.commit_in_transaction(commits, [SIMPLE], version)
        for group in groups:
            self.fetch(commits, group)

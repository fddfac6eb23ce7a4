"""Groups and transactions by single requests, at any version, without a client."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.clients.observer import Observer
from harness.clients.observer_worker import WireResult
from harness.story.wire import Wire
from harness.wire.commits import (
    NO_GENERATION,
    Offset,
    add_offsets_to_txn,
    consumer_group_heartbeat,
    end_txn,
    init_producer_id,
    join_group,
    offset_fetch,
    sync_group,
    txn_offset_commit,
)
from harness.wire.requests import WireRequest

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
        return self._accepted(lambda: self.send(group, request), request)

    def _of_transaction(self, transactional_id: str, request: WireRequest) -> dict[str, Any]:
        def ask() -> WireResult:
            broker = self._observer.coordinator(transactional_id, of_transactions=True)
            (found,) = self._wire.call(broker, [request])
            return found

        return self._accepted(ask, request)

    def _accepted(self, ask: Any, request: WireRequest) -> dict[str, Any]:
        """Return the response that has no error, once the coordinator is ready."""
        last: dict[str, Any] = {}

        def probe() -> dict[str, Any] | None:
            response = ask().response or {}
            last.update(response)
            return response if response.get("errorCode", -1) == 0 else None

        found: dict[str, Any] = self._observer.await_that(
            probe,
            what=f"{request.api} to be accepted",
            timeout_seconds=_STATE_SECONDS,
            last_seen=lambda: last,
        )
        return found


def _errors(result: WireResult) -> set[int]:
    """Return the errors of an OffsetFetch response, which may be of the group or of partitions."""
    response = result.response
    if response is None:
        return set()
    of_partitions = {
        partition["errorCode"] for topic in response["topics"] for partition in topic["partitions"]
    }
    return of_partitions | {response["errorCode"]}

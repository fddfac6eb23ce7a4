"""Does a coordinator that has just taken over return the commits that its predecessor acknowledged?

Cluster: 3 brokers, 1 controller; `__consumer_offsets` has 3 replicas, 2 of them in sync, or 1
         (`min_insync`). `replica.fetch.wait.max.ms` has Kafka's default (`wait_ms`), which is how
         late a follower learns of the high watermark.
Load:    none. A group has no member. Offset 50 of one partition is committed for it; then, by one
         request, 100 of that partition and of another, of which it is the first commit. From
         before that until it has returned 100, the successor is asked every 10 ms for these
         commits, with and without `require_stable`, and for the high watermark of their partition.
Fault:   at once after the commit of 100 the coordinator is, by `how`, killed, stopped
         (controlled shutdown), paused until it is fenced, or moved (an election). Meanwhile its
         successor neither fetches nor is fetched from, until it has returned a commit (groups
         `read`), is alone in the ISR (`shrunk`), has refused a stable read (`refused`), or has
         returned 100 (`itself`). With `followers` paused it is not cut: the third replica is
         suspended, as by a full garbage collection. For the groups `control` nothing is.
Expect:  Kafka 4 returns 50 and -1 without an error until its high watermark is above the commit.
         With `require_stable` it waits, and returns NOT_COORDINATOR after
         `offsets.commit.timeout.ms`. Kafka 3.9 returns 100 after loading, unless it has `is_new`
         (`group.coordinator.new.enable`). docs/handover.md has the predictions.
Source:  KAFKA-20416, KIP-447, KAFKA-15583; `CoordinatorLoaderImpl`, `GroupMetadataManager`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.protocol import COMMIT, FIRST_WITH_NEW_COORDINATOR, OFFSET_FETCH
from contract.run_folder import Consequence, Expectation
from contract.tables import OFFSETS_TOPIC
from contract.terms import Check, Stage
from harness.clients.observer_worker import Ask, WireResult
from harness.faults import (
    Broker,
    BrokerFault,
    Cut,
    Elect,
    Fault,
    Kill,
    Links,
    Pause,
    Reassign,
    Stop,
)
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.wire.requests import Offset, list_offsets, offset_commit, offset_fetch

EARLIER, LATER = 50, 100
ENDS: dict[str, type[BrokerFault]] = {"killed": Kill, "stopped": Stop, "paused": Pause}
HOW = ("killed", "stopped", "paused", "moved")
STORIES = (
    "read",
    "refused",
    "control",
    "shrunk",
    "read",
    "refused",
    "control",
)
STORIES_THAT_END = ("itself", "itself", "itself", "control")
"""Until when the successor is hindered, story by story: if it is alone, it stays behind, or not."""
CUT, PAUSED = "cut", "paused"
PLAIN, STABLE, HIGH_WATERMARK = "plain", "stable", "high watermark"
NO_ERROR, TIMED_OUT, NOT_COORDINATOR = 0, 7, 16
WITHOUT_EPOCH = 3
"""A version of ListOffsets whose response has no epoch."""


class CoordinatorHandoverScenario(Scenario):
    """The same story for each way to depose a coordinator."""

    topology = Topology(brokers=3, controllers=1)
    orders = durable_topic("orders", partitions=2)
    must_judge = (
        Check.STALE_FETCHED_COMMIT,
        Check.WRONG_FETCHED_COMMIT,
        Check.WRONG_STORED_COMMIT,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(stale_fetched_commit.rows, asked='return the commits') }}: of "
        "{{ wire_calls.groups(api='OFFSET_COMMIT') | noun('group') }}, new coordinators returned "
        "to {{ stale_fetched_commit.groups(kind='unstable') }} an older commit than was "
        "acknowledged, or none, without require_stable: to "
        "{{ stale_fetched_commit.groups(kind='unstable', seconds=above(1)) }} for more than a "
        "second, to {{ stale_fetched_commit.groups(kind='unstable', seconds=above(5)) }} for more "
        "than 5. With require_stable, to {{ stale_fetched_commit.groups(kind='stable') }}."
    )
    follows = Consequence(
        sentence=(
            "A program that reads committed offsets without require_stable, as "
            "Admin.listConsumerGroupOffsets does by default, may be sent back by a change of the "
            "coordinator: it was so with "
            "{{ stale_fetched_commit.groups(kind='unstable') | noun('group') }} here, and with "
            "{{ stale_fetched_commit.groups(kind='stable') }} of those with require_stable."
        ),
        document="KIP-447; Javadoc of ListConsumerGroupOffsetsOptions.requireStable(boolean)",
    )

    @matrix(how=list(HOW))
    def test_coordinator_handover(
        self,
        how: str,
        is_new: bool = False,  # noqa: FBT001, FBT002 - a parameter of the test
        min_insync: int = 2,
        lag_ms: int = 3000,
        session_ms: int = 3000,
        wait_ms: int = 500,
        followers: str = CUT,
    ) -> None:
        settings = {
            "min.insync.replicas": str(min_insync),
            "replica.fetch.wait.max.ms": str(wait_ms),
            "replica.lag.time.max.ms": str(lag_ms),
            "broker.session.timeout.ms": str(session_ms),
        }
        if is_new:
            settings["group.coordinator.new.enable"] = "true"
        is_stale = is_new or self.kafka_version >= FIRST_WITH_NEW_COORDINATOR
        with self.running(
            topics=[self.orders],
            topology=replace(self.topology, settings=settings),
            expects=[Expectation(check=Check.STALE_FETCHED_COMMIT)] if is_stale else [],
        ) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "the partitions are written")
            for partition in range(self.orders.partitions):
                run.produce("orders", count=LATER, producer=f"p{partition}", partition=partition)
            ends = min_insync == 1 or (followers, how) == (PAUSED, "moved")
            for number, until in enumerate(STORIES_THAT_END if ends else STORIES):
                group = f"{until}-{number}"
                run.observer.coordinator(group)
                run.settle(internal_topics=[OFFSETS_TOPIC])
                Handover(run, group, how, followers).hold(until)
            run.settle(internal_topics=[OFFSETS_TOPIC])


class Handover:
    """One story: the coordinator of a group changes at once after a commit."""

    def __init__(self, run: Run, group: str, how: str, followers: str) -> None:
        """All replicas are in sync."""
        self._run = run
        self._group = group
        self._how = how
        self._followers = followers
        self._partition = run.groups.offsets_partition(group)
        self._old = run.observer.coordinator(group)
        others = [
            broker
            for broker in run.observer.replicas(OFFSETS_TOPIC, self._partition)
            if broker != self._old
        ]
        self._new, self._third = others
        if how == "moved":
            run.inject(Reassign(OFFSETS_TOPIC, self._partition, replicas=[*others, self._old]))

    def hold(self, until: str) -> None:
        """Commit, depose the coordinator, and ask its successor, which is hindered for a while."""
        run = self._run
        run.phases.enter(Stage.STEADY, f"{self._group} commits")
        self._commit(EARLIER, partitions=[0])
        with run.wire.asking(self._asks()) as responses:
            self._commit(LATER, partitions=[0, 1])
            held = run.inject_all(*self._faults(until))
            hindrance = held[0 if self._followers == CUT else -1]
            first = responses.await_response(PLAIN, has_commits, what="a commit of the successor")
            match "missed" if is_right(first) else until:
                case "shrunk":
                    run.await_isr(OFFSETS_TOPIC, self._partition, [self._new])
                case "refused":
                    responses.await_response(
                        STABLE,
                        lambda answer: (
                            answer.began_micros > first.began_micros and is_refused(answer)
                        ),
                        what="a stable read to be refused",
                    )
                case "itself":
                    responses.await_response(PLAIN, is_right, what=f"{LATER} before the heal")
            if until != "control":
                hindrance.heal()
            for name in (PLAIN, STABLE):
                responses.await_response(name, is_right, what=f"{LATER} of both partitions")

    def _faults(self, until: str) -> list[Fault]:
        """A pause comes last: an administrator's request may go to the broker that is paused."""
        change: Fault = (
            Elect(OFFSETS_TOPIC, self._partition, unclean=False)
            if self._how == "moved"
            else ENDS[self._how](Broker(self._old))
        )
        if until == "control":
            return [change]
        if self._followers == PAUSED:
            return [change, Pause(Broker(self._third))]
        return [Cut(Broker(self._new), Links.REPLICATION), change]

    def _asks(self) -> dict[str, Ask]:
        version = self._run.wire.versions(self._new, OFFSET_FETCH)[-1]
        offsets = self._offsets(0, [0, 1])
        asks = {
            name: offset_fetch(
                group=self._group, offsets=offsets, version=version, is_stable=name == STABLE
            )
            for name in (PLAIN, STABLE)
        }
        asks[HIGH_WATERMARK] = list_offsets(
            topic=OFFSETS_TOPIC, partition=self._partition, version=WITHOUT_EPOCH
        )
        return {name: Ask(broker=self._new, request=request) for name, request in asks.items()}

    def _commit(self, offset: int, *, partitions: Sequence[int]) -> None:
        """Commit an offset of partitions, by no member, once the coordinator is ready."""
        request = offset_commit(
            group=self._group,
            offsets=self._offsets(offset, partitions),
            version=self._run.wire.versions(self._old, COMMIT)[-1],
        )
        self._run.observer.await_value(
            lambda: self._run.wire.call(self._old, [request])[0],
            is_stored,
            what=f"{self._group} to commit {offset}",
        )

    def _offsets(self, offset: int, partitions: Sequence[int]) -> list[Offset]:
        topic_id = self._run.wire.topic_id("orders")
        return [
            Offset(topic="orders", topic_id=topic_id, partition=partition, offset=offset, epoch=0)
            for partition in partitions
        ]


def is_stored(result: WireResult) -> bool:
    """Whether an OffsetCommit has no error."""
    topics = [] if result.response is None else result.response["topics"]
    return {partition["errorCode"] for topic in topics for partition in topic["partitions"]} == {
        NO_ERROR
    }


def has_commits(result: WireResult) -> bool:
    """Whether a response has what the coordinator knows of the group."""
    return bool(commits_in(result))


def is_right(result: WireResult) -> bool:
    """Whether it has the later commit of each partition."""
    return set(commits_in(result)) == {LATER}


def is_refused(result: WireResult) -> bool:
    """Whether the coordinator has waited in vain; 3.9 says so, and 4 that it is no coordinator."""
    return of_group(result).get("errorCode") in (TIMED_OUT, NOT_COORDINATOR)


def commits_in(result: WireResult) -> list[int]:
    """The offset of each partition; none if the response has an error."""
    found = of_group(result)
    if found.get("errorCode") != NO_ERROR:
        return []
    return [
        partition["committedOffset"]
        for topic in found["topics"]
        for partition in topic["partitions"]
        if partition["errorCode"] == NO_ERROR
    ]


def of_group(result: WireResult) -> dict[str, Any]:
    """The response of an OffsetFetch about its only group; empty if there is none."""
    found: dict[str, Any] = {} if result.response is None else result.response["groups"][0]
    return found

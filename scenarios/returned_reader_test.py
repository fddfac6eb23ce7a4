"""Where does a reader begin that asks a coordinator that has just taken over, and what then?

Cluster: 3 brokers, 1 controller; `__consumer_offsets` has 3 replicas, 2 of them in sync, and
         `replica.fetch.wait.max.ms` is 1500, as in coordinator_handover. A topic for each group.
Load:    one group after the other. Its first member, with a manual assignment, reads 50 records
         and commits 50 (not in groups `first`), reads 50 more, and commits 100. By then 20 more
         have been written.
Fault:   at once after the commit of 100 the coordinator is stopped. Its successor neither fetches
         nor is fetched from. When it has returned a commit to a request without `require_stable`,
         the second member begins, with a manual assignment or subscribed. The cut is healed when
         the member was delivered records, has reached the log end (`latest`), or, of those that
         ask stably or subscribe, a stable read that began after it was refused. Then the member
         commits, and reads to the log end.
Expect:  Kafka 4: kafka-python's member with a manual assignment goes back to 50, and for want of a
         commit to the log start, or with `latest` past 20 records; librdkafka's with
         read_uncommitted goes back. What it commits next takes the place of 100. Java's begins at
         100, and so do subscribed members. librdkafka's with its own read_committed gets nothing
         any more. Kafka 3.9: all begin at 100. docs/handover.md has the predictions.
Source:  KAFKA-20416, KIP-447; librdkafka #5586; `OffsetMetadataManager`, `GroupMetadataManager`.
"""

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.protocol import FIRST_WITH_NEW_COORDINATOR, OFFSET_FETCH
from contract.run_folder import Consequence, Expectation, GroupPlan
from contract.software import Client
from contract.tables import OFFSETS_TOPIC
from contract.terms import Check, Isolation, ResetPolicy, Stage
from harness.clients.observer_worker import Ask
from harness.faults import Broker, Cut, Elect, Links, Reassign, Stop
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.wire import Responses
from harness.story.workload import reader
from harness.wire.requests import Offset, offset_fetch
from scenarios.coordinator_handover_test import (
    EARLIER,
    LATER,
    PLAIN,
    STABLE,
    has_commits,
    is_refused,
    is_right,
)

MORE, BATCH = 20, 10
OLDER, NONE = "older", "none"
ASSIGNED, SUBSCRIBED = "assigned", "subscribed"
FAILED = "failed"
READ_SECONDS = 35
"""Longer than a change that took an instant may excuse a member."""
SETTINGS: dict[Client, dict[str, str | int]] = {Client.KAFKA_PYTHON: {"max_poll_records": BATCH}}


def _group(
    client: Client,
    *,
    has: str = OLDER,
    begins: str = ASSIGNED,
    reset: ResetPolicy = ResetPolicy.EARLIEST,
    isolation: Isolation | None = None,
) -> GroupPlan:
    """A group, by what its second member asks and how."""
    name = ".".join(filter(None, (client, has, begins, reset, isolation)))
    alike = reader(name, name, client=client, reset=reset, settings=SETTINGS.get(client))
    return replace(alike, isolation=isolation, labels={"has": has, "begins": begins})


GROUPS = (
    _group(Client.KAFKA_PYTHON),
    _group(Client.KAFKA_PYTHON, has=NONE),
    _group(Client.KAFKA_PYTHON, has=NONE, reset=ResetPolicy.LATEST),
    _group(Client.KAFKA_PYTHON, begins=SUBSCRIBED),
    _group(Client.LIBRDKAFKA, isolation=Isolation.READ_UNCOMMITTED),
    _group(Client.LIBRDKAFKA),
    _group(Client.LIBRDKAFKA, begins=SUBSCRIBED),
    _group(Client.JAVA),
)


def is_returned(group: GroupPlan) -> bool:
    """Whether its second member is expected to take an older commit, or none, for its own."""
    is_unstable = group.isolation_level == Isolation.READ_UNCOMMITTED
    return is_unstable and group.client != Client.JAVA and group.labels["begins"] == ASSIGNED


def _names_of(groups: list[GroupPlan]) -> list[str]:
    return [group.group for group in groups]


def _expectations() -> list[Expectation]:
    """What must be found where the coordinator is the new one.

    A member that is delivered nothing may not report where it began.
    """
    returned = [group for group in GROUPS if is_returned(group)]
    stranded = [
        group
        for group in GROUPS
        if group.client == Client.LIBRDKAFKA
        and group.labels["begins"] == ASSIGNED
        and not is_returned(group)
    ]
    overwriting = [
        group
        for group in returned
        if group.client == Client.KAFKA_PYTHON and group.labels["has"] == OLDER
    ]
    return [
        Expectation(check=Check.STALE_FETCHED_COMMIT),
        *(
            Expectation(
                check=Check.START_MISMATCH,
                groups=[group.group],
                verdict="permitted",
                is_optional=group.reset == ResetPolicy.LATEST,
            )
            for group in returned
        ),
        Expectation(
            check=Check.COMMIT_REGRESSED, groups=_names_of(overwriting), verdict="permitted"
        ),
        Expectation(check=Check.STUCK_CONSUMER, groups=_names_of(stranded)),
    ]


class ReturnedReaderScenario(Scenario):
    """One group of each kind of reader, one change of the coordinator for each."""

    topology = Topology(
        brokers=3,
        controllers=1,
        settings={"min.insync.replicas": "2", "replica.fetch.wait.max.ms": "1500"},
    )
    groups = GROUPS
    must_judge = (
        Check.STALE_FETCHED_COMMIT,
        Check.START_MISMATCH,
        Check.COMMIT_REGRESSED,
        Check.SKIPPED_RECORD,
        Check.STUCK_CONSUMER,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "Of {{ group_events.groups(change='opened') | noun('group') }}, "
        "{{ start_mismatch.groups }} began elsewhere than at the acknowledged commit ("
        "{{ start_mismatch.client }}); the stored commit of {{ commit_regressed.groups }} went "
        "back by what the member committed next; {{ skipped_record.groups }} skipped "
        "{{ skipped_record.records | noun('record') }}; {{ stuck_consumer.groups }} ("
        "{{ stuck_consumer.client }}) got nothing any more."
    )
    follows = Consequence(
        sentence=(
            "A consumer that assigns partitions by hand, or seeks to what committed() returns, "
            "should ask for stable offsets where its client can (isolation.level=read_committed), "
            "and find out whether it asks again when that is refused: here "
            "{{ start_mismatch.groups | noun('group') }} began elsewhere than at the acknowledged "
            "commit, and {{ stuck_consumer.groups }} got nothing any more."
        ),
        document="KIP-447; kafka-python: KafkaConsumer, isolation_level",
    )

    def test_returned_reader(self) -> None:
        groups = self.random.sample(GROUPS, len(GROUPS))
        is_stale = self.kafka_version >= FIRST_WITH_NEW_COORDINATOR
        with self.running(
            topics=[durable_topic(group.topic, partitions=1) for group in groups],
            groups=groups,
            expects=_expectations() if is_stale else [],
        ) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            for group in groups:
                run.observer.coordinator(group.group)
                run.settle(internal_topics=[OFFSETS_TOPIC])
                self.change_coordinator(run, group)

    def change_coordinator(self, run: Run, group: GroupPlan) -> None:
        """Let a member commit, and another one begin at the next coordinator."""
        old = run.observer.coordinator(group.group)
        offsets_partition = run.groups.offsets_partition(group.group)
        replicas = run.observer.replicas(OFFSETS_TOPIC, offsets_partition)
        new, third = [broker for broker in replicas if broker != old]
        run.phases.enter(Stage.STEADY, f"{group.group} reads and commits")
        self.lead(run, group.topic, third, then=[old, new])
        (first,) = run.open([group], incarnation=1, is_subscribed=False)
        run.calls.assign([first])
        self.write_and_read(run, group, first, EARLIER)
        if group.labels["has"] == OLDER:
            run.commit([group], incarnation=1)
        self.write_and_read(run, group, first, LATER - EARLIER)
        run.produce(group.topic, count=MORE, producer=group.group)
        asks = self.asks(run, group, new)
        run.commit([group], incarnation=1)
        cut, _ = run.inject_all(Cut(Broker(new), Links.REPLICATION), Stop(Broker(old)))
        with run.wire.asking(asks) as responses:
            found = responses.await_response(PLAIN, has_commits, what="a commit of the successor")
            run.close([first])
            (second,) = run.open([group], incarnation=2, is_subscribed=False)
            if is_right(found):
                cut.heal()
            self.begin(run, group, second, None if is_right(found) else responses)
            cut.heal()
        run.settle(internal_topics=[OFFSETS_TOPIC])
        run.phases.enter(Stage.HEALED, f"{second} commits, and reads on")
        run.workload.stop_reading()
        run.commit([group], incarnation=2)
        if run.consume([second], timeout_seconds=READ_SECONDS)[second] == FAILED:
            run.consume([second], timeout_seconds=READ_SECONDS)
        run.commit([group], incarnation=2)
        run.close([second])

    def begin(self, run: Run, group: GroupPlan, member: str, responses: Responses | None) -> None:
        """Let the second member begin; with `responses` the successor returns an older commit."""
        if group.labels["begins"] == SUBSCRIBED:
            run.calls.subscribe([member])
        else:
            run.calls.assign([member])
        if responses is None or is_returned(group):
            if group.reset == ResetPolicy.LATEST:
                run.consume([member])
            else:
                run.calls.take([member], BATCH)
            return
        last = responses.await_response(PLAIN, has_commits, what="a commit of the successor")
        run.workload.start_reading([member], is_persistent=True)
        responses.await_response(
            STABLE,
            lambda answer: answer.began_micros > last.began_micros and is_refused(answer),
            what="a stable read to be refused",
        )

    def lead(self, run: Run, topic: str, broker: int, *, then: list[int]) -> None:
        """Let a broker lead the topic that is neither the coordinator nor its successor."""
        state = run.observer.await_state(topic, 0, lambda found: found.leader >= 0, what="a leader")
        if run.observer.replicas(topic, 0)[0] != broker:
            run.inject(Reassign(topic, 0, replicas=[broker, *then]))
        if state.leader != broker:
            run.inject(Elect(topic, 0, unclean=False))

    def write_and_read(self, run: Run, group: GroupPlan, member: str, count: int) -> None:
        """Write records, and let a member read to the log end."""
        run.produce(group.topic, count=count, producer=group.group)
        run.consume([member])

    def asks(self, run: Run, group: GroupPlan, broker: int) -> dict[str, Ask]:
        """Ask for the group's commit, with and without `require_stable`."""
        at = Offset(
            topic=group.topic,
            topic_id=run.wire.topic_id(group.topic),
            partition=0,
            offset=0,
            epoch=0,
        )
        version = run.wire.versions(broker, OFFSET_FETCH)[-1]
        return {
            name: Ask(
                broker=broker,
                request=offset_fetch(
                    group=group.group, offsets=[at], version=version, is_stable=name == STABLE
                ),
            )
            for name in (PLAIN, STABLE)
        }

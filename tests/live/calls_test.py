"""Does each client do what `run.calls` asks of it, and return what is committed?

Cluster: 1 broker; topic `orders` of 2 partitions with 100 records each, and `shared` of 3, one for
         each member of a group of three clients.
Fault:   none; then kafka-python's process is killed, and another takes its place.
Expect:  the asserts; test_client_calls.py has what must be in the tables.
"""

from typing import ClassVar

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import MemberPlan, TopicPlan
from contract.software import INSTALLED, Client
from contract.terms import Check, CommitEpoch
from harness.clients.admin import MemberView
from harness.clients.observer_worker import ObserverRole
from harness.faults import KillClient
from harness.story.consumers import members_of
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader

WRITTEN, ALTERED = 100, 30
MIXED = replace(
    reader("mixed", "shared"),
    members=3,
    others={
        2: MemberPlan(client=Client.LIBRDKAFKA),
        3: MemberPlan(client=Client.KAFKA_PYTHON, settings={"session_timeout_ms": 6000}),
    },
)
REPLACED = "mixed#2.3"
SLOW = replace(
    reader("slow", "shared", client=Client.LIBRDKAFKA),
    settings={"max.poll.interval.ms": 6000, "session.timeout.ms": 6000},
)


class CallsScenario(Scenario):
    """One group of one member for each client, and one with a member of each."""

    topology = Topology(brokers=1)
    orders = TopicPlan(
        topic="orders", partitions=2, replication=1, min_insync=1, unclean_election=False
    )
    shared = TopicPlan(
        topic="shared", partitions=3, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(reader(client, "orders", client=client) for client in INSTALLED)
    spares: ClassVar = {Client.KAFKA_PYTHON: 1}
    must_judge = (Check.HISTORY_COMPLETE,)

    def test_calls(self) -> None:
        topics = [self.orders, self.shared]
        with self.running(topics=topics, groups=(*self.groups, MIXED, SLOW)) as run:
            run.create(assignment=[1])
            for partition in range(self.orders.partitions):
                run.produce("orders", count=WRITTEN, producer=f"p{partition}", partition=partition)
            self.assign(run)
            self.alter_commits(run)
            self.subscribe(run)
            self.replace_member(run)

    def assign(self, run: Run) -> None:
        """Assign, commit, and ask; nothing is committed of partition 1."""
        members = run.open(self.groups, incarnation=1, is_subscribed=False)
        run.calls.assign(members, offset=WRITTEN - 10)
        run.calls.take(members, 10)
        run.commit(self.groups, incarnation=1)
        for found in run.calls.committed(members, [0, 1]).values():
            assert [(commit.offset, commit.error) for commit in found] == [
                (WRITTEN, None),
                (None, None),
            ]
        run.close(members)
        for group in self.groups:
            for is_stable in (False, True):
                listed = run.groups.read_offsets(group.group, "orders", [0, 1], is_stable=is_stable)
                by_partition = {commit.partition: commit.offset for commit in listed}
                assert by_partition == {0: WRITTEN, 1: None}

    def alter_commits(self, run: Run) -> None:
        """Let Admin set back the commits of groups without members."""
        for group in self.groups:
            run.groups.alter_offsets(group.group, "orders", {0: ALTERED}, epoch=0)

    def subscribe(self, run: Run) -> None:
        """Pause, resume, seek, and leave the group and join it again."""
        members = run.open(self.groups, incarnation=2)
        assert set(run.consume(members).values()) == {"caught_up"}
        run.calls.pause(members, [0])
        for partition in range(self.orders.partitions):
            run.produce("orders", count=10, producer=f"p{partition}", partition=partition)
        run.calls.take(members, 10)
        run.calls.resume(members, [0])
        assert set(run.consume(members).values()) == {"caught_up"}
        run.calls.seek(members, [1], offset=WRITTEN)
        assert set(run.consume(members).values()) == {"caught_up"}
        run.calls.unsubscribe(members)
        run.calls.subscribe(members)
        assert set(run.consume(members).values()) == {"caught_up"}
        run.close(members)

    def replace_member(self, run: Run) -> None:
        """Members of three clients read together; one is killed, and its successor differs."""
        killed = run.consumers.workers_of(MIXED)[2]
        run.workload.start_reading(run.open([MIXED], incarnation=1))
        run.groups.await_members(MIXED.group, 3)
        self.read_on(run, incarnation=1)
        slow = run.open([SLOW], incarnation=1)
        run.calls.take(slow, 1)
        run.inject(KillClient(killed.worker))
        run.groups.await_members(MIXED.group, 2)
        run.workload.forget(list(members_of([MIXED], incarnation=1, number=3)))
        run.consumers.replace(killed, bootstrap=run.kafka.bootstrap, kafka=run.kafka.version)
        other = MemberPlan(client=Client.KAFKA_PYTHON, settings={"session_timeout_ms": 7000})
        later = replace(MIXED, others={**MIXED.others, 3: other})
        members = run.open([later], incarnation=2, number=3)
        run.workload.start_reading(members, commit_epoch=CommitEpoch.NONE)
        run.groups.await_members(MIXED.group, 3)
        self.read_on(run, incarnation=2)
        run.close(run.workload.stop_reading())
        self.exceed_interval(run, slow)

    def exceed_interval(self, run: Run, slow: list[str]) -> None:
        """A member that did not poll for `max.poll.interval.ms` has left, and reads on."""

        def members() -> list[MemberView]:
            view = run.observer.worker.call(ObserverRole.describe_group(SLOW.group))
            return [] if view is None else view.members

        run.observer.await_value(members, lambda found: not found, what="the slow member to leave")
        assert set(run.consume(slow).values()) == {"caught_up"}
        run.close(slow)

    def read_on(self, run: Run, *, incarnation: int) -> None:
        """Write to each partition, and let the group commit it."""
        for partition in range(self.shared.partitions):
            producer = f"shared-{incarnation}-{partition}"
            run.produce("shared", count=10, producer=producer, partition=partition)
        ends = {
            f"shared-{partition}": end - 1 for partition, end in run.log_ends(self.shared).items()
        }
        run.groups.await_committed_above(MIXED.group, ends)

"""Does each client do what `run.calls` asks of it, and return what is committed?

Cluster: 1 broker; one topic of 2 partitions with 100 records each.
Fault:   none.
Expect:  the asserts; test_client_calls.py has what must be in the tables.
"""

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.clients import Client
from contract.run_folder import TopicPlan
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader

CLIENTS = (Client.JAVA, Client.JAVA_CONSUMER, Client.LIBRDKAFKA, Client.KAFKA_PYTHON)
WRITTEN = 100


class CallsScenario(Scenario):
    """One group of one member for each client."""

    topology = Topology(brokers=1)
    orders = TopicPlan(
        topic="orders", partitions=2, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(reader(client, "orders", client=client) for client in CLIENTS)
    must_judge = (Check.HISTORY_COMPLETE,)

    def test_calls(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1])
            for partition in range(self.orders.partitions):
                run.produce("orders", count=WRITTEN, producer=f"p{partition}", partition=partition)
            self.assigned(run)
            self.subscribed(run)

    def assigned(self, run: Run) -> None:
        """Assign, commit, and ask; nothing is committed of partition 1."""
        members = run.open(self.groups, incarnation=1, is_subscribed=False)
        run.calls.assign(members, offset=WRITTEN - 10)
        run.calls.take(members, 10)
        run.commit(self.groups, incarnation=1)
        for found in run.calls.committed(members, [0, 1]).values():
            assert [(one.offset, one.error) for one in found] == [(WRITTEN, None), (None, None)]
        run.close(members)
        for group in self.groups:
            for is_stable in (False, True):
                listed = run.groups.read_offsets(group.group, "orders", [0, 1], is_stable=is_stable)
                by_partition = {one.partition: one.offset for one in listed}
                assert by_partition == {0: WRITTEN, 1: None}

    def subscribed(self, run: Run) -> None:
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

"""Does a guest read, commit and resume as its client does in a worker of its own?

Cluster: 1 broker; topic `orders` of 2 partitions with 100 records each, read in two incarnations.
Fault:   none.
Expect:  the guest of librdkafka and librdkafka read the same, and no check is violated.
"""

from cluster.kafka.topology import Topology
from contract.run_folder import TopicPlan
from contract.software import Client
from contract.terms import Check
from harness.story.scenario import Scenario
from harness.story.workload import reader


class GuestScenario(Scenario):
    """A group of each."""

    topology = Topology(brokers=1)
    orders = TopicPlan(
        topic="orders", partitions=2, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(
        reader(group, "orders", client=client)
        for group, client in (("own", Client.LIBRDKAFKA), ("guest", "guest@librdkafka"))
    )
    must_judge = (Check.SKIPPED_RECORD, Check.DUPLICATE_DELIVERY, Check.COMMIT_MISMATCH)

    def test_guest(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1])
            for incarnation in (1, 2):
                for partition in range(self.orders.partitions):
                    run.produce(
                        "orders", count=100, producer=f"p{incarnation}", partition=partition
                    )
                members = run.open(self.groups, incarnation=incarnation)
                run.consume(members)
                run.commit(self.groups, incarnation=incarnation)
                run.close(members)
            run.settle()

"""What is left of a story that never ends?

Cluster: 1 broker.
Fault:   none: the story waits for a state that never comes.
Expect:  the run is stopped, with the stacks of its processes, and is undecided.
"""

import threading

from cluster.kafka.topology import Topology
from contract.run_folder import TopicPlan
from contract.terms import Check, Stage
from harness.story.scenario import Scenario
from harness.story.workload import reader


class EndlessScenario(Scenario):
    """Everything is well, and never ends."""

    topology = Topology(brokers=1)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    groups = (reader("java", "orders"),)
    must_judge = (Check.LOST_RECORD, Check.HISTORY_COMPLETE)

    def test_endless(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1])
            run.produce("orders", count=100, producer="writer")
            run.phases.enter(Stage.STEADY, "waiting for what never comes")
            threading.Event().wait()

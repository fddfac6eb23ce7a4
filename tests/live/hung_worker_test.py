"""What is left of a run whose worker does not end?

Cluster: 1 broker.
Fault:   none that is declared: the node of a Python client's worker, or of the observer, is paused,
         and stays so.
Expect:  everything else is collected in the time that collecting may take; the run is undecided.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import TopicPlan
from contract.software import Client
from contract.terms import Check
from harness.clients.process import worker_of
from harness.story.scenario import Scenario
from harness.story.workload import reader


class HungWorkerScenario(Scenario):
    """Everything is well, until the end."""

    topology = Topology(brokers=1)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    groups = (reader("java", "orders"), reader("python", "orders", client=Client.KAFKA_PYTHON))
    must_judge = (Check.LOST_RECORD, Check.HISTORY_COMPLETE)

    @matrix(hung=["kafka-python", "observer"])
    def test_hung_worker(self, hung: str) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1])
            run.produce("orders", count=100, producer="writer")
            run.open(self.groups, incarnation=1)
            of_python = run.consumers.workers[worker_of(Client.KAFKA_PYTHON)]
            paused = run.observer.worker if hung == "observer" else of_python
            paused.host.pause()

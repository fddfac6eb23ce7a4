"""Is any record lost while some links of a cluster or of its clients are down?

Cluster: 3 brokers, 1 controller; one topic of 6 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer, and a group that reads and commits, throughout.
Fault:   packets are dropped on some links only, by one of four recipes.
         bridge       between broker 1 on one side, and broker 3 and the controller on the other;
                      broker 2 reaches both sides.
         replication  of fetches by a follower of orders-0 and from it; it keeps its session.
         brokers      between the leader of orders-0 and all clients.
         clients      from the clients to all brokers.
Expect:  a broker that does not reach the controller is fenced, even if it reaches other nodes. A
         follower that can't fetch leaves the ISR, and stays unfenced. A leader that clients can't
         reach stays the leader. Nothing is lost, and every reset has a cause.
Source:  `broker.session.timeout.ms`, `replica.lag.time.max.ms` (configuration); KIP-320, KIP-631,
         KIP-841.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence
from contract.terms import Check, Stage
from harness.clients.process import JAVA_WORKER
from harness.faults import Bridge, Cut, CutClient, Fault, FollowerOf, LeaderOf, Links
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 1000
BETWEEN = 1000
LEADER, FOLLOWER = LeaderOf("orders", 0), FollowerOf("orders", 0)
FIRST, SECOND, THIRD = 1, 2, 3
RECIPES: dict[str, Fault] = {
    "bridge": Bridge(FOLLOWER),
    "replication": Cut(FOLLOWER, Links.REPLICATION),
    "brokers": Cut(LEADER, Links.CLIENTS),
    "clients": CutClient(JAVA_WORKER.worker),
}


class PartialPartitionScenario(Scenario):
    """The same story for each recipe."""

    topology = Topology(brokers=3, controllers=1)
    orders = durable_topic("orders", partitions=6)
    producers = (writer("writer", "orders"),)
    groups = (reader("readers", "orders"),)
    must_judge = (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.UNJUSTIFIED_RESET,
        Check.FENCED_IN_ISR,
        Check.SERVED_UNDER_FENCED_EPOCH,
        Check.MIN_INSYNC_BREACHED,
        Check.PRODUCE_UNAVAILABLE,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(lost_record.records, asked='lost') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost and {{ skipped_record.records }} skipped. Under an "
        "epoch that was over, {{ served_under_fenced_epoch.records | noun('record') }} were "
        "acknowledged or served."
    )
    follows = Consequence(
        sentence=(
            "Retry a write until it is acknowledged, since a network error does not show whether "
            "it was committed: of "
            "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, in a run in which "
            "links failed, {{ lost_record.records }} were lost."
        ),
        document="Kafka documentation, Design: Message Delivery Semantics",
    )

    @matrix(recipe=list(RECIPES))
    def test_partial_partition(self, recipe: str) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[FIRST, SECOND, THIRD], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(["writer"], BETWEEN)
            epoch = run.leader_epoch("orders", 0)
            with run.fault(RECIPES[recipe]):
                self.go_on(run, recipe, epoch)
            run.phases.enter(Stage.HEALED, "all links are up")
            load.await_acknowledged(["writer"], BETWEEN)
            run.settle()
            run.read_to_end(self.groups)

    def go_on(self, run: Run, recipe: str, epoch: int) -> None:
        """Wait for the progress that must still be possible."""
        match recipe:
            case "bridge":
                run.await_epoch_above(self.orders, run.preferred_of(FIRST, self.orders), epoch)
                run.workload.await_acknowledged(["writer"], BETWEEN)
            case "replication":
                run.await_out_of_isr("orders", 0, SECOND)
                served = [*run.preferred_of(FIRST, self.orders)]
                run.workload.await_acknowledged(["writer"], BETWEEN, partitions=served)
            case "brokers":
                served = [
                    partition
                    for broker in (SECOND, THIRD)
                    for partition in run.preferred_of(broker, self.orders)
                ]
                run.workload.await_acknowledged(["writer"], BETWEEN, partitions=served)

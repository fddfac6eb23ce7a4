"""Does a fenced or stale replica stay out of the ISR until it has caught up?

Cluster: 3 brokers, 1 controller; one topic of 6 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer, and a group that reads and commits, all the time.
Fault:   a follower of orders-0 falls behind, by one of four recipes: its node stands still until
         it is fenced, then goes on; it is cut from the controller only, and goes on fetching; it is
         cut from every server; it loses its disk.
Expect:  no fenced broker is in an ISR of a partition that is led, though it may fetch all the time
         (KIP-841); nothing is lost, and no reset is without a reason.
Source:  KIP-320, KIP-841, KIP-903.
"""

from ducktape.mark import matrix
from ducktape.mark.resource import cluster

from cluster.kafka.topology import Topology
from harness.contract.checks import OF_ELECTIONS, OF_LOAD, Check
from harness.contract.run_folder import TopicPlan
from harness.contract.stages import Stage
from harness.faults.broker_fault import BrokerFault
from harness.faults.cut import Cut, Links
from harness.faults.pause import Pause
from harness.faults.targets import FollowerOf
from harness.faults.wipe import Wipe
from harness.scenario import Scenario
from harness.workload import reader

RECORDS_PER_SECOND = 2000
WITHOUT_IT = 500
FOLLOWER = FollowerOf("orders", 0)
RECIPES: dict[str, BrokerFault] = {
    "pause": Pause(FOLLOWER),
    "controllers": Cut(FOLLOWER, Links.CONTROLLERS),
    "both": Cut(FOLLOWER, Links.BOTH),
    "wipe": Wipe(FOLLOWER),
}


class ZombieFollowerScenario(Scenario):
    """The same story for each recipe."""

    topology = Topology(brokers=3, controllers=1)
    orders = TopicPlan(
        topic="orders", partitions=6, replication=3, min_insync=2, unclean_election=False
    )
    groups = (reader("readers", "orders"),)
    checks = (
        *OF_LOAD,
        *OF_ELECTIONS,
        Check.FENCED_IN_ISR,
        Check.SERVED_UNDER_FENCED_EPOCH,
        Check.MIN_INSYNC_BREACHED,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )

    @cluster(num_nodes=6)
    @matrix(recipe=list(RECIPES))
    def test_zombie_follower(self, recipe: str) -> None:
        fault = RECIPES[recipe]
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.workload
            run.start_load(
                self.orders,
                producers={"writer": "all"},
                records_per_second=RECORDS_PER_SECOND,
                readers=self.groups,
            )
            load.await_acknowledged(["writer"], WITHOUT_IT)
            with run.fault(fault):
                run.await_out_of_isr("orders", 0, fault.broker)
                run.phases.enter(Stage.HELD, "the others go on")
                load.await_acknowledged(["writer"], WITHOUT_IT)
            run.phases.enter(Stage.HEALED, "it catches up")
            load.await_acknowledged(["writer"], WITHOUT_IT)
            run.settle()
            run.read_to_end(self.groups)

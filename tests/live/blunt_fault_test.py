"""Is a fault that does not bite told from one that does?

Cluster: 1 broker.
Fault:   a cut of a port at which nobody listens: its rule is there, and drops nothing.
Expect:  the run is undecided, though every other check holds.
"""

from ducktape.mark.resource import cluster

from cluster.kafka.topology import Topology
from cluster.nodes.traffic import Direction, Traffic
from harness.contract.checks import Check
from harness.contract.run_folder import TopicPlan
from harness.faults.broker_fault import BrokerFault
from harness.faults.fault import Evidence, Field
from harness.faults.targets import Broker
from harness.scenario import Scenario

NOBODY_LISTENS = 9


class BluntCut(BrokerFault):
    """A cut whose rule fits no packet."""

    verb = "blunt cut"

    def inject_broker(self, field: Field, broker: int) -> None:
        field.kafka.host(broker).block(self.rule(field))

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        dropped = field.kafka.host(broker).dropped_packets(self.rule(field))
        return Evidence(landed=dropped > 0, facts={"dropped_packets": dropped})

    def heal_broker(self, field: Field, broker: int) -> None:
        field.kafka.host(broker).unblock(self.rule(field))

    def rule(self, field: Field) -> Traffic:
        peer = field.client_addresses[0]
        return Traffic(peer=peer, direction=Direction.IN, port=NOBODY_LISTENS)


class BluntFaultScenario(Scenario):
    """Everything is well, but for the fault."""

    topology = Topology(brokers=1)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    checks = (Check.LOST_RECORD, Check.HISTORY_COMPLETE)

    @cluster(num_nodes=3)
    def test_blunt_fault(self) -> None:
        with self.running(topics=[self.orders]) as run:
            run.create(assignment=[1])
            with run.fault(BluntCut(Broker(1))):
                run.produce("orders", count=100, producer="writer")
            run.settle()

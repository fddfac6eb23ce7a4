"""Does the proof find a loss that was planted behind Kafka's back?

Cluster: 3 brokers, one topic with 3 replicas, acks=all, no unclean election.
Fault:   all brokers are killed; the last 7 records are cut off every replica's segment; restart.
Expect:  the run fails, with exactly 7 lost records that no setting permits. A canary that passes
         means that the harness is blind.
"""

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.run_folder import TopicPlan
from contract.stages import Stage
from harness.faults.cut_tail import CutTails
from harness.story.scenario import Scenario

KEPT, PLANTED = 100, 7


class HiddenLoss(CutTails):
    """Tails that are cut off while the history says no more than that the brokers were killed.

    What the history reports as cut off is permitted, since it is no loss of Kafka's.
    """

    verb = "kill"

    @property
    def target(self) -> str:
        """The brokers, as a kill names them."""
        return "all (brokers 1, 2, 3)"


class CanaryScenario(Scenario):
    """Nothing but the planted loss may be found."""

    topology = Topology(brokers=3)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=3, min_insync=2, unclean_election=False
    )
    must_judge = (
        Check.LOST_RECORD,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )

    def test_canary(self) -> None:
        with self.running(topics=[self.orders]) as run:
            run.create(assignment=[1, 2, 3])
            run.phases.enter(Stage.STEADY, f"writing {KEPT} + {PLANTED} records")
            run.produce("orders", count=KEPT, producer="kept")
            run.produce("orders", count=PLANTED, producer="planted")
            with run.fault(HiddenLoss("orders", 0, records=PLANTED)):
                run.phases.enter(Stage.HELD, "brokers are down, the tail is cut")
            run.settle()

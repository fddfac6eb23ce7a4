"""Does the analysis find a loss that was planted in the logs while Kafka was down?

Cluster: 3 brokers, one topic with 3 replicas, acks=all, no unclean election.
Fault:   all brokers are killed, the last 7 records of every replica are truncated, and the
         brokers are started again.
Expect:  the run fails with exactly 7 lost records that no setting permits. A canary that passes
         means that the harness does not detect losses.
"""

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence
from contract.terms import Check, FaultTarget, Stage, TargetKind
from harness.faults import CutTails
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic

KEPT, PLANTED = 100, 7


class HiddenLoss(CutTails):
    """Truncated tails that the history reports as a kill of the brokers only.

    A truncation that the history reports is permitted, since Kafka did not cause it.
    """

    verb = "kill"

    def __init__(self, *, records: int) -> None:
        """The target is named as in a kill."""
        super().__init__("orders", 0, records=records)
        self.target = FaultTarget(target_kind=TargetKind.ALL, brokers=(1, 2, 3))


class CanaryScenario(Scenario):
    """Only the planted loss may be found."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=1)
    must_judge = (
        Check.LOST_RECORD,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(lost_record.records(verdict='violation'), asked='find a loss') }}: of "
        "{{ sends.records(producer='planted', outcome='ok') | noun('acknowledged record') }} "
        "whose loss was planted, the analysis reports "
        "{{ lost_record.records(verdict='violation') }} as lost without permission."
    )
    follows = Consequence(
        sentence=(
            "Keep the replicas of a partition where they do not fail together: a committed record "
            "survives as long as one replica in sync keeps it, and after all of them lost their "
            "last records, {{ lost_record.records | noun('acknowledged record') }} are reported "
            "as lost."
        ),
        document="Kafka documentation, Design: Replication",
    )

    def test_canary(self) -> None:
        with self.running(topics=[self.orders]) as run:
            run.create(assignment=[1, 2, 3])
            run.phases.enter(Stage.STEADY, f"writing {KEPT} + {PLANTED} records")
            run.produce("orders", count=KEPT, producer="kept")
            run.produce("orders", count=PLANTED, producer="planted")
            with run.fault(HiddenLoss(records=PLANTED)):
                run.phases.enter(Stage.HELD, "brokers are down, the tail is truncated")
            run.settle()

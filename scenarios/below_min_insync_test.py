"""What does a leader serve while the ISR is smaller than min.insync.replicas?

Cluster: 3 brokers, 1 controller; one topic of 3 partitions with 3 replicas, all led by broker 1,
         min.insync.replicas 2.
Load:    two producers, acks=1 and acks=all, and a group that reads and commits, throughout.
Fault:   the nodes of both followers are paused until they are fenced and out of the ISR. They
         resume after an acks=all write was refused.
Expect:  the leader stays the same. It acknowledges acks=1, and refuses acks=all. Its high watermark
         stands still, so that none of these records is delivered until a second replica is in sync.
         Then every acknowledged record is delivered, and none is lost.
Source:  `min.insync.replicas` (configuration); KAFKA-15583 (since 3.7), KIP-966.
"""

from cluster.kafka.topology import Topology
from contract.errors import FaultError
from contract.run_folder import Consequence
from contract.terms import Check, Stage
from harness.faults import FollowersOf, Pause
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 500
TOGETHER, ALONE, AFTERWARDS = 500, 1000, 500


class BelowMinInsyncScenario(Scenario):
    """One replica of three stays in sync."""

    topology = Topology(brokers=3, controllers=1)
    orders = durable_topic("orders", partitions=3)
    producers = (writer("one", "orders", acks="1"), writer("all", "orders"))
    groups = (reader("readers", "orders"),)
    must_judge = (
        Check.LOST_RECORD,
        Check.UNSEEN_RECORD,
        Check.OUTCOME_MISMATCH,
        Check.MIN_INSYNC_BREACHED,
        Check.HIGH_WATERMARK_REGRESSED,
        Check.PRODUCE_UNAVAILABLE,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "While one replica was in sync, the leader acknowledged {{ sends.records(outcome='ok', "
        "acks=1, during='the leader alone acknowledges acks=1') | noun('record') }} with acks=1 "
        "and {{ sends.records(outcome='ok', acks='all', during='the leader alone acknowledges "
        "acks=1') }} with acks=all. Consumers received "
        "{{ polls.records(during='the leader alone acknowledges acks=1') | noun('record') }} "
        "meanwhile, and {{ lost_record.records }} of {{ sends.records(outcome='ok') }} "
        "acknowledged records were lost."
    )
    follows = Consequence(
        sentence=(
            "A write that must survive its leader needs acks=all and a min.insync.replicas above "
            "1: alone, the leader acknowledged {{ sends.records(outcome='ok', acks=1, during='the "
            "leader alone acknowledges acks=1') | noun('record') }} with acks=1 and {{ "
            "sends.records(outcome='ok', acks='all', during='the leader alone acknowledges "
            "acks=1') }} with acks=all."
        ),
        document="Kafka documentation, topic configuration min.insync.replicas",
    )

    def test_below_min_insync(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(["one", "all"], TOGETHER)
            with run.fault(Pause(FollowersOf("orders", 0))):
                for partition in range(self.orders.partitions):
                    run.await_isr("orders", partition, [1])
                run.phases.enter(Stage.HELD, "the leader alone acknowledges acks=1")
                before = run.log_ends(self.orders)
                load.await_acknowledged(["one"], ALONE)
                load.await_refused("all")
                self.require_still(run, before)
            run.phases.enter(Stage.HEALED, "the followers are back")
            load.await_acknowledged(["one", "all"], AFTERWARDS)
            run.settle()
            run.read_to_end(self.groups)

    def require_still(self, run: Run, before: dict[int, int]) -> None:
        """Check that the high watermarks have not moved since the last follower left the ISR.

        Raises:
            FaultError: a high watermark moved, so that the run can't answer its question.
        """
        after = run.log_ends(self.orders)
        if after != before:
            raise FaultError(f"high watermarks moved from {before} to {after} with an ISR of one")

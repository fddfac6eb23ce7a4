"""Does a group with several members keep its positions if it rebalances while a leader changes?

Cluster: 3 brokers, 1 controller; one topic of 6 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer throughout; two groups, one of the classic group protocol and one of
         KIP-848's, with two members each, which read and commit.
Fault:   the leader of orders-0 is killed, or shuts down; without waiting for its successors, a
         third member joins each group and leaves it again, so that partitions move while their
         leaders change. A leader that shuts down is succeeded at once, in the rebalance of the
         KIP-848 group; a killed one when it is fenced, in that of the classic group.
Expect:  no member commits under an old generation or owns a partition that another one owns. What
         members had read beyond their last commit is delivered again; nothing is skipped or reset.
Source:  KAFKA-19902, KIP-320, KIP-848.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence
from contract.software import Client
from contract.terms import Check, Stage
from harness.faults import BrokerFault, Kill, LeaderOf, Rebalance, Stop
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 1000
BEFORE, MEANWHILE, AFTERWARDS = 1500, 1000, 1000
HEARTBEAT_MS = "1000"
LEADER = LeaderOf("orders", 0)
RECIPES: dict[str, BrokerFault] = {"killed": Kill(LEADER), "stopped": Stop(LEADER)}


class GroupRebalanceScenario(Scenario):
    """The same story for each end of the leader."""

    topology = Topology(
        brokers=3,
        controllers=1,
        settings={
            "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_MS,
            "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
        },
    )
    orders = durable_topic("orders", partitions=6)
    producers = (writer("writer", "orders"),)
    groups = (
        reader("consumer", "orders", client=Client.JAVA_CONSUMER, members=2),
        reader("classic", "orders", members=2),
    )
    must_judge = (
        Check.COMMIT_FROM_OLD_GENERATION,
        Check.DOUBLE_OWNERSHIP,
        Check.START_MISMATCH,
        Check.COMMIT_REGRESSED,
        Check.LOST_COMMIT,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.UNJUSTIFIED_RESET,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(skipped_record.records + unjustified_reset.rows + "
        "start_mismatch.rows(verdict='violation') + commit_regressed.rows(verdict='violation') + "
        "lost_commit.rows(verdict='violation') + commit_mismatch.rows(verdict='violation'), "
        "asked='keep its positions') }}: {{ skipped_record.records | noun('record') }} skipped, "
        "{{ unjustified_reset.rows | noun('reset') }} without a cause, "
        "{{ commit_from_old_generation.rows(verdict='violation') | noun('commit') }} under an old "
        "generation. {{ duplicate_delivery.records | noun('record') }} beyond the last commits "
        "were delivered again."
    )
    follows = Consequence(
        sentence=(
            "Process records so that a repetition does no harm: what members have read beyond "
            "their last commit is delivered again after a rebalance, here "
            "{{ duplicate_delivery.records | noun('record') }}, while "
            "{{ skipped_record.records }} were skipped."
        ),
        document="Javadoc of KafkaConsumer, Manual Offset Control",
    )

    @matrix(leader=list(RECIPES))
    def test_group_rebalance(self, leader: str) -> None:
        here = self.groups_here(self.groups)
        groups = [group for group in self.groups if group in here]
        with self.running(topics=[self.orders], groups=groups) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, groups, records_per_second=RECORDS_PER_SECOND)
            for group in groups:
                run.groups.await_members(group.group, 2)
            load.await_acknowledged(["writer"], BEFORE)
            epoch = run.leader_epoch("orders", 0)

            rebalances = [Rebalance(group.group) for group in groups]
            with run.fault(RECIPES[leader], *rebalances):
                run.await_epoch_above(self.orders, [0], epoch)
                for group in groups:
                    run.groups.await_members(group.group, 2)
                load.await_acknowledged(["writer"], MEANWHILE)
            run.phases.enter(Stage.HEALED, "the leader is back")
            load.await_acknowledged(["writer"], AFTERWARDS)
            run.settle()
            run.read_to_end(groups)

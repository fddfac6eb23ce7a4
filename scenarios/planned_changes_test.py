"""Which acknowledged records are lost when the leader of a partition changes as planned?

Cluster: 4 brokers, 1 controller; one topic of 3 partitions, each led by another one of brokers 1,
         2 and 3, with replicas on all three, 2 of them in sync. Kafka itself elects no preferred
         leaders.
Load:    two producers, acks=1 and acks=all, to all partitions, throughout.
Fault:   for each partition, several times:
         stop             its leader shuts down, and starts again.
         elect preferred  it leads again.
         bounce           it is restarted. It is elected again afterwards, too.
         reassign         the leader's replica moves to broker 4, and back.
         The next change follows when both producers have been acknowledged and all replicas are in
         sync.
Expect:  of acks=1, each kind of change may lose records, a few of each change: the controller
         elects out of the ISR, and compares no log ends (`PartitionChangeBuilder.electLeader`). A
         replica in the ISR may lack what the old leader acknowledged since its last fetch, until
         the old leader itself learns of its successor. Of acks=all nothing is lost: what it
         acknowledged is on every replica of the ISR.
Source:  KAFKA-20554; `ReplicationControlManager.electLeaders`,
         `handleBrokerInControlledShutdown`, `alterPartitionReassignments`.
"""

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation
from contract.terms import Check
from harness.faults import Bounce, Broker, Elect, Fault, Reassign, Stop
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import writer

RECORDS_PER_SECOND = 1000
BETWEEN = 100
ROUNDS = 2
REPLICAS, SPARE = [1, 2, 3], 4
DELETED_AFTER_MS = 3_600_000
"""A replica that a reassignment removed shows what its broker acknowledged as the leader."""


class PlannedChangesScenario(Scenario):
    """Every kind of change in one run, so that they are compared under one load."""

    topology = Topology(
        brokers=4,
        controllers=1,
        settings={
            "auto.leader.rebalance.enable": "false",
            "log.segment.delete.delay.ms": str(DELETED_AFTER_MS),
        },
    )
    orders = durable_topic("orders", partitions=3)
    producers = (writer("one", "orders", acks="1"), writer("all", "orders"))
    expects = (Expectation(check=Check.LOST_RECORD, verdict="permitted", is_optional=True),)
    must_judge = (
        Check.LOST_RECORD,
        Check.LOSS_ESTIMATE,
        Check.LEADER_COMPLETENESS,
        Check.OVER_TRUNCATION,
        Check.MIN_INSYNC_BREACHED,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "Of acks=1: {{ lost_record.records(acks=1, during='elect preferred') | noun('record') }}, "
        "in {{ (lost_record.faults(acks=1, during='elect preferred') / faults.rows(fault='elect "
        "preferred')) | noun('preferred election') }}; "
        "{{ lost_record.records(acks=1, during='stop') | noun('record') }}, in {{ "
        "(lost_record.faults(acks=1, during='stop') / faults.rows(fault='stop')) | "
        "noun('controlled shutdown') }}; "
        "{{ lost_record.records(acks=1, during='bounce') | noun('record') }}, in {{ "
        "(lost_record.faults(acks=1, during='bounce') / faults.rows(fault='bounce')) | "
        "noun('restart') }}; "
        "{{ lost_record.records(acks=1, during='reassign') | noun('record') }}, in {{ "
        "(lost_record.faults(acks=1, during='reassign') / faults.rows(fault='reassign')) | "
        "noun('reassignment') }}. That is {{ lost_record.records(acks=1) }} of "
        "{{ sends.records(outcome='ok', acks=1) | noun('acknowledged record') }}. Of acks=all: "
        "{{ lost_record.records(acks='all') }} of "
        "{{ sends.records(outcome='ok', acks='all') | noun('acknowledged record') }}."
    )
    follows = Consequence(
        sentence=(
            "Records that must survive a planned change of a leader need acks=all: "
            "{{ faults.rows | noun('such change') }} lost "
            "{{ lost_record.records(acks=1) | noun('record') }} of acks=1 and "
            "{{ lost_record.records(acks='all') }} of acks=all."
        ),
        document="Kafka documentation, producer configuration acks",
    )

    def test_planned_changes(self) -> None:
        with self.running(topics=[self.orders], expects=self.expects) as run:
            run.create(assignment=REPLICAS, is_spread=True)
            run.watch()
            run.start_load(self.orders, [], records_per_second=RECORDS_PER_SECOND)
            self.acknowledge(run, 0)
            for _ in range(ROUNDS):
                for partition, leader in enumerate(REPLICAS):
                    others = [broker for broker in REPLICAS if broker != leader]
                    for change in (
                        Stop(Broker(leader)),
                        Elect("orders", partition, unclean=False),
                        Bounce(Broker(leader)),
                        Elect("orders", partition, unclean=False),
                        Reassign("orders", partition, replicas=[SPARE, *others]),
                    ):
                        self.change(run, partition, change)
            run.settle()
            run.workload.end()

    def change(self, run: Run, partition: int, fault: Fault) -> None:
        """Carry out one change under load, and wait until all replicas are in sync again."""
        with run.fault(fault):
            self.acknowledge(run, partition)
        run.settle()

    def acknowledge(self, run: Run, partition: int) -> None:
        """Wait until both producers have further acknowledgements of a partition."""
        run.workload.await_acknowledged(["one", "all"], BETWEEN, partitions=[partition])

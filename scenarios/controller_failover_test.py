"""Do brokers and clients continue without loss or reset while the active controller changes?

Cluster: 3 brokers, 3 controllers; one topic of 6 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer, and a group that reads and commits, throughout.
Fault:   the active controller is killed. Its successor has to elect new leaders at once, since
         the leader of orders-0 is killed too.
Expect:  nothing is lost, skipped or reset. Leader epochs only increase, across controllers too.
Source:  KIP-595, KIP-631.
"""

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence
from contract.terms import Check
from harness.faults import ActiveController, Kill, LeaderOf
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 2000
BETWEEN = 1000


class ControllerFailoverScenario(Scenario):
    """The active controller is killed first, then the leader."""

    topology = Topology(brokers=3, controllers=3)
    orders = durable_topic("orders", partitions=6)
    producers = (writer("writer", "orders"),)
    groups = (reader("readers", "orders"),)
    must_judge = (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.UNJUSTIFIED_RESET,
        Check.EPOCH_REGRESSED,
        Check.LEADER_COMPLETENESS,
        Check.METADATA_DIVERGENCE,
        Check.PRODUCE_UNAVAILABLE,
        Check.FETCH_UNAVAILABLE,
        Check.COMMIT_UNAVAILABLE,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(lost_record.records + skipped_record.records + unjustified_reset.rows, "
        "asked='without loss or reset') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost and {{ skipped_record.records }} skipped; "
        "{{ reset.rows | noun('reset') }}, {{ unjustified_reset.rows }} of them without a cause. "
        "Leader epochs went down {{ epoch_regressed.rows | noun('time') }}."
    )
    follows = Consequence(
        sentence=(
            "Run three controllers, of which a majority has to be alive: in a run in which the "
            "active one and a leader were killed, "
            "{{ lost_record.records | noun('acknowledged record') }} were lost and "
            "{{ unjustified_reset.rows | noun('position') }} were reset without a cause."
        ),
        document="Kafka documentation, Operations: KRaft, Controllers",
    )

    def test_controller_failover(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(["writer"], BETWEEN)
            with run.fault(Kill(ActiveController())):
                load.await_acknowledged(["writer"], BETWEEN)
                with run.fault(Kill(LeaderOf("orders", 0))):
                    load.await_acknowledged(["writer"], BETWEEN)
            run.settle()
            load.await_acknowledged(["writer"], BETWEEN)
            run.read_to_end(self.groups)

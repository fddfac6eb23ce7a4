"""Do clients continue without loss or reset while every broker is restarted, one after the other?

Cluster: 3 brokers, 1 controller; one topic of 12 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer, and groups of each client that read and commit, throughout.
Fault:   each broker in turn shuts down, hands over its leaderships, and starts again; the next one
         follows once every replica is in sync.
Expect:  nothing is lost, skipped or reset, and nothing served under a fenced epoch. kafka-python
         3.0.12 may commit without an epoch: an empty fetch removes that of its position.
Source:  KIP-320, KAFKA-19902 (leader changes alone must not reset consumers).
"""

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence
from contract.software import CLASSIC, WITHOUT_EPOCHS
from contract.terms import Check
from harness.faults import Broker, Stop
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import commits_no_epochs, reader, writer

RECORDS_PER_SECOND = 2000
BETWEEN = 1000


class RollingBounceScenario(Scenario):
    """A rolling restart, as in an upgrade."""

    topology = Topology(brokers=3, controllers=1)
    orders = durable_topic("orders", partitions=12)
    producers = (writer("writer", "orders"),)
    groups = tuple(reader(f"readers.{client}", "orders", client=client) for client in CLASSIC)
    expects = (commits_no_epochs([f"readers.{client}" for client in WITHOUT_EPOCHS]),)
    must_judge = (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.DIVERGENT_READERS,
        Check.RESET,
        Check.UNJUSTIFIED_RESET,
        Check.SERVED_UNDER_FENCED_EPOCH,
        Check.FENCED_IN_ISR,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(lost_record.records + skipped_record.records + reset.rows, asked='without "
        "loss or reset') }}: of {{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost and {{ skipped_record.records }} skipped in "
        "{{ faults.rows | noun('restart') }}, with {{ reset.rows | noun('reset') }}. "
        "{{ committed_epoch_missing.rows | noun('commit') }} had no epoch ("
        "{{ committed_epoch_missing.client }})."
    )
    follows = Consequence(
        sentence=(
            "Restart brokers one by one, by controlled shutdowns, and wait for the ISR in "
            "between: {{ faults.rows | noun('such restart') }} lost "
            "{{ lost_record.records | noun('acknowledged record') }} and led to "
            "{{ reset.rows | noun('reset') }}."
        ),
        document="Kafka documentation, Operations: Graceful shutdown",
    )

    def test_rolling_bounce(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups, expects=self.expects) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(["writer"], BETWEEN)
            for broker in self.topology.broker_ids:
                with run.fault(Stop(Broker(broker))):
                    load.await_acknowledged(["writer"], BETWEEN)
                run.settle()
            run.read_to_end(self.groups)

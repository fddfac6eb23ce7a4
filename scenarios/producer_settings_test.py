"""Which producers write a value twice, or in another order, when their leaders are killed?

Cluster: 3 brokers, 1 controller; one topic of 3 partitions with 3 replicas, 2 of them in sync.
Load:    acks=all producers that are idempotent, of Java, librdkafka and kafka-python; one of each
         that is not, with five requests in flight; and transactions of 100 values of Java and
         librdkafka, of which a quarter is aborted. A group of each isolation level reads.
Fault:   twice, the leader of each partition in turn is killed and started again.
Expect:  no acknowledged value is lost. Idempotent producers write each value once, in the order of
         sending, and no reader with read_committed receives an aborted one. The others may repeat
         values, and change their order.
Source:  KIP-98; KIP-185; Kafka documentation, producer configuration enable.idempotence and
         max.in.flight.requests.per.connection; librdkafka, INTRODUCTION.md, Idempotent Producer.
"""

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, GroupPlan, TransactionPlan
from contract.software import Client
from contract.terms import Check, CommitEpoch, Isolation, ResetPolicy
from harness.faults import Kill, LeaderOf
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import writer

RECORDS_PER_SECOND = 200
BETWEEN = 300
PARTITIONS, ROUNDS = 3, 2
QUARTER = TransactionPlan(records=100, aborted=0.25)
SETTINGS: dict[str, str | int] = {"linger.ms": 5, "compression.type": "lz4"}


def _reader(isolation: Isolation) -> GroupPlan:
    return GroupPlan(
        group=f"readers.{isolation}",
        client=Client.JAVA,
        topic="orders",
        commit_epoch=CommitEpoch.RECORD,
        reset=ResetPolicy.EARLIEST,
        isolation=isolation,
    )


class ProducerSettingsScenario(Scenario):
    """Producers of three clients, side by side."""

    topology = Topology(brokers=3, controllers=1)
    orders = durable_topic("orders", partitions=PARTITIONS)
    producers = (
        writer("java.idempotent", "orders", settings=SETTINGS),
        writer("java.plain", "orders", settings={**SETTINGS, "enable.idempotence": "false"}),
        writer("java.transactions", "orders", transactions=QUARTER),
        writer(
            "librdkafka.idempotent",
            "orders",
            client=Client.LIBRDKAFKA,
            settings={**SETTINGS, "enable.idempotence": "true"},
        ),
        writer(
            "librdkafka.plain",
            "orders",
            client=Client.LIBRDKAFKA,
            settings={**SETTINGS, "max.in.flight": 5},
        ),
        writer("librdkafka.transactions", "orders", client=Client.LIBRDKAFKA, transactions=QUARTER),
        writer("kafka-python.idempotent", "orders", client=Client.KAFKA_PYTHON),
        writer(
            "kafka-python.plain",
            "orders",
            client=Client.KAFKA_PYTHON,
            settings={"enable_idempotence": 0, "linger_ms": 5, "compression_type": "gzip"},
        ),
    )
    groups = (_reader(Isolation.READ_COMMITTED), _reader(Isolation.READ_UNCOMMITTED))
    must_judge = (
        Check.LOST_RECORD,
        Check.DUPLICATE_APPEND,
        Check.NONMONOTONIC_SEND,
        Check.SKIPPED_RECORD,
        Check.ABORTED_READ,
        Check.TORN_TRANSACTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ (duplicate_append.rows + nonmonotonic_send.rows) | whether('Some', 'None') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost; {{ duplicate_append.rows | noun('value') }} were "
        "written twice or more ({{ duplicate_append.rows(verdict='violation') }} of an idempotent "
        "producer), and {{ nonmonotonic_send.rows }} in another order ("
        "{{ nonmonotonic_send.rows(verdict='violation') }} of an idempotent producer)."
    )
    follows = Consequence(
        sentence=(
            "Set enable.idempotence=true where a client does not do so by itself, as librdkafka: "
            "producers without it wrote "
            "{{ duplicate_append.rows(verdict='permitted') | noun('value') }} twice, those with "
            "it {{ duplicate_append.rows(verdict='violation') }}."
        ),
        document="KIP-98; Kafka documentation, producer configuration enable.idempotence",
    )

    def test_producer_settings(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            names = [producer.producer for producer in self.producers]
            load.await_acknowledged(names, BETWEEN)
            for _ in range(ROUNDS):
                for partition in range(PARTITIONS):
                    epoch = run.leader_epoch("orders", partition)
                    with run.fault(Kill(LeaderOf("orders", partition))):
                        run.await_epoch_above(self.orders, [partition], epoch)
                        load.await_acknowledged(names, BETWEEN)
                    run.settle()
            run.read_to_end(self.groups)

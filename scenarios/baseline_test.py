"""Does a healthy cluster lose, repeat or skip anything?

Cluster: 3 brokers, one topic of 3 partitions with 3 replicas.
Fault:   none.
Expect:  every check holds or has no case, such as those of transactions and of leader changes.
         A violation is probably a defect of the harness.
"""

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence
from contract.terms import Check, CommitEpoch, Stage
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader

RECORDS_PER_HALF = 1000


class BaselineScenario(Scenario):
    """Two groups read the first half, commit, are reopened and read the second half."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=3)
    groups = tuple(
        replace(reader(f"orders.{epoch}", "orders"), commit_epoch=epoch)
        for epoch in (CommitEpoch.RECORD, CommitEpoch.FORCED)
    )
    must_judge = (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.DUPLICATE_APPEND,
        Check.PHANTOM_RECORD,
        Check.CORRUPTED_RECORD,
        Check.UNSEEN_RECORD,
        Check.POLL_SKIP,
        Check.NONMONOTONIC_POLL,
        Check.COMMIT_REGRESSED,
        Check.UNJUSTIFIED_RESET,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(lost_record.records + skipped_record.records + duplicate_delivery.records, "
        "asked='lose, repeat or skip') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost, {{ skipped_record.records }} skipped and "
        "{{ duplicate_delivery.records }} delivered twice."
    )
    follows = Consequence(
        sentence=(
            "Process records so that a repetition does no harm: "
            "{{ duplicate_delivery.records | noun('record') }} came twice in this run without a "
            "fault, and what Kafka promises by default is at-least-once delivery."
        ),
        document="Kafka documentation, Design: Message Delivery Semantics",
    )

    def test_baseline(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1, 2, 3])
            for incarnation in (1, 2):
                run.phases.enter(Stage.STEADY, f"half {incarnation}: writing, reading, committing")
                for partition in range(self.orders.partitions):
                    run.produce(
                        "orders", count=RECORDS_PER_HALF, producer="writer", partition=partition
                    )
                members = run.open(self.groups, incarnation=incarnation)
                run.consume(members)
                run.commit(self.groups, incarnation=incarnation)
                run.close(members)
            run.settle()

"""Does a consumer validate a position that it reached after it knew the new leader?

Cluster: 3 brokers; one topic of 8 partitions with replicas on brokers 1 and 2, led by broker 1;
         unclean leader election allowed.
Load:    a producer with acks=1, and groups that read and commit throughout. Their applications
         take 0, 20 or 100 ms for what a poll returned, so that responses wait for them meanwhile,
         and their clients refresh their metadata every 300 ms.
Fault:   broker 2 can't replicate, so that broker 1 alone is in sync. Then broker 1 is partitioned
         from the controller, and goes on serving producers and consumers; broker 2 is elected.
         Every group has read records that broker 2 lacks, and learns of the new leader from the
         other brokers while broker 1 still serves it. Broker 2 gets new records.
Expect:  a position whose leader changed is validated before the next fetch: each group reports the
         truncation. With option 1 of KAFKA-19902 the position takes the leader of the metadata as
         it advances. If a response of the old leader is read after the metadata's, the position
         then has the new leader already, and nothing asks where its epoch ends.
Source:  KAFKA-19902, pull request 22558; `SubscriptionState.maybeValidatePosition`,
         `FetchCollector.fetchRecords`.
"""

from itertools import product

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, TopicPlan
from contract.software import Client
from contract.terms import Check, Stage
from harness.faults import Cut, FollowerOf, LeaderOf, Links
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader, writer

RECORDS_PER_SECOND, PARTITIONS = 400, 8
BEFORE, UNREPLICATED, NEW_PER_PARTITION = 400, 800, 400
PROCESSING_MS = (0, 20, 100)
SETTINGS = {"metadata.max.age.ms": 300}


class PrefetchRaceScenario(Scenario):
    """Each group reads all partitions, at its own pace."""

    topology = Topology(brokers=3, combined=(3,))
    orders = TopicPlan(
        topic="orders",
        partitions=PARTITIONS,
        replication=2,
        min_insync=1,
        unclean_election=True,
    )
    producers = (writer("writer", "orders", acks="1"),)
    groups = tuple(
        reader(f"{client}.{pace}ms.{copy}", "orders", client=client, settings=SETTINGS)
        for client, pace, copy in product((Client.JAVA, Client.JAVA_CONSUMER), PROCESSING_MS, "ab")
    )
    must_judge = (
        Check.TRUNCATION_DETECTED,
        Check.SKIPPED_RECORD,
        Check.RESET,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ truncation_detected.groups | noun('group') }} reported a truncation; "
        "{{ truncation_undetected.groups }} read on without one in some partition, and "
        "{{ skipped_record.groups }} skipped records."
    )
    follows = Consequence(
        sentence=(
            "Where unclean elections are allowed, what an application has read may be truncated: "
            "{{ truncation_detected.groups | noun('group') }} noticed it, "
            "{{ truncation_undetected.groups }} read on in some partition without a notice, and "
            "{{ skipped_record.groups }} skipped records."
        ),
        document="KIP-320, Motivation; Javadoc of LogTruncationException",
    )

    def test_prefetch_race(self) -> None:
        groups = self.groups_here(self.groups)
        names = [group.group for group in groups]
        expects = [
            Expectation(check=check, groups=names, is_optional=True)
            for check in (
                Check.SKIPPED_RECORD,
                Check.TRUNCATION_UNDETECTED,
                Check.SILENT_REVALIDATION,
                Check.UNJUSTIFIED_RESET,
            )
        ] + [
            Expectation(check=Check.LOST_RECORD, verdict="permitted"),
            Expectation(check=Check.SERVED_UNDER_FENCED_EPOCH, verdict="permitted"),
        ]
        with self.running(topics=[self.orders], groups=groups, expects=expects) as run:
            run.create(assignment=[1, 2])
            run.watch()
            load = run.workload
            (producer,) = self.producers
            load.start_producer(producer, records_per_second=RECORDS_PER_SECOND)
            run.phases.enter(Stage.WARM_UP, "clients begin to write and to read")
            for pace in PROCESSING_MS:
                own = [group for group in groups if f".{pace}ms." in group.group]
                load.start_reading(run.open(own, incarnation=1), processing_ms=pace)
            load.await_commits({group.group: [f"{group.group}#1"] for group in groups})
            load.await_acknowledged(["writer"], BEFORE)

            run.inject(Cut(FollowerOf("orders", 0), Links.REPLICATION))
            for partition in range(PARTITIONS):
                run.await_isr("orders", partition, [1])
            load.await_acknowledged(["writer"], UNREPLICATED)
            epoch = run.leader_epoch("orders", 0)
            with run.fault(Cut(LeaderOf("orders", 0), Links.CONTROLLERS)):
                run.phases.enter(Stage.HELD, "a replica without the last records leads")
                run.await_epoch_above(self.orders, range(PARTITIONS), epoch)
                self.write_to_the_new_leader(run)
            run.settle()
            run.read_to_end(groups)

    def write_to_the_new_leader(self, run: Run) -> None:
        """Write to each partition through the broker that was elected."""
        for partition in range(PARTITIONS):
            run.await_leader("orders", partition, 2)
            run.produce(
                "orders",
                partition=partition,
                count=NEW_PER_PARTITION,
                producer=f"new-{partition}",
                through=2,
            )

"""Does a consumer that reads from a follower continue when leader and follower change?

Cluster: 3 brokers, each in a rack of its own, 1 controller; one topic, led by broker 1, whose
         replicas are all in sync; RackAwareReplicaSelector.
Load:    an acks=all producer. Three groups of each Java client read and commit: with the rack of
         no broker from the leader, with that of broker 2 and with that of broker 3 from these
         followers, until the bytes that each consumer received show it.
Fault:   the leader is killed, and broker 2 leads. All groups commit, close and are opened again
         while it is down. Then broker 3 stops to replicate, while consumers still reach it; then it
         is stopped.
Expect:  every acknowledged record is delivered, without a reset; a consumer whose
         replica becomes the leader continues to read from it. One whose replica no longer
         replicates, or is stopped, reads from the leader; the lease of a replica is
         `metadata.max.age.ms`, here 5 s. When the replica is in sync again, the consumer returns to
         it. Classic consumers of 3.9.0 join again when the racks of replicas change, and then may
         receive records twice.
Source:  KIP-392, KIP-320, KIP-881; `AbstractFetch.selectReadReplica`, `FetchCollector`.
"""

from collections.abc import Sequence

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, GroupPlan
from contract.software import Client
from contract.tables import OFFSETS_TOPIC
from contract.terms import Check, Stage
from harness.faults import Broker, Cut, Kill, Links, Stop
from harness.story.consumers import members_of
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 2000
WITHOUT_IT = 500
LEADER, SUCCESSOR, FOLLOWER = 1, 2, 3
LEASE_MS = 5000
READS = {"leader": 0, "successor": SUCCESSOR, "follower": FOLLOWER}
"""By label: the broker whose rack the group's consumers have; no broker has rack 0."""


def _groups() -> tuple[GroupPlan, ...]:
    return tuple(
        reader(
            f"{client}.{label}",
            "orders",
            client=client,
            settings={"client.rack": Topology.rack(broker), "metadata.max.age.ms": LEASE_MS},
        )
        for client in (Client.JAVA, Client.JAVA_CONSUMER)
        for label, broker in READS.items()
    )


class FollowerFetchingScenario(Scenario):
    """One story for all groups."""

    topology = Topology(
        brokers=3,
        controllers=1,
        has_racks=True,
        settings={
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        },
    )
    orders = durable_topic("orders", partitions=2)
    producers = (writer("writer", "orders"),)
    groups = _groups()
    must_judge = (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.DIVERGENT_READERS,
        Check.RESET,
        Check.UNJUSTIFIED_RESET,
        Check.STALE_READ,
        Check.STUCK_CONSUMER,
        Check.RESUMPTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(lost_record.records + skipped_record.records + reset.rows + "
        "stuck_consumer.groups, asked='continue') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost, {{ skipped_record.records }} skipped and "
        "{{ duplicate_delivery.records }} delivered twice, with {{ reset.rows | noun('reset') }} "
        "and {{ faults.rows | noun('fault') }}. {{ stuck_consumer.groups | noun('group') }} made "
        "no progress."
    )
    follows = Consequence(
        sentence=(
            "With client.rack a consumer reads from a follower that is near, and asks the leader "
            "for one again after metadata.max.age.ms at the latest: in a run in which leader and "
            "followers failed, there were {{ reset.rows | noun('reset') }}, and "
            "{{ skipped_record.records | noun('record') }} were skipped."
        ),
        document="KIP-392; Kafka documentation, consumer configuration client.rack",
    )

    def test_follower_fetching(self) -> None:
        groups = self.groups_here(self.groups)
        with self.running(topics=[self.orders], groups=groups) as run:
            run.create(assignment=[LEADER, SUCCESSOR, FOLLOWER])
            run.watch()
            load = run.start_load(self.orders, groups, records_per_second=RECORDS_PER_SECOND)
            self.require_sources(run, groups, leader=LEADER)
            with run.fault(Kill(Broker(LEADER))):
                for partition in range(self.orders.partitions):
                    run.await_leader("orders", partition, SUCCESSOR)
                run.phases.enter(Stage.HELD, f"broker {SUCCESSOR} leads")
                load.await_acknowledged(["writer"], WITHOUT_IT)
                self.require_sources(run, groups, leader=SUCCESSOR)
                self.open_again(run, groups)
                self.require_sources(run, groups, leader=SUCCESSOR, incarnation=2)
            self.settle(run, groups)
            for fault in (Cut(Broker(FOLLOWER), Links.REPLICATION), Stop(Broker(FOLLOWER))):
                with run.fault(fault):
                    for partition in range(self.orders.partitions):
                        run.await_out_of_isr("orders", partition, FOLLOWER)
                    run.phases.enter(Stage.HELD, f"groups of {fault.target} read from the leader")
                    load.await_acknowledged(["writer"], WITHOUT_IT)
                    self.require_sources(
                        run, groups, leader=SUCCESSOR, follower=SUCCESSOR, incarnation=2
                    )
                self.settle(run, groups)
                self.require_sources(run, groups, leader=SUCCESSOR, incarnation=2)
            run.read_to_end(groups, incarnation=2)

    def settle(self, run: Run, groups: Sequence[GroupPlan]) -> None:
        """Wait until all replicas are in sync, of committed offsets too, and each group commits."""
        run.settle(internal_topics=[OFFSETS_TOPIC])
        run.workload.await_commits(self.members(groups), are_new=True)

    def members(self, groups: Sequence[GroupPlan]) -> dict[str, list[str]]:
        """Return the members of the second incarnation, by group."""
        return {group.group: list(members_of([group], incarnation=2)) for group in groups}

    def require_sources(
        self,
        run: Run,
        groups: Sequence[GroupPlan],
        *,
        leader: int,
        follower: int = FOLLOWER,
        incarnation: int = 1,
    ) -> None:
        """Wait until each group reads from its broker.

        Raises:
            WaitTimeoutError: one does not, so that the run can't answer its question.
        """
        of = {"leader": leader, "successor": SUCCESSOR, "follower": follower}
        run.sources.await_source(
            {
                member: of[group.group.rpartition(".")[2]]
                for member, group in members_of(groups, incarnation=incarnation).items()
            }
        )

    def open_again(self, run: Run, groups: Sequence[GroupPlan]) -> None:
        """Let all groups commit what they have read, close them, and open them again."""
        members = run.workload.stop_reading()
        run.commit(groups, incarnation=1)
        run.close(members)
        again = run.open(groups, incarnation=2)
        run.workload.start_reading(again)
        run.workload.await_commits(self.members(groups))

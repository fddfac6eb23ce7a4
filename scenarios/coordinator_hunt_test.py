"""Which readers of committed offsets go back when the coordinator changes?

Cluster: 4 brokers, 1 controller. The only partition of `__consumer_offsets` is on brokers 1 to 3,
         min.insync.replicas 2: its leader is the coordinator of all groups. One topic of 4
         partitions is on broker 4 alone. `replica.fetch.wait.max.ms` is `wait_ms`.
Load:    groups of one member each, of Java's consumers, librdkafka (with its own default,
         read_committed, and with read_uncommitted) and kafka-python. Some subscribe, the others
         assign all partitions.
Fault:   rounds, drawn from the run's seed. In each of them all members read to the log ends and
         commit, one without a subscription last. At once the coordinator is stopped, killed, or
         deposed by an election; in half of the rounds its successor neither fetches nor is fetched
         from until the heal. Then Admin reads the commits of all groups, and members without a
         subscription are asked for them (`committed()`), assign their partitions again, and read on
         from the commits. After the heal, members that subscribe are closed and opened again.
Expect:  Kafka 4 returns older commits, without an error, to who does not ask for stable ones: Admin
         by default, kafka-python, and librdkafka with read_uncommitted. Java's consumers and
         librdkafka by default ask for stable ones, and wait: none of them goes back. librdkafka may
         stand still after NOT_COORDINATOR (librdkafka#5586).
Source:  KAFKA-19902, KAFKA-20416, KIP-447; docs/handover.md; `ConsumerCoordinator`
         (sendOffsetFetchRequest), `CommitRequestManager`, `ListConsumerGroupOffsetsOptions`.
"""

from collections.abc import Sequence
from dataclasses import replace

from ducktape.mark import parametrize

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.software import Client
from contract.tables import OFFSETS_TOPIC
from contract.terms import Check, CommitEpoch, Isolation, ResetPolicy, Stage
from harness.clients.observer_worker import ObserverRole
from harness.faults import Broker, Cut, Elect, Fault, Kill, Links, Stop
from harness.story.consumers import members_of
from harness.story.run import Run
from harness.story.scenario import Scenario
from scenarios.hunt import for_minutes

MINUTES, WAIT_MS = 2, 500
RECORDS = 20
COORDINATORS, HOST = [1, 2, 3], 4
ENDS = {"stopped": Stop, "killed": Kill}
CHANGES = (*ENDS, "elected")
ASSIGNED, SUBSCRIBED = "assigned", "subscribed"
ASKED_SECONDS, READ_SECONDS, ASSIGNED_SECONDS = 1, 15, 20
KINDS = {
    "java": (Client.JAVA, None),
    "java-consumer": (Client.JAVA_CONSUMER, None),
    "librdkafka": (Client.LIBRDKAFKA, None),
    "librdkafka-uncommitted": (Client.LIBRDKAFKA, Isolation.READ_UNCOMMITTED),
    "kafka-python": (Client.KAFKA_PYTHON, None),
}
GROUPS = tuple(
    GroupPlan(
        group=f"{kind}.{reads}",
        client=client,
        topic="orders",
        commit_epoch=CommitEpoch.RECORD,
        reset=ResetPolicy.EARLIEST,
        isolation=isolation,
        labels={"reads": reads},
    )
    for kind, (client, isolation) in KINDS.items()
    for reads in (ASSIGNED, SUBSCRIBED)
)


class CoordinatorHuntScenario(Scenario):
    """Rounds until the time is over."""

    topology = Topology(
        brokers=4,
        controllers=1,
        settings={
            "offsets.topic.num.partitions": "1",
            "min.insync.replicas": "2",
            "auto.leader.rebalance.enable": "false",
        },
    )
    orders = TopicPlan(
        topic="orders", partitions=4, replication=1, min_insync=1, unclean_election=False
    )
    groups = GROUPS
    must_judge = (
        Check.STALE_FETCHED_COMMIT,
        Check.START_MISMATCH,
        Check.UNJUSTIFIED_RESET,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "Of {{ start_mismatch.evaluated | noun('resumption') }} after a change of the "
        "coordinator, {{ start_mismatch.rows }} began elsewhere than committed ("
        "{{ start_mismatch.client }}), "
        "{{ start_mismatch.rows(kind='returned by the coordinator') }} of them where the "
        "coordinator had returned; "
        "{{ unjustified_reset.rows(verdict='violation') }} reset a position in the log. An older "
        "commit, or none, was returned to "
        "{{ stale_fetched_commit.groups(kind='unstable') | noun('group') }} without "
        "require_stable, and to {{ stale_fetched_commit.groups(kind='stable') }} with it."
    )
    follows = Consequence(
        sentence=(
            "Who reads commits without require_stable may be sent back by a change of the "
            "coordinator, as "
            "{{ start_mismatch.groups(kind='returned by the coordinator') | noun('group') }} "
            "here: read_committed in librdkafka and kafka-python, or requireStable(true) with "
            "Admin, waits instead."
        ),
        document="KIP-447; Javadoc of ListConsumerGroupOffsetsOptions.requireStable(boolean)",
    )

    @parametrize(minutes=MINUTES, wait_ms=WAIT_MS)
    def test_coordinator_hunt(self, minutes: float, wait_ms: int) -> None:
        groups = self.groups_here(self.groups)
        settings = {**self.topology.settings, "replica.fetch.wait.max.ms": str(wait_ms)}
        unstable = [group.group for group in groups if is_unstable(group)]
        # A leave that meets a broker which is no longer the coordinator is not repeated: its member
        # keeps the partitions until its session times out, and its successor gets none.
        stranded = [
            group.group
            for group in groups
            if group.client == Client.LIBRDKAFKA or not is_assigned(group)
        ]
        expects = [
            Expectation(check=Check.STALE_FETCHED_COMMIT, is_optional=True),
            Expectation(check=Check.START_MISMATCH, groups=unstable, is_optional=True),
            Expectation(check=Check.STUCK_CONSUMER, groups=stranded, is_optional=True),
        ]
        topology = replace(self.topology, settings=settings)
        with self.running(
            topics=[self.orders], groups=groups, topology=topology, expects=expects
        ) as run:
            run.create(assignment=[HOST])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "all groups read and commit")
            run.observer.coordinator(groups[0].group)
            prefer(run, COORDINATORS)
            self.write(run)
            run.open([group for group in groups if not is_assigned(group)], incarnation=1)
            assigned = [group for group in groups if is_assigned(group)]
            members = run.open(assigned, incarnation=1, is_subscribed=False)
            run.calls.assign(members, self.partitions)
            goes_on, number = for_minutes(minutes), 1
            while goes_on(number - 1):
                self.carry_out(run, groups, number)
                number += 1
            run.phases.enter(Stage.FINAL_READ, "groups read to the log ends")
            members = names(groups, number)
            run.consume(members, timeout_seconds=READ_SECONDS)
            run.close(members)

    @property
    def partitions(self) -> range:
        """All partitions of the topic."""
        return range(self.orders.partitions)

    def write(self, run: Run) -> None:
        """Write records to each partition, so that each commit is another one than before."""
        for partition in self.partitions:
            run.produce("orders", count=RECORDS, producer="writer", partition=partition)

    def carry_out(self, run: Run, groups: Sequence[GroupPlan], number: int) -> None:
        """Let the coordinator change at once after a commit, and all read the commits."""
        change, is_cut = self.random.choice(CHANGES), self.random.choice((True, False))
        assigned = [group for group in groups if is_assigned(group)]
        subscribed = [group for group in groups if not is_assigned(group)]
        last = self.random.choice(assigned)
        old = run.observer.coordinator(groups[0].group)
        others = [replica for replica in run.observer.replicas(OFFSETS_TOPIC, 0) if replica != old]
        if change == "elected":
            prefer(run, [*others, old])
        how = f"{change} and cut" if is_cut else change
        name = f"round {number}: {how}, {last.group} commits last"
        run.phases.enter(Stage.STEADY, name)
        run.consume(names(groups, number), timeout_seconds=READ_SECONDS)
        run.commit(subscribed, incarnation=number)
        run.commit([group for group in assigned if group != last], incarnation=1)
        run.commit([last], incarnation=1)
        run.phases.enter(Stage.HELD, name)
        *cuts, _ = run.inject_all(*faults(change, old, others[0], is_cut=is_cut))
        run.observer.await_state(
            OFFSETS_TOPIC,
            0,
            lambda state: state.leader in others,
            what=f"another coordinator than broker {old}",
        )
        self.read(run, assigned, groups, is_cut=is_cut)
        for cut in cuts:
            cut.heal()
        run.settle(internal_topics=[OFFSETS_TOPIC])
        run.workload.stop_reading()
        run.phases.enter(Stage.HEALED, f"round {number}: members are opened again")
        run.close(names(subscribed, number))
        run.open(subscribed, incarnation=number + 1)

    def read(
        self,
        run: Run,
        assigned: Sequence[GroupPlan],
        groups: Sequence[GroupPlan],
        *,
        is_cut: bool,
    ) -> None:
        """Read the commits in each way; who waits for stable ones reads on until the heal."""
        for group in groups:
            run.groups.read_offsets(group.group, "orders", self.partitions)
        members = names(assigned, 1)
        run.calls.committed(members, self.partitions, timeout_seconds=ASKED_SECONDS)
        self.write(run)
        run.calls.unsubscribe(members)
        run.calls.assign(members, self.partitions)
        at_once = [group for group in assigned if is_unstable(group) or not is_cut]
        run.workload.start_reading(names([group for group in assigned if group not in at_once], 1))
        run.consume(names(at_once, 1), timeout_seconds=READ_SECONDS)
        if not is_cut:
            for group in groups:
                run.groups.read_offsets(group.group, "orders", self.partitions, is_stable=True)


def is_assigned(group: GroupPlan) -> bool:
    """Whether its member assigns all partitions, and is opened once."""
    return group.labels["reads"] == ASSIGNED


def is_unstable(group: GroupPlan) -> bool:
    """Whether its client reads commits without require_stable."""
    return group.client not in (Client.JAVA, Client.JAVA_CONSUMER) and (
        group.isolation_level == Isolation.READ_UNCOMMITTED
    )


def names(groups: Sequence[GroupPlan], number: int) -> list[str]:
    """Return the members of groups in a round."""
    return [
        name
        for group in groups
        for name in members_of([group], incarnation=1 if is_assigned(group) else number)
    ]


def faults(change: str, old: int, new: int, *, is_cut: bool) -> list[Fault]:
    """Return the cut of the successor, if it is cut, and the end of the coordinator."""
    cuts: list[Fault] = [Cut(Broker(new), Links.REPLICATION)] if is_cut else []
    if change in ENDS:
        return [*cuts, ENDS[change](Broker(old))]
    return [*cuts, Elect(OFFSETS_TOPIC, 0, unclean=False)]


def prefer(run: Run, order: list[int]) -> None:
    """Assign the offsets' partition to these brokers, and wait until they are in sync."""
    run.observer.worker.call(ObserverRole.reassign(OFFSETS_TOPIC, 0, order))
    run.observer.await_that(
        lambda: run.observer.replicas(OFFSETS_TOPIC, 0) == order,
        what=f"{OFFSETS_TOPIC}-0 to be assigned to {order}",
        timeout_seconds=ASSIGNED_SECONDS,
    )
    run.await_isr(OFFSETS_TOPIC, 0, order)

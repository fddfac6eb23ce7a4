"""Can a member that did not poll for too long commit over its successor?

Cluster: 1 broker; one topic of 2 partitions.
Load:    groups of two members of one client, by assignment strategy and way to commit. The first
         member reads 100 records of each partition and commits nothing.
Fault:   the first member does not poll any more. The second one joins, so that a rebalance is in
         progress when max.poll.interval.ms of the first one expires. The second member gets all
         partitions, reads 100 further records of each, and commits them. `second`: it stays, or
         leaves, so that the group is empty. Then the first member polls again, or commits first.
Expect:  librdkafka does not mark the assignment as lost if a rebalance is in progress
         (`rd_kafka_cgrp_revoke_all_rejoin_maybe`), and commits its position when it gives the
         partitions up. The coordinator refuses it: its member id is empty, its generation is not
         -1. No commit goes back.
Source:  librdkafka#5604; `ClassicGroup.validateOffsetCommit`.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, GroupPlan, MemberPlan, TopicPlan
from contract.software import Client
from contract.terms import Check, CommitEpoch, Manner, ResetPolicy, Stage
from harness.story.run import Run
from harness.story.scenario import Scenario

WRITTEN = 100
POLL_MS = 6000
FIRST, SECOND = 1, 2
SETTINGS: dict[str, str | int] = {
    "max.poll.interval.ms": POLL_MS,
    "session.timeout.ms": POLL_MS,
    "heartbeat.interval.ms": 500,
}
JAVAS = "org.apache.kafka.clients.consumer."
STRATEGIES = {
    Client.LIBRDKAFKA: {"eager": "range", "cooperative": "cooperative-sticky"},
    Client.JAVA: {
        "eager": f"{JAVAS}RangeAssignor",
        "cooperative": f"{JAVAS}CooperativeStickyAssignor",
    },
}
AUTO_COMMIT = "auto.commit.interval.ms"
SOON_MS, LATE_MS = 500, 60_000


def _group(client: Client, manner: Manner, kind: str) -> GroupPlan:
    settings = {**SETTINGS, "partition.assignment.strategy": STRATEGIES[client][kind]}
    is_auto = manner == Manner.AUTO
    first = settings | ({AUTO_COMMIT: LATE_MS} if is_auto else {})
    return GroupPlan(
        group=f"{client}.{manner}.{kind}",
        client=client,
        topic="orders",
        commit_epoch=CommitEpoch.RECORD,
        manner=manner,
        reset=ResetPolicy.EARLIEST,
        members=2,
        settings=settings | ({AUTO_COMMIT: SOON_MS} if is_auto else {}),
        others={FIRST: MemberPlan(client=client, settings=first)},
    )


class LostMemberScenario(Scenario):
    """The same story for each end of the second member."""

    topology = Topology(brokers=1)
    orders = TopicPlan(
        topic="orders", partitions=2, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(
        _group(client, manner, kind)
        for client, strategies in STRATEGIES.items()
        for manner in (Manner.AUTO, Manner.SYNC)
        for kind in strategies
    )
    must_judge = (
        Check.COMMIT_REGRESSED,
        Check.COMMIT_FROM_OLD_GENERATION,
        Check.DOUBLE_OWNERSHIP,
        Check.START_MISMATCH,
        Check.SKIPPED_RECORD,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(commit_regressed.rows(verdict='violation') + "
        "commit_from_old_generation.rows(verdict='violation'), asked='commit over its successor') "
        "}}: of the members that had lost their partitions, "
        "{{ commits.rows(outcome='failed') | noun('commit') }} were refused; "
        "{{ commit_regressed.rows(verdict='violation') }} went back."
    )
    follows = Consequence(
        sentence=(
            "A member that polls too rarely loses its partitions, and what it had not committed "
            "is delivered again, here {{ duplicate_delivery.records | noun('record') }}."
        ),
        document="KIP-62; Javadoc of KafkaConsumer, Detecting Consumer Failures",
    )

    @matrix(second=["stays", "leaves"])
    def test_lost_member(self, second: str) -> None:
        groups = self.groups_here(self.groups)
        with self.running(topics=[self.orders], groups=groups) as run:
            run.create(assignment=[1])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "the first members read")
            self.write(run)
            first = run.open(groups, incarnation=1, number=FIRST)
            run.consume(first)
            run.phases.enter(Stage.HELD, "the second members take over")
            others = run.open(groups, incarnation=1, number=SECOND)
            run.workload.start_reading(others)
            self.write(run)
            for group in groups:
                run.groups.await_committed_above(
                    group.group, {f"orders-{partition}": 2 * WRITTEN - 1 for partition in range(2)}
                )
            if second == "leaves":
                run.workload.stop_reading(others)
                run.close(others)
            run.phases.enter(Stage.HEALED, "the first members are back")
            plain = [group for group in groups if group.manner == Manner.SYNC]
            run.commit(plain, incarnation=1, number=FIRST)
            run.workload.start_reading(first)
            for group in groups:
                run.groups.await_members(group.group, 2 if second == "stays" else 1)
            open_now = first if second == "leaves" else [*first, *others]
            run.workload.end()
            run.consume(open_now)
            run.commit(groups, incarnation=1, number=FIRST)
            run.close(open_now)
            run.settle()

    def write(self, run: Run) -> None:
        """Write some records to each partition."""
        for partition in range(self.orders.partitions):
            run.produce(
                "orders", count=WRITTEN, producer=f"writer-{partition}", partition=partition
            )

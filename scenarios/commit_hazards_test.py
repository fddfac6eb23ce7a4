"""What does each way of committing cost a group under each hazard?

Cluster: 3 brokers; topics with replicas on brokers 1 and 2. Records 0 to 49 are written under
         epoch 0, led by broker 2, and 50 to 99 under epoch 1, led by broker 1.
Fault:   every group reads, commits in its own manner and style, and is closed and opened again.
         The hazard lies between reading, committing and resuming:
         clean      the leader changes between the last poll and the commit; no record is lost.
         expired    the same; then DeleteRecords removes the epoch before the group's (topic
                    `part`), the group's too (`whole`), or records after its position (`beyond`).
         truncated  as in commit_epoch: 100 records that only broker 1 has are read, and lost by an
                    unclean election; the groups commit without another poll. New records: beyond
                    the groups' position in topic `above`, not so far in `below`.
         validated  broker 1, the only replica in sync, is restarted, so that its epoch grows. The
                    groups poll again, without new records, and commit. Then the unclean election.
         empty      two clean changes of the leader, the first before the commit; no record has the
                    epoch in between.
         control    a transaction is aborted under a newer epoch than its records have: the groups
                    commit after its control record.
         recreated  the topic is deleted and created again while the groups are closed.
Expect:  docs/arbiter.md has the prediction for each row, made from the source before the first
         run, and the outcome.
Source:  KAFKA-19902, KAFKA-20507, KAFKA-15344, KIP-320, KIP-516.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.clients import Client
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from contract.run_folder import Expectation, GroupPlan, TopicPlan
from contract.stages import Stage
from harness.faults.bounce import Bounce
from harness.faults.delete import DeleteBefore
from harness.faults.elect import Elect
from harness.faults.kill import Kill
from harness.faults.reassign import Reassign
from harness.faults.recreate import Recreate
from harness.faults.targets import FollowerOf, LeaderOf
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.transactions import require

PER_EPOCH, LOST, LATER, ABORTED, RECREATED = 50, 100, 50, 10, 150
NEW = {"above": 250, "below": 50}
HAZARDS = {
    "clean": ("kept",),
    "expired": ("part", "whole", "beyond"),
    "truncated": ("above", "below"),
    "validated": ("above",),
    "empty": ("kept",),
    "control": ("kept",),
    "recreated": ("kept",),
}
DELETED_BEFORE = {"part": 75, "whole": 100, "beyond": 130}
CONSUME_SECONDS = 20

_EVERY_RESET = ((CommitEpoch.RECORD, Manner.SYNC), (CommitEpoch.NONE, Manner.SYNC))
_WAYS = (
    *((style, Manner.SYNC) for style in CommitEpoch),
    (CommitEpoch.RECORD, Manner.ASYNC),
    (CommitEpoch.NONE, Manner.ASYNC),
    (CommitEpoch.RECORD, Manner.AUTO),
    (CommitEpoch.RECORD, Manner.REVOKED),
    (CommitEpoch.NONE, Manner.REVOKED),
    (CommitEpoch.APPLICATION, Manner.EXTERNAL),
    (CommitEpoch.NONE, Manner.EXTERNAL),
    (CommitEpoch.APPLICATION, Manner.TRANSACTIONAL),
    (CommitEpoch.NONE, Manner.TRANSACTIONAL),
)
"""Every pair of a style and a manner that an application can have."""
_BY_NEW_PROTOCOL = (
    (CommitEpoch.RECORD, Manner.SYNC),
    (CommitEpoch.RECORD, Manner.ASYNC),
    (CommitEpoch.RECORD, Manner.AUTO),
    (CommitEpoch.RECORD, Manner.REVOKED),
    (CommitEpoch.METADATA, Manner.SYNC),
    (CommitEpoch.NONE, Manner.SYNC),
)


def _groups(topic: str) -> Iterator[GroupPlan]:
    for client, ways in ((Client.JAVA, _WAYS), (Client.JAVA_CONSUMER, _BY_NEW_PROTOCOL)):
        for style, manner in ways:
            is_each = client is Client.JAVA and (style, manner) in _EVERY_RESET
            for reset in ResetPolicy if is_each else (ResetPolicy.EARLIEST,):
                yield GroupPlan(
                    group=f"{topic}.{client}.{manner}.{style}.{reset}",
                    client=client,
                    topic=topic,
                    commit_epoch=style,
                    manner=manner,
                    reset=reset,
                    labels={"topic": topic, "client": str(client), "manner": str(manner)},
                )


def _expected(groups: Sequence[GroupPlan]) -> list[Expectation]:
    """What a commit may cost is counted for each way; no way has to fail."""
    names = [group.group for group in groups]
    found = (
        Check.SKIPPED_RECORD,
        Check.TRUNCATION_UNDETECTED,
        Check.SILENT_REVALIDATION,
        Check.UNJUSTIFIED_RESET,
        Check.STUCK_CONSUMER,
        Check.START_MISMATCH,
    )
    return [Expectation(check=check, groups=names, is_optional=True) for check in found]


class CommitHazardsScenario(Scenario):
    """One hazard a run: each way to commit is a group of its own."""

    topology = Topology(brokers=3, combined=(3,))
    groups = tuple(_groups("kept"))
    must_judge = (
        Check.SKIPPED_RECORD,
        Check.RESUMPTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "Of {resumption.groups:group}, {resumption.groups never_delivered>0} skipped records "
        "({resumption.never_delivered never_delivered>0}), and {resumption.groups redelivered>0} "
        "were delivered records again ({resumption.redelivered redelivered>0})."
    )

    @matrix(hazard=list(HAZARDS))
    def test_commit_hazards(self, hazard: str) -> None:
        topics = [self.topic(name, hazard) for name in HAZARDS[hazard]]
        groups = self.groups_here([group for topic in topics for group in _groups(topic.topic)])
        with self.running(topics=topics, groups=groups, expects=_expected(groups)) as run:
            run.create(assignment=[2, 1])
            write(run, PER_EPOCH, producer="epoch-0")
            change_leader(run, [1, 2])
            write(run, PER_EPOCH, producer="epoch-1")
            stories = {
                "clean": self.leader_changes,
                "expired": self.leader_changes,
                "truncated": self.records_are_lost,
                "validated": self.records_are_lost,
                "empty": self.leader_changes,
                "control": self.transaction_is_aborted,
                "recreated": self.topic_is_recreated,
            }
            stories[hazard](run, hazard, groups)
            run.settle()

    def topic(self, name: str, hazard: str) -> TopicPlan:
        """Return the plan of a topic."""
        return TopicPlan(
            topic=name,
            partitions=1,
            replication=2,
            min_insync=1,
            unclean_election=hazard in ("truncated", "validated"),
            deletes=hazard == "expired",
        )

    def leader_changes(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Change the leader between reading and committing, and what follows for the hazard."""
        with reading(run, groups):
            change_leader(run, [2, 1])
            run.commit(groups, incarnation=1)
        if hazard == "empty":
            change_leader(run, [1, 2])
        write(run, LATER, producer="later", stage=Stage.HELD)
        for topic in run.plan.topics if hazard == "expired" else []:
            run.inject(DeleteBefore(topic.topic, 0, offset=DELETED_BEFORE[topic.topic]))
        resume(run, groups)

    def records_are_lost(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Lose records that all groups have read, by an unclean election."""
        topics = [topic.topic for topic in run.plan.topics]
        follower = run.inject(Kill(FollowerOf(topics[0], 0)))
        for topic in topics:
            run.await_isr(topic, 0, [1])
        write(run, LOST, producer="lost", stage=Stage.HELD)
        with reading(run, groups) as members:
            if hazard == "validated":
                run.inject(Bounce(LeaderOf(topics[0], 0)))
                run.await_leader(topics[0], 0, 1)
                run.consume(members)
                run.commit(groups, incarnation=1)
            leader = run.inject(Kill(LeaderOf(topics[0], 0)))
            follower.heal()
            for topic in topics:
                run.await_leader(topic, 0, 2)
                run.produce(topic, count=NEW[topic], producer=f"new-{topic}")
            if hazard != "validated":
                run.commit(groups, incarnation=1)
        resume(run, groups)
        leader.heal()

    def transaction_is_aborted(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Abort a transaction under a newer epoch than its records have."""
        del hazard
        (topic,) = run.plan.topics
        transactions = run.transactions
        require(
            transactions.open("aborted", transactional_id="aborted"),
            transactions.begin("aborted"),
            transactions.send("aborted", topic, count=ABORTED),
        )
        change_leader(run, [2, 1])
        require(transactions.abort("aborted"))
        with reading(run, groups):
            change_leader(run, [1, 2])
            run.commit(groups, incarnation=1)
        write(run, LATER, producer="later", stage=Stage.HELD)
        resume(run, groups)

    def topic_is_recreated(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Delete the topic and create it again while no group has a member."""
        del hazard
        with reading(run, groups):
            run.commit(groups, incarnation=1)
        (topic,) = run.plan.topics
        run.inject(Recreate(topic.topic))
        write(run, RECREATED, producer="recreated", stage=Stage.HELD)
        resume(run, groups)


@contextmanager
def reading(run: Run, groups: list[GroupPlan]) -> Iterator[list[str]]:
    """Let every group read to the log end, and close it after the block."""
    run.phases.enter(Stage.HELD, f"{len(groups)} groups read")
    members = run.open(groups, incarnation=1)
    run.consume(members)
    yield members
    run.phases.enter(Stage.HELD, "groups stop")
    run.close(members)


def resume(run: Run, groups: list[GroupPlan]) -> None:
    """Open every group again, and let it read to the log end."""
    run.phases.enter(Stage.HELD, "groups resume")
    members = run.open(groups, incarnation=2)
    run.consume(members, timeout_seconds=CONSUME_SECONDS)
    run.close(members)


def write(run: Run, count: int, *, producer: str, stage: Stage = Stage.WARM_UP) -> None:
    """Write the same number of records to each topic."""
    run.phases.enter(stage, f"writing {count} records to each topic ({producer})")
    for topic in run.plan.topics:
        run.produce(topic.topic, count=count, producer=f"{producer}-{topic.topic}")


def change_leader(run: Run, replicas: list[int]) -> None:
    """Let the first of these replicas, which are in sync, lead every topic."""
    for topic in run.plan.topics:
        run.inject(Reassign(topic.topic, 0, replicas=replicas))
        run.inject(Elect(topic.topic, 0, unclean=False))

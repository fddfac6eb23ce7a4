"""What does each way of committing cost a group under each hazard?

Cluster: 3 brokers; topics with replicas on brokers 1 and 2. Records 0 to 49 are written under
         epoch 0, led by broker 2, and 50 to 99 under epoch 1, led by broker 1.
Fault:   every group reads, commits in its own manner and style, and is closed and opened again.
         The hazard lies between reading, committing and resuming:
         clean      the leader changes between the last poll and the commit; no record is lost.
         expired    the same; then DeleteRecords removes the epoch before the group's (topic
                    `part`), the group's too (`whole`), or records after its position (`beyond`).
         retained   the same; then retention removes all records that the groups have read, by
                    time (topic `time`) or by size (topic `size`).
         truncated  as in commit_epoch: 100 records that only broker 1 has are read, and lost by an
                    unclean election; the groups commit without another poll. New records: beyond
                    the groups' position in topic `above`, not so far in `below`.
         validated  broker 1, the only replica in sync, is restarted, so that its epoch grows. The
                    groups poll again, without new records, and commit. Then the unclean election.
         returned   as `truncated`, with new records beyond the groups' position; then a second
                    unclean election brings the lost records back, and removes the new ones.
         twice      as `returned`, but the groups begin to read between the two elections: in topic
                    `longer` beyond the end of the records that come back, in `shorter` not so far.
         empty      two clean changes of the leader, the first before the commit; no record has the
                    epoch in between.
         control    a transaction is aborted under a newer epoch than its records have: the groups
                    commit after its control record.
         aborted    all of a transaction has a newer epoch than the records before it, and it is
                    aborted: the groups read committed records only, and commit after it.
         recreated  the topic is deleted and created again while the groups are closed.
Expect:  docs/arbiter.md has the prediction for each row, made from the source before the first
         run, and the outcome.
Source:  KAFKA-19902, KAFKA-20507, KAFKA-15344, KIP-279, KIP-320, KIP-516.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.terms import Check, CommitEpoch, Isolation, Stage
from harness.faults import (
    Bounce,
    By,
    DeleteBefore,
    Elect,
    Expire,
    FollowerOf,
    HeldFault,
    Kill,
    LeaderOf,
    Reassign,
    Recreate,
)
from harness.faults.expire import EXPIRING_TOPIC
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.transactions import require
from scenarios.commit_ways import every_group, usual_groups

PER_EPOCH, LOST, LATER, ABORTED, RECREATED = 50, 100, 50, 10, 150
NEW = {"above": 250, "below": 50, "kept": 250, "longer": 250, "shorter": 50}
AFTER_RETURN = 250
READ = 100
"""Where the groups' position is unless the hazard moves it."""
HAZARDS = {
    "clean": ("kept",),
    "expired": ("part", "whole", "beyond"),
    "retained": ("time", "size"),
    "truncated": ("above", "below"),
    "validated": ("above",),
    "returned": ("kept",),
    "twice": ("longer", "shorter"),
    "empty": ("kept",),
    "control": ("kept",),
    "aborted": ("kept",),
    "recreated": ("kept",),
}
_UNCLEAN = ("truncated", "validated", "returned", "twice")
_DELETING = {"expired": ("part", "whole", "beyond"), "retained": ("size",)}
RETENTION_MS = 3000
SMALL_SEGMENTS = {**EXPIRING_TOPIC, "segment.ms": "1"}
"""Each append begins a segment, unless it comes in the millisecond of the one before."""
DELETED_BEFORE = {"part": 75, "whole": 100, "beyond": 130}
CONSUME_SECONDS = 20


def _expectations(groups: Sequence[GroupPlan]) -> list[Expectation]:
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
    faulty = [group.group for group in groups if group.commit_epoch == CommitEpoch.STALE]
    reported = Expectation(check=Check.FALSE_TRUNCATION, groups=faulty, is_optional=True)
    return [
        *(Expectation(check=check, groups=names, is_optional=True) for check in found),
        *([reported] if faulty else []),
    ]


class CommitHazardsScenario(Scenario):
    """One hazard a run: each way to commit is a group of its own."""

    topology = Topology(brokers=3, combined=(3,))
    groups = tuple(usual_groups("kept"))
    must_judge = (
        Check.SKIPPED_RECORD,
        Check.RESUMPTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "Of {{ resumption.groups | noun('group') }}, "
        "{{ resumption.groups(never_delivered=above(0)) }} skipped records ("
        "{{ resumption.never_delivered(never_delivered=above(0)) }}), and "
        "{{ resumption.groups(redelivered=above(0)) }} were delivered records again ("
        "{{ resumption.redelivered(redelivered=above(0)) }})."
    )
    follows = Consequence(
        sentence=(
            "Of {{ resumption.groups(commit_epoch='record|application') | noun('group') }} that "
            "committed the epoch of the last record, as commitSync() does, "
            "{{ resumption.groups(commit_epoch='record|application', never_delivered=above(0)) }} "
            "skipped records, and of {{ resumption.groups(commit_epoch='none') | noun('group') }} "
            "that committed none, "
            "{{ resumption.groups(commit_epoch='none', never_delivered=above(0)) }} did: a "
            "consumer detects a truncation by the epoch of the last record."
        ),
        document="Javadoc of OffsetAndMetadata.leaderEpoch(); KIP-320",
    )

    @matrix(hazard=list(HAZARDS))
    def test_commit_hazards(self, hazard: str, ways: Sequence[int] = ()) -> None:
        """`ways`: numbers of groups in the list of all; the usual ones if none are given."""
        every = groups_of(hazard, every=True)
        groups = self.groups_here([every[way] for way in ways] or groups_of(hazard))
        names = {group.topic for group in groups}
        topics = [topic_of(name, hazard) for name in HAZARDS[hazard] if name in names]
        with self.running(topics=topics, groups=groups, expects=_expectations(groups)) as run:
            is_small = hazard == "retained"
            run.create(assignment=[2, 1], settings=SMALL_SEGMENTS if is_small else None)
            write(run, PER_EPOCH, producer="epoch-0")
            change_leader(run, [1, 2])
            write(run, PER_EPOCH, producer="epoch-1")
            stories = {
                "clean": self.leader_changes,
                "expired": self.leader_changes,
                "retained": self.leader_changes,
                "truncated": self.records_are_lost,
                "validated": self.records_are_lost,
                "returned": self.records_come_back,
                "twice": self.records_come_back,
                "empty": self.leader_changes,
                "control": self.transaction_is_aborted,
                "aborted": self.transaction_is_aborted,
                "recreated": self.topic_is_recreated,
            }
            stories[hazard](run, hazard, groups)
            run.settle()

    def leader_changes(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Change the leader between reading and committing, and what follows for the hazard."""
        with reading(run, groups):
            change_leader(run, [2, 1])
            run.commit(groups, incarnation=1)
        if hazard == "empty":
            change_leader(run, [1, 2])
        if hazard == "retained":
            for topic in run.plan.topics:
                expire(run, topic)
        else:
            write(run, LATER, producer="later", stage=Stage.HELD)
        for topic in run.plan.topics if hazard == "expired" else []:
            run.inject(DeleteBefore(topic.topic, 0, offset=DELETED_BEFORE[topic.topic]))
        resume(run, groups)

    def records_are_lost(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Lose records that all groups have read, by an unclean election."""
        topic = run.plan.topics[0].topic
        follower = write_to_leader_alone(run)
        with reading(run, groups) as members:
            if hazard == "validated":
                run.inject(Bounce(LeaderOf(topic, 0)))
                run.await_leader(topic, 0, 1)
                run.consume(members)
                run.commit(groups, incarnation=1)
            leader = elect_unclean(run, follower, broker=2)
            write_new(run)
            if hazard != "validated":
                run.commit(groups, incarnation=1)
        resume(run, groups)
        leader.heal()

    def records_come_back(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Elect the replica with the lost records again, instead of the one without them."""
        follower = write_to_leader_alone(run)
        if hazard == "returned":
            with reading(run, groups):
                leader = elect_unclean(run, follower, broker=2)
                write_new(run)
                run.commit(groups, incarnation=1)
            second = elect_unclean(run, leader, broker=1)
            write(run, AFTER_RETURN, producer="after", stage=Stage.HELD)
        else:
            leader = elect_unclean(run, follower, broker=2)
            write_new(run)
            with reading(run, groups):
                second = elect_unclean(run, leader, broker=1)
                write(run, AFTER_RETURN, producer="after", stage=Stage.HELD)
                run.commit(groups, incarnation=1)
        resume(run, groups)
        second.heal()

    def transaction_is_aborted(self, run: Run, hazard: str, groups: list[GroupPlan]) -> None:
        """Abort a transaction under a newer epoch than the records before, or than its own."""
        (topic,) = run.plan.topics
        transactions = run.transactions
        require(
            transactions.open("aborted", transactional_id="aborted"),
            transactions.begin("aborted"),
        )
        if hazard == "aborted":
            change_leader(run, [2, 1])
        require(transactions.send("aborted", topic, count=ABORTED))
        if hazard == "control":
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


def groups_of(hazard: str, *, every: bool = False) -> list[GroupPlan]:
    """Return the usual groups of a hazard, or every group that it can have."""
    topics = HAZARDS[hazard]
    isolation = Isolation.READ_COMMITTED if hazard == "aborted" else Isolation.READ_UNCOMMITTED
    if every:
        return every_group(topics, isolation)
    return [group for topic in topics for group in usual_groups(topic, isolation)]


def topic_of(name: str, hazard: str) -> TopicPlan:
    """Return the plan of a hazard's topic."""
    return TopicPlan(
        topic=name,
        partitions=1,
        replication=2,
        min_insync=1,
        unclean_election=hazard in _UNCLEAN,
        retention_ms=RETENTION_MS if name == By.TIME else None,
        deletes=name in _DELETING.get(hazard, ()),
    )


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


def write_to_leader_alone(run: Run) -> HeldFault:
    """Kill broker 2, and write records that only broker 1 has."""
    follower = run.inject(Kill(FollowerOf(run.plan.topics[0].topic, 0)))
    for topic in run.plan.topics:
        run.await_isr(topic.topic, 0, [1])
    write(run, LOST, producer="lost", stage=Stage.HELD)
    return follower


def elect_unclean(run: Run, killed: HeldFault, *, broker: int) -> HeldFault:
    """Kill the leader, start the broker that was killed before, and wait until it leads."""
    leader = run.inject(Kill(LeaderOf(run.plan.topics[0].topic, 0)))
    killed.heal()
    for topic in run.plan.topics:
        run.await_leader(topic.topic, 0, broker)
    return leader


def write_new(run: Run) -> None:
    """Write to each topic what it gets after its first unclean election."""
    for topic in run.plan.topics:
        run.produce(topic.topic, count=NEW[topic.topic], producer=f"new-{topic.topic}")


def expire(run: Run, topic: TopicPlan) -> None:
    """Let all that was read expire; by size, a record is needed that begins a new segment."""
    by = By(topic.topic)
    later = f"later-{topic.topic}"
    if by is By.SIZE:
        run.produce(topic.topic, count=1, producer=later)
    run.inject(Expire(topic, by, up_to=READ)).heal()
    if by is By.TIME:
        run.produce(topic.topic, count=LATER, producer=later)

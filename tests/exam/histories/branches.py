"""Branches: epochs that a partition never had, and commits whose branch was abandoned."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import begun, cut, joined, left, moved, plain, reads_to, watched

BRANCH = "KIP-320: offset and epoch name a place on one branch of the log"


@asks(
    "A commit carries epoch 7, and the partition never had more than epoch 1.",
    source="OffsetForLeaderEpoch: a larger epoch than the leader's is unknown; "
    "PartitionRegistration.merge: only a change of the leader makes an epoch",
    expects={
        "committed_epoch_unknown": f"{VIOLATION}: no such epoch: the partition never had this "
        "leader epoch",
        "committed_epoch_missing": NONE,
    },
)
def epoch_that_never_was(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=26.0)
    h.polled(50, 79, at=27.0, epoch=1)
    h.commit(80, 7, at=40.0, record_epoch=1, cluster_epoch=1, brokers=(1, 2))
    left(h, 80, at=80.0)


@asks(
    "A commit with epoch 1 is 20 ms older, by its clock, than the election of epoch 1.",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    expects={"committed_epoch_unknown": NOT_VIOLATION, "commit_beyond_processed": NONE},
)
def epoch_begins_within_the_clock_bound(h: History) -> None:
    h.topic()
    h.group()
    moved(h, at=19.0)
    reads_to(h, 49)
    h.polled(50, 79, at=21.5, epoch=1)
    h.rows["leaderships"][-1]["at_micros"] = h.at(22.03)
    h.rows["leader_epoch_starts"][-1]["at_micros"] = h.at(22.03)
    for row in h.rows["sends"]:
        if row["offset"] >= 50:
            row["intended_micros"], row["answered_micros"] = h.at(22.04), h.at(22.05)
    for row in h.rows["polls"]:
        if row["offset"] >= 50:
            row["polled_micros"] = h.at(22.0)
    h.commit(80, 1, at=22.01, cluster_epoch=1, brokers=(1, 2))
    left(h, 80, at=80.0)


@asks(
    "Epoch 1 had a leader and no record; an application that asks the cluster commits it.",
    source="KIP-101: an epoch without records is one of the partition's; "
    "PartitionRegistration.merge: each change of the leader makes one",
    expects={"committed_epoch_unknown": NONE, "orphan_commit": NONE, "commit_mismatch": NONE},
)
def epoch_without_records_is_known(h: History) -> None:
    h.topic()
    h.group(commit_epoch="forced")
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.led(2, 1, at=20.0, isr=(1, 2), starts=50)
    watched(h, 2, 50, times=(21.0, 28.0), epoch=1)
    h.led(1, 2, at=30.0, isr=(1, 2), starts=50)
    h.sent(50, 99, at=32.0)
    watched(h, 1, 100, times=(35.0, 45.0, 55.0, 65.0, 75.0), epoch=2)
    copies(h, (1, 2), (0, 49, 0), (50, 99, 2), high_watermark=100)
    joined(h, 0, at=5.5)
    h.polled(0, 49, at=6.0)
    h.commit(50, 1, at=25.0, style="forced", record_epoch=0, cluster_epoch=1, brokers=(1, 2))
    h.polled(50, 99, at=40.0, epoch=2)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "A commit (100, epoch 0) is on a branch that an unclean election abandoned at 50.",
    source=BRANCH + "; unclean.leader.election.enable",
    expects={"orphan_commit": PERMITTED, "committed_epoch_unknown": NONE, "commit_expired": NONE},
)
def orphan_by_an_unclean_election(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2))
    left(h, 100, at=18.0)


@asks(
    "The topic allows unclean elections, but the election that cut 50 to 99 was clean.",
    source="Kafka's documentation, Replication: a clean election loses no committed record; "
    "decision 15: a setting permits nothing",
    expects={
        "orphan_commit": VIOLATION,
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
        "committed_epoch_unknown": NONE,
    },
)
def orphan_by_a_clean_election(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h, unclean=False)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2))
    left(h, 100, at=18.0)


@asks(
    "The topic forbids unclean elections, and one is ordered by hand; it abandons a commit.",
    source="ReplicationControlManager.electLeader: ElectLeaders, type unclean, needs no "
    "configuration",
    expects={
        "orphan_commit": PERMITTED,
        "lost_record": PERMITTED,
        "unclean_election_unconfigured": PERMITTED,
        "committed_epoch_unknown": NONE,
    },
)
def orphan_by_an_ordered_election(h: History) -> None:
    _ordered(h, partition=0)


@asks(
    "The topic forbids unclean elections; one happens on a partition while another is ordered.",
    source="ElectLeaders is by partition (KIP-460); decision 15: permitted names the event",
    expects={"orphan_commit": VIOLATION, "unclean_election_unconfigured": VIOLATION},
)
def order_for_another_partition_permits_nothing(h: History) -> None:
    _ordered(h, partition=1)


@asks(
    "A commit (50, epoch 0) is exactly where the surviving branch parts.",
    source=BRANCH + "; the end offset of epoch 0 is 50, so that the commit is valid",
    expects={
        "orphan_commit": NONE,
        "truncation_undetected": NONE,
        "commit_beyond_log": NONE,
        "start_mismatch": NONE,
    },
)
def commit_at_the_divergence(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2))
    left(h, 50, at=10.0)
    joined(h, 50, at=50.0, member="2", generation=3)
    h.polled(50, 149, at=51.0, epoch=1, sequence=100, member="2")
    left(h, 150, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "The only commit on an abandoned branch was refused; what is stored lies below it.",
    source="contract/outcomes.py: failed, it definitely did not happen",
    expects={"orphan_commit": NONE, "lost_commit": NONE, "commit_mismatch": NONE},
)
def refused_commit_is_no_orphan(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 99, at=13.0)
    h.commit(
        100,
        0,
        at=15.0,
        stored=False,
        outcome="failed",
        error="CommitFailedException",
        generation=1,
    )
    h.changed("revoked", at=16.0, position=100)


@asks(
    "A group that began after the cut commits on the branch that lives.",
    source=BRANCH,
    expects={"orphan_commit": NONE, "committed_epoch_stale": NONE, "commit_beyond_log": NONE},
)
def later_commit_on_the_living_branch(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    joined(h, 0, at=50.0)
    h.polled(0, 49, at=51.0)
    h.polled(50, 99, at=52.0, epoch=1, sequence=100)
    h.commit(100, 1, at=55.0, cluster_epoch=1, brokers=(1, 2))
    h.polled(100, 149, at=56.0, epoch=1, sequence=150)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "A commit lies in the part of epoch 0 that stays, while an unclean election cuts what follows.",
    source=BRANCH,
    expects={"orphan_commit": NONE, "commit_beyond_log": NONE, "commit_expired": NONE},
)
def commit_below_the_divergence(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    reads_to(h, 29)
    h.commit(30, 0, at=8.0, brokers=(1, 2))
    left(h, 30, at=18.0)


@asks(
    "A topic has one epoch only, and its group commits it again and again.",
    source="KIP-320, OffsetCommit: the leader epoch is that of the previously fetched record",
    expects={
        "orphan_commit": NONE,
        "committed_epoch_unknown": NONE,
        "committed_epoch_behind_leader": NONE,
        "committed_epoch_regressed": NONE,
        "committed_epoch_stale": NONE,
        "committed_epoch_ahead": NONE,
    },
)
def one_epoch_is_committed_again_and_again(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    for number in range(4):
        h.polled(25 * number, 25 * number + 24, at=6.0 + 10 * number)
        h.commit(25 * number + 25, 0, at=8.0 + 10 * number, cluster_epoch=0, brokers=(1, 2))
    h.commit(100, 0, at=60.0, cluster_epoch=0, brokers=(1, 2))
    left(h, 100, at=80.0, caught_up=True)


def _ordered(h: History, *, partition: int) -> None:
    """The story of `cut`, with an unclean election ordered for one of two partitions."""
    h.topic(partitions=2)
    h.group()
    cut(h, waits=True)
    h.led(2, 0, at=0.5, isr=(1, 2), starts=0, partition=1)
    h.sent(0, 9, at=2.0, producer="p1", partition=1)
    h.led(2, 0, at=23.0, isr=(2,), partition=1)
    h.led(2, 0, at=45.0, isr=(1, 2), partition=1)
    copies(h, (1, 2), (0, 9, 0), producers={0: "p1"}, high_watermark=10, partition=1)
    target = h.on_partition("t", partition)
    h.fault("elect unclean", target, injected=23.8, proved=24.1, heal_began=24.1, healed=24.1)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2))
    left(h, 100, at=18.0)


@asks(
    "A group that the plan does not name reads on in silence behind a truncation.",
    source="KIP-320: a consumer is told of a truncation; docs/findings.md: what it read is judged",
    expects={"truncation_undetected": VIOLATION},
)
def group_that_nobody_planned(h: History) -> None:
    h.topic(unclean_election=True)
    cut(h)
    h.polled(0, 99, at=13)
    h.polled(100, 149, at=50, epoch=1, member="2", sequence=150)

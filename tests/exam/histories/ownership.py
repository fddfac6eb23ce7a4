"""Generations and ownership: who may commit, who may read, and where a member starts."""

from typing import Any

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.transaction_verbs import stored_in_transaction
from tests.exam.verbs import closed, first_start, joined, left, plain, reads_to

CLASSIC = "OffsetCommit, error ILLEGAL_GENERATION: the generation must be the group's"
CONSUMER = "KIP-848, section OffsetCommit: the member's own epoch is checked, not the group's"
START = (
    "KafkaConsumer Javadoc, section Offsets and Consumer Position: a process that is started "
    "again recovers to the committed position"
)
CURRENT = "ClassicGroup.validateOffsetCommit: only a member of the current generation may commit"
KIP_1251 = (
    "KIP-1251: a member may commit a partition under any epoch that is not older than the one at "
    "which the partition was assigned to it"
)
COOPERATIVE = "KIP-429: a partition is assigned to another member only after its owner revoked it"
STICKY = {
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
}


@asks(
    "A member of generation 3 commits 60 and is acknowledged while generation 4 owns and reads.",
    source=CLASSIC,
    expects={"commit_from_old_generation": VIOLATION, "lost_commit": NONE, "commit_mismatch": NONE},
)
def old_generation_is_acknowledged(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _handed_over(h)
    h.commit(60, 0, at=40.0, brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=4)


@asks(
    "A member of generation 3 commits while generation 4 reads, and is refused.",
    source=CLASSIC,
    expects={
        "commit_from_old_generation": NONE,
        "lost_commit": NONE,
        "commit_mismatch": NONE,
        "double_ownership": NONE,
    },
)
def old_generation_is_refused(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _handed_over(h)
    h.commit(
        60,
        0,
        at=40.0,
        stored=False,
        outcome="failed",
        error="CommitFailedException",
        generation=3,
    )
    left(h, 100, at=80.0, member="2", generation=4)


@asks(
    "A member commits 60 with its generation 3 after a rebalance began, before generation 4 is.",
    source="GroupCoordinator: a preparing rebalance accepts commits of the generation in force",
    expects={
        "commit_from_old_generation": NONE,
        "double_ownership": NONE,
        "start_mismatch": NONE,
        "commit_regressed": NONE,
    },
)
def commit_while_a_rebalance_is_prepared(h: History) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    plain(h, 49, partition=1)
    joined(h, 0, at=5.0, generation=3, partitions=(0, 1))
    h.polled(0, 59, at=6.0)
    h.polled(0, 9, at=6.1, partition=1, producer="p1")
    h.changed("opened", at=20.0, member="2")
    h.commit(60, 0, at=22.0, brokers=(1, 2), generation=3)
    h.commit(10, 0, at=22.5, partition=1, brokers=(1, 2), generation=3)
    h.changed("revoked", at=23.0, position=60, generation=3)
    h.changed("revoked", at=23.1, position=10, partition=1, generation=3)
    h.changed("assigned", at=24.0, position=10, partition=1, generation=4)
    h.changed("assigned", at=24.2, position=60, member="2", generation=4)
    h.polled(60, 99, at=26.0, member="2")
    h.polled(10, 49, at=26.5, partition=1, producer="p1")
    h.commit(100, 0, at=30.0, member="2", brokers=(1, 2), generation=4)
    h.commit(50, 0, at=30.5, partition=1, brokers=(1, 2), generation=4)


@asks(
    "With the consumer protocol a member at epoch 3 commits what it owns; another is at epoch 4.",
    source=CONSUMER,
    expects={"commit_from_old_generation": NONE, "double_ownership": NONE, "lost_commit": NONE},
)
def member_epochs_differ_within_a_group(h: History) -> None:
    h.topic(partitions=2)
    h.group(client="java-consumer")
    plain(h, 99)
    plain(h, 49, partition=1)
    joined(h, 0, at=5.0, generation=3, partitions=(0, 1))
    h.polled(0, 59, at=6.0)
    h.changed("revoked", at=20.0, position=0, partition=1, generation=3)
    h.changed("opened", at=21.0, member="2")
    h.changed("assigned", at=22.0, position=0, partition=1, member="2", generation=4)
    h.polled(0, 49, at=23.0, partition=1, producer="p1", member="2")
    h.commit(50, 0, at=24.0, partition=1, member="2", brokers=(1, 2), generation=4)
    h.commit(60, 0, at=24.3, brokers=(1, 2), generation=3)
    h.polled(60, 99, at=26.0)
    h.commit(100, 0, at=30.0, brokers=(1, 2), generation=4)


@asks(
    "With the consumer protocol a member at epoch 5 commits, with its epoch 3, what it kept.",
    # Refused with STALE_MEMBER_EPOCH by older versions; accepted since KIP-1251, as the partition
    # has been assigned to the member all the time.
    source="KIP-1251: a commit is held against the epoch at which its partition was assigned",
    expects={"commit_from_old_generation": NOT_VIOLATION, "double_ownership": NONE},
)
def older_member_epoch_of_a_kept_partition(h: History) -> None:
    h.topic(partitions=2)
    h.group(client="java-consumer")
    plain(h, 99)
    plain(h, 49, partition=1)
    joined(h, 0, at=5.0, generation=3)
    h.polled(0, 59, at=6.0)
    h.changed("assigned", at=20.0, position=0, partition=1, generation=5)
    h.polled(0, 49, at=21.0, partition=1, producer="p1")
    h.commit(60, 0, at=22.0, brokers=(1, 2), generation=3)
    h.polled(60, 99, at=23.0)
    h.commit(100, 0, at=30.0, brokers=(1, 2), generation=5)


@asks(
    "With the consumer protocol a commit of epoch 3 is accepted 15 s after its partition was "
    "given to a member of epoch 4.",
    source=CONSUMER + "; KIP-1251 too refuses it, as the partition was assigned anew",
    expects={"commit_from_old_generation": VIOLATION, "lost_commit": NONE},
)
def older_member_epoch_of_a_lost_partition(h: History) -> None:
    h.topic()
    h.group(client="java-consumer")
    plain(h, 99)
    _handed_over(h)
    h.commit(90, 0, at=40.0, brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=4)


@asks(
    "A client that doesn't tell its generation commits after another one, and is acknowledged.",
    source="contract/tables_of_clients.py: generation is -1 where the client does not tell",
    expects={"commit_from_old_generation": NOT_VIOLATION, "commit_regressed": NONE},
)
def untold_generation_is_no_old_one(h: History) -> None:
    h.topic()
    h.group(client="kafka-python")
    plain(h, 99)
    joined(h, 0, at=5.0, generation=-1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=10.0, brokers=(1, 2))
    left(h, 50, at=20.0, generation=-1)
    joined(h, 50, at=30.0, member="2", generation=-1)
    h.polled(50, 99, at=31.0, member="2")
    h.commit(100, 0, at=40.0, member="2", brokers=(1, 2))
    left(h, 100, at=80.0, member="2", generation=-1)


@asks(
    "Two live members own one partition in one generation, and both are delivered it for 20 s.",
    source="KafkaConsumer Javadoc: each partition goes to exactly one member of a group",
    expects={"double_ownership": VIOLATION, "commit_from_old_generation": NONE},
)
def two_members_in_one_generation(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.changed("opened", at=4.5)
    h.changed("opened", at=4.6, member="2")
    h.changed("assigned", at=5.0, position=0, generation=2)
    h.changed("assigned", at=5.2, position=0, member="2", generation=2)
    for number in range(4):
        first = 25 * number
        h.polled(first, first + 24, at=6.0 + 5 * number)
        h.polled(first, first + 24, at=7.0 + 5 * number, member="2")
    left(h, 100, at=80.0, generation=2)
    left(h, 100, at=81.0, member="2", generation=2)


@asks(
    "With the consumer protocol two members are assigned one partition at one member epoch.",
    source="KIP-848: a partition is given on only once its owner has let it go",
    expects={"double_ownership": VIOLATION},
)
def two_members_at_one_member_epoch(h: History) -> None:
    h.topic()
    h.group(client="java-consumer")
    plain(h, 99)
    joined(h, 0, at=5.0, generation=6)
    h.polled(0, 29, at=6.0)
    joined(h, 0, at=10.0, member="2", generation=6)
    h.polled(0, 49, at=12.0, member="2")
    h.polled(30, 69, at=16.0)
    h.polled(50, 99, at=20.0, member="2")
    h.polled(70, 99, at=24.0)
    left(h, 100, at=80.0, generation=6)
    left(h, 100, at=81.0, member="2", generation=6)


@asks(
    "A member that had not polled for long is given what it had fetched before it lost ownership.",
    source="max.poll.interval.ms, session.timeout.ms: a member learns when it polls",
    expects={
        "double_ownership": NONE,
        "commit_from_old_generation": NONE,
        "start_mismatch": NONE,
        "lost_commit": NONE,
    },
)
def slow_member_believes_that_it_owns(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=3)
    h.polled(0, 29, at=6.0)
    h.commit(30, 0, at=8.0, brokers=(1, 2), generation=3)
    joined(h, 30, at=22.0, member="2", generation=4)
    h.polled(30, 69, at=24.0, member="2")
    h.commit(70, 0, at=26.0, member="2", brokers=(1, 2), generation=4)
    h.polled(30, 49, at=40.5)
    h.commit(
        50,
        0,
        at=41.0,
        stored=False,
        outcome="failed",
        error="CommitFailedException",
        generation=3,
    )
    h.changed("revoked", at=41.5, position=50, generation=3)
    h.polled(70, 99, at=45.0, member="2")
    left(h, 100, at=80.0, member="2", generation=4)


@asks(
    "The group's commit is 50, and a new member starts at 70 with no reset.",
    source=START,
    expects={"start_mismatch": VIOLATION, "lost_commit": NONE, "commit_mismatch": NONE},
)
def start_above_the_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _started_at(h, 70)


@asks(
    "The group's commit is 50, and a new member starts at 30 with no reset.",
    source=START,
    expects={"start_mismatch": VIOLATION, "lost_commit": NONE, "skipped_record": NONE},
)
def start_below_the_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _started_at(h, 30)


@asks(
    "A group without any commit starts at the log start by `earliest`.",
    source="auto.offset.reset: it applies where there is no initial offset",
    expects={"start_mismatch": NONE, "unjustified_reset": NONE, "lost_commit": NONE},
)
def first_start_without_a_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.changed("opened", at=4.5)
    first_start(h, 0, at=4.8)
    h.changed("assigned", at=5.0, position=0, generation=1)
    h.polled(0, 99, at=6.0)
    left(h, 100, at=80.0, generation=1, caught_up=True)


@asks(
    "The last acknowledged commit is 50, one of 80 timed out but was stored; the start is at 80.",
    source="TimeoutException of a commit: it may have been carried out; OffsetFetch gives the last",
    expects={"start_mismatch": NONE, "commit_mismatch": NONE, "skipped_record": NONE},
)
def start_at_a_commit_of_unknown_outcome(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=9.0)
    h.commit(
        80,
        0,
        at=15.0,
        brokers=(1, 2),
        outcome="unknown",
        error="TimeoutException",
        generation=1,
    )
    left(h, 80, at=20.0, generation=1)
    joined(h, 80, at=30.0, member="2", generation=3)
    h.polled(80, 99, at=31.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "An offset stored by a transaction that was aborted is no commit: the start is at the one "
    "before.",
    source="KIP-98: offsets of a transaction hold once it is committed",
    expects={"start_mismatch": NONE, "lost_commit": NONE, "commit_regressed": NONE},
)
def start_before_an_aborted_offset(h: History) -> None:
    _start_after_an_aborted_offset(h, 50)


@asks(
    "A member starts at 80, an offset of a transaction that was aborted; the commit is 50.",
    source="KIP-98: offsets of a transaction hold once it is committed",
    expects={"start_mismatch": VIOLATION, "lost_commit": NONE},
)
def start_at_an_aborted_offset(h: History) -> None:
    _start_after_an_aborted_offset(h, 80)


def _start_after_an_aborted_offset(h: History, start: int) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=9.0)
    stored_in_transaction(h, 80, 0, at=12.0, marker="abort")
    left(h, 80, at=20.0, generation=1)
    joined(h, start, at=30.0, member="2", generation=3)
    h.polled(start, 99, at=31.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


def _started_at(h: History, start: int) -> None:
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 50, at=20.0, generation=1)
    joined(h, start, at=30.0, member="2", generation=3)
    h.polled(start, 99, at=31.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


def _handed_over(h: History) -> None:
    """Member 1 of generation 3 reads to 59, member 2 of generation 4 has the partition from 20."""
    joined(h, 0, at=5.0, generation=3)
    h.polled(0, 59, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=3)
    h.changed("revoked", at=15.0, position=60, generation=3)
    joined(h, 50, at=20.0, member="2", generation=4)
    h.polled(50, 79, at=22.0, member="2")
    h.commit(80, 0, at=24.0, member="2", brokers=(1, 2), generation=4)
    h.polled(80, 99, at=30.0, member="2")


@asks_each(
    "Member 1 still gets records after its successor got its first.",
    source="KafkaConsumer Javadoc, section Consumer Groups: a partition is assigned to one member; "
    "a member that is cut off learns late that it is not",
    check="double_ownership",
    cases={
        "It got one 200 ms after that.": (
            f"{UNDECIDED}: overlap",
            {"still": 20.2, "last": 20.0},
        ),
        "It got one 200 ms after that, and the successor's next comes later.": (
            f"{VIOLATION}: overlap: received records for 200 ms after",
            {"still": 20.2},
        ),
        "A fault held.": (f"{PERMITTED}: overlap", {"still": 20.2, "fault": (15, None)}),
        "A fault was healed long before.": (
            f"{VIOLATION}: overlap",
            {"still": 20.2, "fault": (1, 2)},
        ),
        "Both have generation 3.": (f"{VIOLATION}: one generation", {"generations": (3, 3)}),
        "They have generations 3 and 4.": (NONE, {"generations": (3, 4)}),
    },
)
def two_members_get_records(
    h: History,
    *,
    still: float = 20.2,
    last: float = 21,
    fault: tuple[float, float | None] | None = None,
    generations: tuple[int, int] = (-1, -1),
) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    if fault is not None:
        h.fault("kill", h.on_broker(1), injected=fault[0], healed=fault[1])
    joined(h, 0, at=5, generation=generations[0])
    h.polled(0, 49, at=6)
    joined(h, 50, at=18, member="2", generation=generations[1])
    h.polled(50, at=20, member="2")
    h.polled(50, at=still)
    if last > still:
        h.polled(51, at=last, member="2")


@asks(
    "A member of the consumer protocol gives one partition to a new member, and keeps the other.",
    source="KIP-848, Reconciliation: a partition moves once its owner has revoked it",
    expects={
        "commit_from_old_generation": NONE,
        "double_ownership": NONE,
        "start_mismatch": NONE,
        "commit_regressed": NONE,
        "duplicate_delivery": NONE,
    },
)
def one_of_two_partitions_moves(h: History) -> None:
    h.topic(partitions=2)
    h.group(client="java-consumer")
    of_second: dict[str, Any] = {"partition": 1, "producer": "p1"}
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0, partitions=(0, 1))
    h.polled(0, 49, at=6.0)
    h.polled(0, 49, at=6.1, **of_second)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.commit(50, 0, at=8.1, brokers=(1, 2), generation=1, partition=1)
    h.changed("revoked", at=21.0, position=50, generation=1, partition=1)
    joined(h, 50, at=21.6, member="2", generation=2, partitions=(1,))
    h.polled(50, 99, at=22.0)
    h.polled(50, 99, at=22.1, member="2", **of_second)
    h.commit(100, 0, at=23.0, brokers=(1, 2), generation=2)
    reported = {"member": "2", "generation": 2, "partition": 1}
    h.commit(100, 0, at=23.5, brokers=(1, 2), **reported)
    h.changed("caught_up", at=40.0, position=100, generation=2)
    h.changed("caught_up", at=40.1, position=100, **reported)


@asks(
    "An expelled member of the consumer protocol commits, and is told that it was accepted.",
    source="ConsumerGroup.validateOffsetCommit: UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH; KIP-848",
    expects={
        "commit_from_old_generation": VIOLATION,
        "commit_regressed": VIOLATION,
        "double_ownership": NOT_VIOLATION,
        "lost_commit": NONE,
    },
)
def expelled_member_commits_behind_its_successor(h: History) -> None:
    h.topic()
    h.group(client="java-consumer")
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 59, at=9.0)
    joined(h, 50, at=60.0, member="2", generation=3)
    h.polled(50, 99, at=61.0, member="2")
    h.commit(100, 0, at=65.0, member="2", brokers=(1, 2), generation=3)
    h.commit(60, 0, at=70.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, member="2", generation=3)


@asks(
    "An expelled member commits under its old generation, after its successor has come and gone.",
    source=CURRENT + "; whoever owns the partition by then",
    expects={
        "commit_from_old_generation": VIOLATION,
        "commit_regressed": VIOLATION,
        "double_ownership": NONE,
    },
)
def expelled_member_commits_once_its_successor_has_gone(h: History) -> None:
    _expelled(h)
    h.commit(60, 0, at=50.0, brokers=(1, 2), generation=1)
    h.changed("closed", at=55.0)


@asks(
    "An expelled member joins again after its successor has gone, and commits.",
    source=CURRENT + "; it is one again",
    expects={
        "commit_from_old_generation": NONE,
        "commit_regressed": NONE,
        "double_ownership": NONE,
        "start_mismatch": NONE,
    },
)
def expelled_member_joins_again_and_commits(h: History) -> None:
    _expelled(h)
    h.changed("assigned", at=50.0, position=100, generation=5)
    h.commit(100, 0, at=55.0, brokers=(1, 2), generation=5)
    left(h, 100, at=80.0, generation=5, caught_up=True)


@asks(
    "A KIP-848 member commits a partition that it keeps, under the epoch before the newest.",
    source=KIP_1251,
    expects={"commit_from_old_generation": NONE, "double_ownership": NONE, "commit_mismatch": NONE},
)
def older_member_epoch_commits_a_partition_that_it_keeps(h: History) -> None:
    _epochs_of_members(h)
    h.polled(50, 59, at=23.5)
    h.commit(60, 0, at=24.0, brokers=(1, 2), generation=1)
    closed(h, "1", "2")


@asks(
    "A KIP-848 member commits a partition that it gave up, under the epoch at which it had it.",
    source=KIP_1251 + "; ConsumerGroup.validateOffsetCommit: else STALE_MEMBER_EPOCH",
    expects={"commit_from_old_generation": VIOLATION},
)
def older_member_epoch_commits_a_partition_that_it_gave_up(h: History) -> None:
    _epochs_of_members(h)
    h.commit(50, 0, at=24.0, brokers=(1, 2), generation=1, partition=1)
    closed(h, "1", "2")


@asks(
    "A static member is started again, and gets the partition of its neighbour as well, which "
    "has its commit accepted and reads on.",
    source="KIP-345: within a generation each partition has one owner",
    expects={"double_ownership": VIOLATION},
)
def started_static_member_gets_what_its_neighbour_has(h: History) -> None:
    _static_pair(h)
    h.polled(50, 69, at=38.0, member="3")
    h.polled(50, 59, at=40.0)
    h.commit(60, 0, at=50.0, brokers=(1, 2), generation=2)
    h.polled(60, 69, at=55.0)
    closed(h, "1", "3")


@asks(
    "A partition comes back to its first owner, which continues where the second one committed.",
    source=COOPERATIVE,
    expects={
        "double_ownership": NONE,
        "commit_from_old_generation": NONE,
        "start_mismatch": NONE,
        "skipped_record": NONE,
    },
)
def first_owner_has_the_partition_again(h: History) -> None:
    _cooperative(h)
    of_second = {"member": "2", "partition": 1}
    h.commit(70, 0, at=36.0, brokers=(1, 2), generation=3, **of_second)
    h.changed("revoked", at=40.0, position=70, generation=3, **of_second)
    h.changed("closed", at=40.2, member="2")
    h.changed("assigned", at=42.0, position=70, partition=1, generation=4)
    h.polled(70, 99, at=43.0, partition=1, producer="p1")
    h.commit(100, 0, at=45.0, brokers=(1, 2), generation=4, partition=1)
    closed(h, "1")


def _expelled(h: History) -> None:
    """Member 1 does not poll from 8 on and is expelled; member 2 reads to 100 and leaves at 40."""
    h.topic()
    h.group(settings={"max.poll.interval.ms": 6000})
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=7.0, brokers=(1, 2), generation=1)
    h.polled(50, 59, at=8.0)
    joined(h, 50, at=25.0, member="2", generation=3)
    h.polled(50, 99, at=26.0, member="2")
    h.commit(100, 0, at=28.0, brokers=(1, 2), member="2", generation=3)
    left(h, 100, at=40.0, member="2", generation=3)


def _epochs_of_members(h: History) -> None:
    """Member 1 has two partitions at epoch 1, and gives partition 1 to member 2 at epoch 2."""
    _two_partitions(h, client="java-consumer")
    joined(h, 0, at=5.0, partitions=(0, 1))
    _both_read(h, generation=1)
    h.changed("opened", at=20.0, member="2")
    h.changed("revoked", at=21.0, position=50, partition=1, generation=1)
    h.changed("assigned", at=22.0, position=50, member="2", partition=1, generation=2)
    h.polled(50, 99, at=22.5, member="2", partition=1, producer="p1")
    h.commit(100, 0, at=23.0, brokers=(1, 2), member="2", partition=1, generation=2)


def _static_pair(h: History) -> None:
    """Static members 1 and 2 have a partition each; from 35 on another process has both."""
    _two_partitions(h, settings={"group.instance.id": "{number}"})
    of_second = {"partition": 1, "member": "2"}
    h.changed("opened", at=4.0)
    h.changed("opened", at=4.1, member="2")
    h.changed("assigned", at=5.0, position=0, generation=2)
    h.changed("assigned", at=5.1, position=0, generation=2, **of_second)
    h.polled(0, 49, at=6.0)
    h.polled(0, 49, at=6.1, producer="p1", **of_second)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=2)
    h.commit(50, 0, at=8.1, brokers=(1, 2), generation=2, **of_second)
    h.changed("revoked", at=30.0, position=50, generation=2, **of_second)
    h.changed("closed", at=30.1, member="2")
    joined(h, 50, at=35.0, member="3", generation=2, partitions=(0, 1))
    h.polled(50, 99, at=36.0, member="3", partition=1, producer="p1")
    h.commit(100, 0, at=37.0, brokers=(1, 2), member="3", partition=1, generation=2)


def _cooperative(h: History) -> None:
    """Member 1 has two partitions; partition 1 goes to member 2, which reads 50 to 69 of it."""
    _two_partitions(h, settings=STICKY)
    joined(h, 0, at=5.0, partitions=(0, 1))
    _both_read(h, generation=1)
    h.changed("opened", at=29.0, member="2")
    h.changed("revoked", at=30.0, position=50, partition=1, generation=2)
    h.changed("assigned", at=31.0, position=50, member="2", partition=1, generation=3)
    h.polled(50, 69, at=32.0, member="2", partition=1, producer="p1")
    h.polled(50, 99, at=33.0)


def _two_partitions(
    h: History, *, client: str = "java", settings: dict[str, str | int] | None = None
) -> None:
    h.topic(partitions=2)
    h.group(client=client, settings=settings)
    plain(h, 99)
    plain(h, 99, partition=1)


def _both_read(h: History, *, generation: int) -> None:
    """Member 1 reads 50 records of each partition, and commits them."""
    for partition, producer in ((0, "p"), (1, "p1")):
        h.polled(0, 49, at=6.0, partition=partition, producer=producer)
    for partition in (0, 1):
        h.commit(50, 0, at=8.0, brokers=(1, 2), generation=generation, partition=partition)

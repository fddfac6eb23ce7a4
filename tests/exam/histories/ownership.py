"""Generations and ownership: who may commit, who may read, and where a member starts."""

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
from tests.exam.verbs import first_start, joined, left, plain

CLASSIC = "OffsetCommit, error ILLEGAL_GENERATION: the generation must be the group's"
CONSUMER = "KIP-848, section OffsetCommit: the member's own epoch is checked, not the group's"
START = (
    "KafkaConsumer Javadoc, section Offsets and Consumer Position: a process that is started "
    "again recovers to the committed position"
)


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

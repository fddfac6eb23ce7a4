"""Members of a group in turn: who may commit, own and start where, as one follows another.

Expelled and static members, member epochs of KIP-848, partitions that come back, offsets that
expire, administrators who set them, and a pause that a rebalance ends.
"""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.scenes import copies
from tests.exam.verbs import first_start, joined, left, plain, reads_to, watched

CLASSIC = "ClassicGroup.validateOffsetCommit: only a member of the current generation may commit"
KIP_1251 = (
    "KIP-1251: a member may commit a partition under any epoch that is not older than the one at "
    "which the partition was assigned to it"
)
STATIC = (
    "KIP-345: another process with the same group.instance.id takes the member's place, and the "
    "older process is fenced by the response to its next request"
)
COOPERATIVE = "KIP-429: a partition is assigned to another member only after its owner revoked it"
EXPIRY = "KIP-211: offsets expire only while the group is empty"
ADMIN = "Admin.alterConsumerGroupOffsets; ConsumerCoordinator starts at what is committed last"
STICKY = {
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
}


@asks(
    "An expelled member commits under its old generation, after its successor has come and gone.",
    source=CLASSIC + "; whoever owns the partition by then",
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
    source=CLASSIC + "; it is one again",
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
    _closed(h, "1", "2")


@asks(
    "A KIP-848 member commits a partition that it gave up, under the epoch at which it had it.",
    source=KIP_1251 + "; ConsumerGroup.validateOffsetCommit: else STALE_MEMBER_EPOCH",
    expects={"commit_from_old_generation": VIOLATION},
)
def older_member_epoch_commits_a_partition_that_it_gave_up(h: History) -> None:
    _epochs_of_members(h)
    h.commit(50, 0, at=24.0, brokers=(1, 2), generation=1, partition=1)
    _closed(h, "1", "2")


@asks(
    "A suspended process of a static member wakes, delivers what it had fetched, and is fenced.",
    source=STATIC,
    expects={
        "double_ownership": NOT_VIOLATION,
        "commit_mismatch": NONE,
        "commit_from_old_generation": NONE,
        "duplicate_delivery": PERMITTED,
    },
)
def suspended_process_of_a_static_member_wakes(h: History) -> None:
    _replaced(h)
    h.changed("closed", at=51.0)
    _of_another_worker(h)


@asks(
    "It delivers more after it was fenced.",
    source=STATIC + "; AbstractCoordinator: FENCED_INSTANCE_ID is fatal to the consumer",
    expects={"double_ownership": VIOLATION, "commit_from_old_generation": NONE},
)
def fenced_process_of_a_static_member_delivers_more(h: History) -> None:
    _replaced(h)
    h.polled(60, 69, at=58.0)
    h.changed("closed", at=62.0)
    _of_another_worker(h)


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
    _closed(h, "1", "3")


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
    _closed(h, "1")


@asks(
    "A commit of 60 times out at its client, and is stored after the next one, of 100.",
    source="TimeoutException of KafkaConsumer.commitSync: the request may be carried out later",
    expects={"commit_regressed": UNDECIDED, "duplicate_delivery": NONE},
)
def commit_that_timed_out_is_stored_after_the_next(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 59)
    h.commit(
        60,
        0,
        at=30.0,
        outcome="unknown",
        error="TimeoutException",
        stored=False,
        generation=1,
    )
    h.rows["commits"][-1]["began_micros"] = h.at(25.0)
    h.polled(60, 99, at=30.5)
    h.commit(100, 0, at=31.0, brokers=(1, 2), generation=1)
    h.stored(60, 0, at=31.5, brokers=(1, 2))
    h.changed("caught_up", at=79.5, position=100, generation=1)
    left(h, 100, at=80.0)


@asks(
    "A group is empty until its offset expires; its next member joins later.",
    source=EXPIRY,
    expects={
        "offsets_expired": PERMITTED,
        "start_mismatch": NOT_VIOLATION,
        "duplicate_delivery": PERMITTED,
    },
)
def offset_expires_before_the_next_member_joins(h: History) -> None:
    _expires(h)
    h.changed("opened", at=77.5, member="2")
    first_start(h, 0, at=78.0, member="2")
    h.changed("assigned", at=79.0, position=0, member="2", generation=3)
    _members(h, "m2", 3, at=79.0)
    h.polled(0, 99, at=80.0, member="2")
    _closed(h, "2")


@asks(
    "A group was empty for 50 s; its offset expires 15 s after a member has joined again.",
    source=EXPIRY + "; a group that has a member is not",
    expects={"offsets_expired": VIOLATION},
)
def offset_expires_under_a_member_that_joined_in_between(h: History) -> None:
    _expires(h)
    joined(h, 50, at=60.0, member="2", generation=3)
    _members(h, "m2", 3, at=60.0)
    h.polled(50, 99, at=61.0, member="2")
    _closed(h, "2")


@asks(
    "An administrator sets an empty group from 50 to 70, and back to 50; it starts at 70.",
    source=ADMIN,
    expects={"skipped_record": VIOLATION, "start_mismatch": VIOLATION},
)
def administrator_takes_it_back_and_the_group_starts_ahead(h: History) -> None:
    _stopped(h, at=50)
    _set(h, 70, at=40.0)
    _set(h, 50, at=45.0)
    _starts(h, 70)


@asks(
    "An administrator sets an empty group that had read all back to 20; it reads from there.",
    source=ADMIN,
    expects={
        "nonmonotonic_poll": NONE,
        "wrong_commit_error": NONE,
        "commit_regressed": NOT_VIOLATION,
        "duplicate_delivery": PERMITTED,
        "start_mismatch": NONE,
        "unjustified_reset": NONE,
    },
)
def administrator_sets_a_group_back(h: History) -> None:
    _stopped(h, at=100)
    _set(h, 20, at=40.0)
    _starts(h, 20, commit=60)


@asks(
    "A rebalance assigns a paused partition again; the member then gets nothing for 42 s.",
    source="KafkaConsumer.pause: a rebalance does not keep the pause",
    expects={"fetch_unavailable": VIOLATION},
)
def rebalance_ends_a_pause_and_nothing_comes(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 49)
    _grow(h)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=10.0)
    h.commit(50, 0, at=10.5, brokers=(1, 2), generation=1)
    h.changed("paused", at=11.0, position=50, generation=1)
    h.changed("assigned", at=15.0, position=50, generation=2)
    h.polled(50, 99, at=57.0)
    left(h, 100, at=80.0, generation=2, caught_up=True)


def _closed(h: History, *members: str) -> None:
    """At the end of the run these members are closed."""
    for member in members:
        h.changed("closed", at=82.0, member=member)


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


def _replaced(h: History) -> None:
    """A static member's process is suspended from 10 to 50; another takes its place at 30.

    It then delivers 50 to 59, which it had fetched before, and its commit of 60 is refused.
    """
    h.topic()
    h.group(settings={"group.instance.id": "one"})
    plain(h, 99)
    h.worker()
    h.worker("w1")
    h.fault("pause", h.on_client("w1"), injected=10.0, heal_began=49.9, healed=50.0)
    reads_to(h, 49)
    h.commit(50, 0, at=7.0, brokers=(1, 2), generation=1)
    joined(h, 50, at=30.0, member="2")
    h.polled(50, 99, at=31.0, member="2")
    h.commit(100, 0, at=32.0, brokers=(1, 2), member="2", generation=1)
    h.polled(50, 59, at=50.2)
    error = "FencedInstanceIdException"
    h.commit(60, 0, at=50.5, outcome="failed", error=error, stored=False, generation=1)
    left(h, 100, at=80.0, member="2", caught_up=True)


def _of_another_worker(h: History) -> None:
    """Member 1 ran in a worker of its own."""
    for table in ("polls", "commits", "group_events"):
        for row in h.rows[table]:
            if row["member"] == h.member("1"):
                row["worker"] = h.own("w1")


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


def _expires(h: History) -> None:
    """A group commits 50 and is empty from second 10 on; its offset is removed at 75."""
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    _members(h, "m1", 1, at=5.0)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 50, at=10.0)
    _members(h, "", 2, at=10.0)
    h.stored(None, -1, at=75.0, is_tombstone=True, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(committed_epoch=None, metadata=None)


def _members(h: History, member: str, generation: int, *, at: float) -> None:
    """The state of the group, as it is stored; without a member it is empty."""
    h.add(
        "group_members",
        group=h.own("g"),
        protocol="classic",
        member=h.own(member),
        generation=generation,
        partition=0 if member else None,
        offsets_partition=h.index,
        offsets_offset=h.at(at) // 1000 % 10**9,
        at_micros=h.at(at),
    )


def _stopped(h: History, *, at: int) -> None:
    """A group commits at an offset, and is empty from second 20 on."""
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, at - 1)
    h.commit(at, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, at, at=20.0)


def _set(h: History, offset: int, *, at: float) -> None:
    """An administrator commits an offset for the group, as no member of it."""
    metadata = f"set to {offset}"
    h.called(
        1,
        "OFFSET_COMMIT",
        9,
        at=at,
        group=h.own("g"),
        member="",
        generation=-1,
        asked_offset=offset,
        asked_epoch=-1,
        metadata=metadata,
        throttle_ms=0,
    )
    h.stored(offset, -1, at=at - 0.002, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(metadata=metadata, value_version=3)


def _starts(h: History, position: int, *, commit: int | None = None) -> None:
    """Member 2 starts at a position, and reads to the end; it may commit in between."""
    joined(h, position, at=60.0, member="2", generation=3)
    if commit is not None:
        h.polled(position, commit - 1, at=61.0, member="2")
        h.commit(commit, 0, at=61.5, brokers=(1, 2), member="2", generation=3)
    h.polled(position if commit is None else commit, 99, at=62.0, member="2")
    h.commit(100, 0, at=65.0, brokers=(1, 2), member="2", generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


def _grow(h: History) -> None:
    """Records 50 to 99 are sent at second 12."""
    h.sent(50, 99, at=12.0)
    h.rows["log_starts"], h.rows["epoch_checkpoints"] = [], []
    h.rows["replica_records"], h.rows["replica_batches"] = [], []
    copies(h, (1, 2), (0, 49, 0), (50, 99, 0), high_watermark=100, at=2.0)
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(12.0):
            row["log_end_offset"] = 100
    watched(h, 1, 100, times=(13.0,))

"""Where members begin after a commit, a reset or a seek."""

from typing import Any

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks_each
from tests.exam.transaction_verbs import Batch, replicas, started, step, stored_in_transaction
from tests.exam.verbs import begun, cluster, first_start, joined, left, plain, watched

START = "start_mismatch"
AT_COMMIT = "ConsumerCoordinator.initWithCommittedOffsetsIfNeeded: a member begins at the commit"
SEEK = "KafkaConsumer.seek: overrides the offset that the next poll fetches from"
RESETS = "`auto.offset.reset`: without a commit, or out of range, a position is reset"
PENDING = "KIP-447: an offset of a transaction is in force once that is committed"


@asks_each(
    "A group has read up to 50 and committed that; its next member",
    source=AT_COMMIT + "; its first delivery shows where",
    check=START,
    cases={
        "begins at 50.": (NONE, {}),
        "begins at 40.": (VIOLATION, {"first": 40}),
        "begins at 60, and nobody gets 50 to 59.": (VIOLATION, {"first": 60}),
        "begins at 60, and gets 50 to 59 after a seek.": (NONE, {"first": 60, "back": 50}),
        "does not know its position when it is assigned, and begins at 50.": (
            NONE,
            {"position": None},
        ),
        "reports 40 when it is assigned, and is delivered 50 first.": (NONE, {"position": 40}),
        "reports 50 when it is assigned, and is delivered 40 first.": (
            VIOLATION,
            {"position": 50, "first": 40},
        ),
        "reports 50, and is delivered nothing.": (NONE, {"position": 50, "last": 0}),
        "reports 40, and is delivered nothing.": (VIOLATION, {"position": 40, "last": 0}),
    },
)
def next_member_begins(
    h: History,
    *,
    first: int = 50,
    position: int | None = -1,
    last: int = 99,
    back: int | None = None,
) -> None:
    _stopped_at(h, 50)
    joined(h, first if position == -1 else position, at=60.0, member="2", generation=3)
    if last:
        h.polled(first, last, at=61.0, member="2")
    if back is not None:
        h.changed("sought", at=62.0, position=back, member="2", generation=3)
        h.polled(back, last, at=63.0, member="2")
    end = last + 1 if last else position
    left(h, first if end is None else end, at=80.0, member="2", generation=3)


@asks_each(
    "A group has committed 50, and its next member begins at 0. A client logs",
    source=RESETS,
    check=START,
    cases={
        "a reset of that member before its delivery.": (PERMITTED, {"at": 60.2}),
        "a reset of that member when it had delivered.": (VIOLATION, {"at": 65.0}),
        "a reset of the member before it.": (VIOLATION, {"at": 15.0, "member": "1"}),
        "a reset of that member on another partition.": (
            VIOLATION,
            {"at": 60.2, "partition": 1},
        ),
        "a reset of a member of the same number in another group.": (
            VIOLATION,
            {"at": 60.2, "group": "f"},
        ),
    },
)
def next_member_is_reset(h: History, *, at: float, **reset: Any) -> None:
    _stopped_at(h, 50, partitions=2)
    h.group("f")
    if at < 60:
        h.reset("out_of_range", 40, 0, at=at, **({"member": "2"} | reset))
    joined(h, 0, at=60.0, member="2", generation=3)
    if 60 < at < 61:
        h.reset("out_of_range", 50, 0, at=at, **({"member": "2"} | reset))
    h.polled(0, 99, at=61.0, member="2")
    if at > 61:
        h.reset("out_of_range", 100, 0, at=at, **({"member": "2"} | reset))
    h.changed("closed", at=80.0, member="2")


@asks_each(
    "A group has read up to 80. Of its commits",
    source=AT_COMMIT + "; the last one in the log of __consumer_offsets is in force",
    check=START,
    cases={
        "80 and 50 have one time, and 50 comes last; its member begins there.": (
            NONE,
            {"commits": (80, 50), "first": 50},
        ),
        "50 and 80 have one time, and 80 comes last; its member begins at 50.": (
            VIOLATION,
            {"commits": (50, 80), "first": 50},
        ),
        "50 is there, and 80 was acknowledged and is lost; it begins at 80.": (
            NONE,
            {"commits": (50,), "lost": 80, "first": 80},
        ),
        "50 is there, and 80 was acknowledged and is lost; it begins at 50.": (
            NONE,
            {"commits": (50,), "lost": 80, "first": 50},
        ),
        "50 is there, and 80 was acknowledged and is lost; it begins at 30.": (
            VIOLATION,
            {"commits": (50,), "lost": 80, "first": 30},
        ),
        "80 is there, and an administrator sets 20 as it starts; it begins at 80.": (
            NONE,
            {"commits": (80,), "set_at": 59.97, "first": 80},
        ),
        "80 is there, and an administrator sets 20 as it starts; it begins at 20.": (
            NONE,
            {"commits": (80,), "set_at": 60.03, "first": 20},
        ),
        "50 is there, and an administrator sets 80 as it starts; it begins at 50.": (
            NONE,
            {"commits": (50,), "set_at": 59.97, "to": 80, "first": 50},
        ),
        "50 is there, and an administrator sets 80 before; it begins at 50.": (
            VIOLATION,
            {"commits": (50,), "set_at": 59.9, "to": 80, "first": 50},
        ),
        "80 is there, and an administrator sets 20 after it; it begins at 20.": (
            VIOLATION,
            {"commits": (80,), "set_at": 60.1, "first": 20},
        ),
        "80 is there, and an administrator sets 20 before; it begins at 80.": (
            NONE,
            {"commits": (80,), "set_at": 40.0, "first": 80},
        ),
        "50 is that of another group, and 80 that of this one; it begins at 80.": (
            NONE,
            {"commits": (80,), "others": 50, "first": 80},
        ),
        "80 has no leader epoch, and it begins at 80.": (
            NONE,
            {"commits": (80,), "epoch": -1, "first": 80},
        ),
    },
)
def member_begins_after_several_commits(
    h: History,
    *,
    commits: tuple[int, ...],
    first: int,
    lost: int | None = None,
    set_at: float | None = None,
    to: int = 20,
    others: int | None = None,
    epoch: int = 0,
) -> None:
    h.topic()
    h.group()
    h.group("f")
    plain(h, 99)
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 79, at=6.0)
    for offset in commits:
        h.commit(offset, epoch, at=8.0, brokers=(1, 2), generation=1)
    if lost is not None:
        h.commit(lost, 0, at=12.0, stored=False, generation=1)
    if others is not None:
        h.stored(others, 0, at=13.0, group="f", brokers=(1, 2))
    left(h, 80, at=20.0)
    if set_at is not None:
        h.stored(to, -1, at=set_at, brokers=(1, 2))
    joined(h, first, at=60.0, member="2", generation=3)
    h.polled(first, 99, at=61.0, member="2")
    h.changed("closed", at=80.0, member="2")


@asks_each(
    "A member has read up to 80 and committed 50. A second member joins;",
    source="KIP-429: a cooperative member keeps partitions, and an eager one begins at the commit",
    check=START,
    cases={
        "it keeps the partition, which is assigned again, and reads on at 80.": (
            NONE,
            {"first": 80},
        ),
        "it gives it back, has it again, and reads 50 to 79 again.": (
            NONE,
            {"first": 50, "is_revoked": True},
        ),
        "it gives it back, has it again, and reads on at 70.": (
            NONE,
            {"first": 70, "is_revoked": True},
        ),
        "it gives it back, has it again, and reads 20 to 79 again.": (
            VIOLATION,
            {"first": 20, "is_revoked": True},
        ),
    },
)
def member_has_its_partition_again(h: History, *, first: int, is_revoked: bool = False) -> None:
    h.topic()
    sticky = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    h.group(settings={} if is_revoked else {"partition.assignment.strategy": sticky}, members=2)
    plain(h, 99)
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=9.0)
    h.changed("opened", at=10.0, member="2")
    if is_revoked:
        h.changed("revoked", at=12.0, position=80, generation=1)
        h.changed("assigned", at=13.0, position=first, generation=2)
    h.polled(first, 99, at=15.0)
    h.commit(100, 0, at=16.0, brokers=(1, 2), generation=2)
    h.changed("closed", at=80.0)
    h.changed("closed", at=80.1, member="2")


@asks_each(
    "A transaction of a group that has committed 50 stores 80.",
    source=PENDING,
    check=START,
    cases={
        "It is committed; a member begins at 80.": (NONE, {"first": 80}),
        "It is committed; a member begins at 50.": (VIOLATION, {"first": 50}),
        "It is aborted; a member begins at 80, and 50 to 79 were delivered before.": (
            VIOLATION,
            {"first": 80, "marker": "abort"},
        ),
        "It is aborted; a member begins at 50.": (NONE, {"first": 50, "marker": "abort"}),
        "It is committed 3 s after a member began at 50.": (NONE, {"first": 50, "marked": 64.0}),
    },
)
def member_begins_after_a_transaction(
    h: History, *, first: int, marker: str = "commit", marked: float = 13.0
) -> None:
    h.topic()
    h.group(manner="transactional")
    plain(h, 99)
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=9.0)
    stored_in_transaction(h, 80, 0, at=12.0, marker=marker, marked=marked, pid=3)
    left(h, 80, at=20.0)
    joined(h, first, at=61.0, member="2", generation=3)
    h.polled(first, 99, at=62.0, member="2")
    h.changed("closed", at=80.0, member="2")


@asks_each(
    "An application seeks to 30, and its next delivery begins at",
    source=SEEK,
    check=START,
    cases={
        "30.": (NONE, {"first": 30}),
        "20.": (VIOLATION, {"first": 20}),
        "40, and 30 to 39 are records.": (VIOLATION, {"first": 40}),
        "60, after another seek to 60.": (NONE, {"first": 60, "again": 60}),
        "30, after another seek to 60.": (VIOLATION, {"first": 30, "again": 60}),
        "0, after a reset.": (PERMITTED, {"first": 0, "reset_at": 31.0}),
        "0, after a reset that it had before.": (VIOLATION, {"first": 0, "reset_at": 29.0}),
        "50, since the partition was assigned again, and 50 is committed.": (
            NONE,
            {"first": 50, "is_assigned": True},
        ),
    },
)
def application_seeks(
    h: History,
    *,
    first: int,
    again: int | None = None,
    reset_at: float | None = None,
    is_assigned: bool = False,
) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    if reset_at == 29.0:
        h.reset("out_of_range", 50, 0, at=reset_at, member="1")
    h.changed("sought", at=30.0, position=30, generation=1)
    if reset_at == 31.0:
        h.reset("out_of_range", 30, 0, at=reset_at, member="1")
    if again is not None:
        h.changed("sought", at=31.0, position=again, generation=1)
    if is_assigned:
        h.changed("revoked", at=31.0, position=30, generation=1)
        h.changed("assigned", at=32.0, position=50, generation=2)
    h.polled(first, 99, at=35.0)
    h.changed("closed", at=80.0)


@asks_each(
    "A read_committed application seeks to 30, and its next delivery begins at 41; 30 to 39 were",
    source=SEEK + "; KIP-98: read_committed returns no aborted records",
    check=START,
    cases={
        "aborted.": (NONE, {"control": "abort"}),
        "committed.": (VIOLATION, {"control": "commit"}),
    },
)
def application_seeks_to_a_transaction(h: History, *, control: str) -> None:
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    h.sent(0, 29, at=2.0)
    started(h, at=2.0, producer="x")
    h.sent(30, 39, at=2.2, producer="x", sequence=0, transaction=0)
    step(h, control, "aborted" if control == "abort" else "committed", at=2.4, producer="x")
    h.sent(41, 99, at=3.0, sequence=41)
    watched(h, 1, 100)
    replicas(
        h,
        Batch(0, 29),
        Batch(30, 39, pid=1, base_sequence=0, producer="x", sequence=0, at=2.2),
        Batch(40, 40, pid=1, control=control, at=2.4),
        Batch(41, 99, at=3.0),
    )
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 29, at=6.0)
    h.changed("sought", at=30.0, position=30, generation=1)
    h.polled(41, 99, at=35.0)
    h.changed("closed", at=80.0)


@asks_each(
    "A topic is recreated, and its group's commit of 80 is deleted with it. A new member begins at",
    source="KIP-516, and OffsetDelete (KIP-496): offsets of a deleted topic are removed; " + RESETS,
    check=START,
    cases={
        "0, where it is reset to.": (NOT_VIOLATION, {"first": 0}),
        "30, which it commits and a third one begins at.": (
            NOT_VIOLATION,
            {"first": 0, "commit": 30},
        ),
    },
)
def topic_is_recreated(h: History, *, first: int, commit: int | None = None) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sampled(1, at=1.0, end=0, isr=(1, 2))
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 79, at=6.0)
    h.commit(80, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 80, at=12.0)
    h.fault("recreate", h.on_topic("t"), injected=20.0, proved=22.0)
    h.stored(None, -1, at=20.5, is_tombstone=True, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(committed_epoch=None, metadata=None)
    h.led(1, 0, at=21.0, isr=(1, 2), topic_id="id2", starts=0)
    h.sent(0, 49, at=25.0, sequence=1000)
    watched(h, 1, 50, times=(35.0, 45.0, 55.0, 65.0, 75.0, 85.0))
    for broker in (1, 2):
        h.log(broker, (0, 49, 0), sequences={0: 1000}, high_watermark=50, at=25.0)
    first_start(h, first, at=39.9, member="2")
    joined(h, first, at=40.0, member="2", generation=3)
    if commit is None:
        h.polled(first, 49, at=41.0, member="2", sequence=1000 + first)
        h.changed("closed", at=80.0, member="2")
        return
    h.polled(first, commit - 1, at=41.0, member="2", sequence=1000 + first)
    h.commit(commit, 0, at=42.0, brokers=(1, 2), member="2", generation=3)
    left(h, commit, at=50.0, member="2", generation=3)
    joined(h, commit, at=60.0, member="3", generation=5)
    h.polled(commit, 49, at=61.0, member="3", sequence=1000 + commit)
    h.changed("closed", at=80.0, member="3")


def _stopped_at(h: History, offset: int, *, partitions: int = 1) -> None:
    """A group reads up to an offset, commits it, and is empty from second 20 on."""
    h.topic(partitions=partitions)
    h.group()
    for partition in range(partitions):
        plain(h, 99, partition=partition)
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, offset - 1, at=6.0)
    h.commit(offset, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, offset, at=20.0)

"""Log starts and high watermarks that move while groups read.

Retention meets commits and members that lag, at a time and at an offset that decide; records are
delivered before they are committed; deleted records are served by who has not heard of it.
"""

from collections.abc import Iterable

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import begun, cut, joined, left, reads_to, watched

RANGE = "ReplicaManager.fetch: only an offset below the log start is out of range there"
RACK = "KIP-392: a follower serves from its own log start, which it raises after the leader's"
CACHE = (
    "LeaderEpochFileCache.truncateFromStartAsyncFlush: an epoch goes once a newer one starts at "
    "or below the log start"
)
COMMITTED = "Kafka's documentation, Replication: only committed records are given to consumers"
LATE, DELETED = 30.0, 40.0


@asks(
    "A group had a commit of 30; five seconds before the log start came to 50 it committed 60.",
    source=RANGE + "; the last commit is in force",
    expects={
        "commit_expired": NONE,
        "committed_epoch_expired": NONE,
        "lost_record": NONE,
        "start_mismatch": NONE,
    },
)
def commit_is_replaced_before_the_log_start_passes_it(h: History) -> None:
    _expiring(h)
    h.group()
    _reads_on(h)
    _resumes(h, 60)


@asks(
    "A group is reset from 30 as out of range, 15 s before retention raises the log start to 50.",
    source=RANGE + "; at that time the log started at 0",
    expects={"unjustified_reset": VIOLATION, "duplicate_delivery": PERMITTED},
)
def position_is_reset_before_the_log_start_passes_it(h: History) -> None:
    _expiring(h)
    h.group()
    _reads(h, commit=30)
    h.changed("opened", at=24.5, member="2")
    h.reset("out_of_range", 30, 0, at=25.2, epoch=0)
    h.changed("assigned", at=25.4, position=0, member="2", generation=3)
    h.polled(0, 49, at=26.0, member="2")
    h.polled(50, 99, at=31.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A group at exactly the log start is reset as out of range.",
    source=RANGE,
    expects={"unjustified_reset": VIOLATION, "commit_expired": NONE},
)
def position_at_the_log_start_is_reset(h: History) -> None:
    _expiring(h)
    h.group(reset="latest")
    _reads(h, commit=50)
    h.changed("opened", at=59.5, member="2")
    h.reset("out_of_range", 50, 100, at=60.2, epoch=0, policy="latest")
    h.changed("assigned", at=60.4, position=100, member="2", generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A member lost its partition to one that left without a commit, got it again after the log "
    "start had passed its position, and is delivered deleted records.",
    source=RANGE + "; KIP-429: what it had fetched is dropped with the partition",
    expects={"expired_read": VIOLATION},
)
def member_gets_its_partition_again_and_reads_what_is_deleted(h: History) -> None:
    _expiring(h)
    h.group()
    _reads(h, commit=30, leaves=False)
    h.changed("opened", at=19.0, member="2")
    h.changed("revoked", at=20.0, position=30, generation=2)
    h.changed("assigned", at=21.0, position=30, member="2", generation=2)
    h.polled(30, 49, at=22.0, member="2")
    h.polled(50, 99, at=31.0, member="2")
    left(h, 100, at=58.0, member="2", generation=2)
    h.changed("assigned", at=60.0, position=30, generation=3)
    h.polled(30, 49, at=61.0)
    h.polled(50, 99, at=62.0)
    left(h, 100, at=80.0, generation=3, caught_up=True)


@asks(
    "A member of client.rack is delivered records 16 s after its leader deleted them.",
    source=RACK,
    expects={"expired_read": PERMITTED, "skipped_record": NONE},
)
def reader_of_a_follower_gets_what_the_leader_deleted(h: History) -> None:
    _from_follower(h, opened=55.0, heard=18.0)


@asks(
    "It is delivered them 36 s after that.",
    source=RACK + ", within replica.lag.time.max.ms (30 s) or it is not in sync",
    expects={"expired_read": VIOLATION},
)
def reader_of_a_follower_gets_them_much_later(h: History) -> None:
    _from_follower(h, opened=75.0, heard=0.3)


@asks(
    "DeleteRecords raised the leader's log start to 50; it is killed, and its successor, which "
    "has heard of 30 only, serves 30 to 49.",
    source="KIP-107: a follower takes the log start from the leader's Fetch response; it may lag",
    expects={
        "expired_read": NONE,
        "retention_overreach": f"{PERMITTED}: went back with its leader",
        "lost_record": NONE,
    },
)
def successor_serves_what_it_has_not_deleted_yet(h: History) -> None:
    _two_log_starts(h)


@asks(
    "Retention passes a commit of epoch 0; the epoch still has records above the log start.",
    source=CACHE + "; endOffsetFor can still respond for this one",
    expects={"commit_expired": PERMITTED, "committed_epoch_expired": NONE},
)
def epoch_of_a_deleted_position_has_records_left(h: History) -> None:
    _second_epoch(h, start=40)


@asks(
    "Retention passes it up to where epoch 1 starts.",
    source=CACHE,
    expects={"commit_expired": PERMITTED, "committed_epoch_expired": PERMITTED},
)
def log_start_comes_to_the_start_of_the_next_epoch(h: History) -> None:
    _second_epoch(h, start=50)


@asks(
    "Records are delivered after a report that they are not committed, and before the next one, "
    "by which they are.",
    source=COMMITTED,
    expects={"uncommitted_read": NONE, "lost_record": NONE},
)
def records_are_delivered_between_two_reports(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    h.sent(50, 59, at=31.0, intended_at=20.0)
    watched(h, 1, 50, times=(5.0, 15.0, 25.0))
    watched(h, 1, 60, times=(35.0, 45.0, 65.0, 85.0))
    copies(h, (1, 2), (0, 49, 0), (50, 59, 0), high_watermark=60, at=2.0)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 59, at=32.0)
    h.commit(60, 0, at=33.0, brokers=(1, 2), generation=1)
    left(h, 60, at=80.0, caught_up=True)


@asks(
    "Records that were delivered in epoch 0 are above the high watermark which the leader of "
    "epoch 1, from an unclean election, reports later.",
    source=COMMITTED + "; the high watermark of another leader proves nothing about epoch 0",
    expects={
        "uncommitted_read": NONE,
        "lost_record": f"{PERMITTED}: truncated: unclean election by configuration: broker",
        "high_watermark_regressed": NONE,
    },
)
def next_leader_reports_a_lower_high_watermark(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h, reported=60, last=99)
    h.rows["samples"] = [
        row for row in h.rows["samples"] if row["leader_epoch"] or row["at_micros"] < h.at(10)
    ]
    h.sampled(2, at=26.0, end=50, epoch=1, isr=(2,))
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 59, at=13.0)
    h.commit(60, 0, at=14.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 60, 50, at=27.0, epoch=0, member="1")
    h.polled(50, 99, at=46.0, epoch=1, sequence=60)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "Records of the second of three epochs are delivered before they are committed; all survive.",
    source=COMMITTED,
    expects={"uncommitted_read": VIOLATION, "orphan_commit": NONE},
)
def records_of_the_middle_epoch_are_delivered_too_early(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.led(2, 1, at=20.0, isr=(1, 2), starts=50)
    h.sent(50, 59, at=36.0, intended_at=25.0)
    watched(h, 2, 50, times=(22.0, 30.0), epoch=1)
    watched(h, 2, 60, times=(38.0,), epoch=1)
    h.led(1, 2, at=40.0, isr=(1, 2), starts=60)
    h.sent(60, 99, at=42.0)
    watched(h, 1, 100, times=(45.0, 65.0, 85.0), epoch=2)
    copies(h, (1, 2), (0, 49, 0), (50, 59, 1), (60, 99, 2), high_watermark=100, at=25.0)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 59, at=26.0, epoch=1)
    h.commit(60, 1, at=27.0, brokers=(1, 2), generation=1)
    h.polled(60, 99, at=43.0, epoch=2)
    left(h, 100, at=80.0, caught_up=True)


def _expiring(h: History, *, heard: float = 0.3) -> None:
    """Offsets 0 to 49 are sent at second 2, 50 to 99 at 30; the log starts at 50 from 40 on.

    heard: after how many seconds the follower raises its log start, too.
    """
    h.topic(retention_ms=20_000)
    _grown(h)
    h.log_started(1, 50, at=DELETED)
    h.log_started(2, 50, at=DELETED + heard, reason="leader offset increment")
    copies(h, (1, 2), (50, 99, 0), start=50, high_watermark=100, at=LATE)


def _grown(h: History, *, until: Iterable[float] = (45.0, 55.0, 65.0, 75.0, 85.0)) -> None:
    """What was sent, and what broker 1 reports of it."""
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0, 25.0, 29.5))
    h.sent(50, 99, at=LATE)
    watched(h, 1, 100, times=(35.0, 39.5))
    watched(h, 1, 100, times=(40.8, *until), start=50)


def _reads(h: History, *, commit: int, leaves: bool = True) -> None:
    """Member 1 reads to an offset, and commits it."""
    reads_to(h, commit - 1)
    h.commit(commit, 0, at=8.0, brokers=(1, 2), generation=1)
    if leaves:
        left(h, commit, at=10.0)


def _reads_on(h: History) -> None:
    """Member 1 commits 30 at second 8, and 60 at 35."""
    _reads(h, commit=30, leaves=False)
    h.polled(30, 49, at=12.0)
    h.polled(50, 59, at=34.0)
    h.commit(60, 0, at=35.0, brokers=(1, 2), generation=1)
    left(h, 60, at=36.0)


def _resumes(h: History, position: int) -> None:
    """Member 2 starts at the commit, and reads to the end."""
    joined(h, position, at=60.0, member="2", generation=3)
    h.polled(position, 99, at=61.0, member="2")
    h.commit(100, 0, at=63.0, brokers=(1, 2), member="2", generation=3)
    left(h, 100, at=70.0, member="2", generation=3, caught_up=True)


def _from_follower(h: History, *, opened: float, heard: float) -> None:
    """Member 2 starts at 30 after the deletion, and is delivered 30 to 49 a second later.

    heard: after how many seconds the follower raises its log start, too.
    """
    _expiring(h, heard=heard)
    h.group(settings={"client.rack": "b"})
    _reads(h, commit=30)
    joined(h, 30, at=opened, member="2", generation=3)
    h.polled(30, 49, at=opened + 1, member="2")
    h.polled(50, 99, at=opened + 2, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


def _two_log_starts(h: History) -> None:
    """Broker 1 deletes up to 50 and is killed; broker 2, which has deleted up to 30, leads."""
    h.topic(deletes=True)
    h.group()
    _grown(h, until=())
    name = h.on_broker(1)
    h.fault("kill", name, injected=41.0, proved=44.0)
    h.registered(1, at=44.0, is_fenced=True)
    h.led(2, 1, at=44.0, isr=(2,), starts=100)
    watched(h, 2, 100, times=(45.0, 55.0, 65.0, 75.0, 85.0), start=30, epoch=1, isr=(2,))
    reason = "client delete records request"
    h.log_started(1, 30, at=20.0, reason=reason)
    h.log_started(2, 30, at=20.4, reason="leader offset increment")
    h.log_started(1, 50, at=DELETED, reason=reason)
    for row in h.rows["samples"]:
        if h.at(21.0) < row["at_micros"] < h.at(DELETED):
            row["log_start_offset"] = 30
    h.log(1, (50, 99, 0), start=50, high_watermark=100, at=LATE)
    both = ((30, 49, 0), (50, 99, 0))
    h.log(2, *both, start=30, high_watermark=100, checkpoints={0: 30, 1: 100}, at=2.0)
    _reads(h, commit=30)
    joined(h, 30, at=50.0, member="2", generation=3)
    h.polled(30, 99, at=51.0, member="2")
    h.commit(100, 0, at=53.0, brokers=(2,), member="2", generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


def _second_epoch(h: History, *, start: int) -> None:
    """Epoch 0 has 0 to 49 in two batches, epoch 1 50 to 99; the log starts higher from 60 on."""
    h.topic(retention_ms=20_000)
    h.group()
    begun(h)
    h.sent(0, 39, at=2.0)
    h.sent(40, 49, at=3.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.led(2, 1, at=20.0, isr=(1, 2), starts=50)
    h.sent(50, 99, at=50.0)
    watched(h, 2, 50, times=(25.0, 45.0), epoch=1)
    watched(h, 2, 100, times=(55.0, 59.5), epoch=1)
    watched(h, 2, 100, times=(60.8, 65.0, 75.0, 85.0), start=start, epoch=1)
    spans = [span for span in ((40, 49, 0), (50, 99, 1)) if span[0] >= start]
    for broker, after in ((2, 0.0), (1, 0.3)):
        h.log_started(broker, start, at=60.0 + after)
        h.log(broker, *spans, start=start, high_watermark=100, at=3.0)
        h.rows["replica_batches"][-1]["max_timestamp_micros"] = h.at(50.0)
    _reads(h, commit=30)

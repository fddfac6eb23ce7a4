"""Histories about log starts: what retention and DeleteRecords remove, and when."""

from collections.abc import Iterable

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import consumed, copies, failed_over, written
from tests.exam.verbs import begun, joined, left, moved, plain, reads_to, watched

BELOW_START = "ReplicaManager.fetch: below the log start it answers OFFSET_OUT_OF_RANGE"
CACHE = (
    "LeaderEpochFileCache.truncateFromStartAsyncFlush: an epoch is dropped once a newer one starts "
    "at or below the log start"
)
RANGE = "ReplicaManager.fetch: only an offset below the log start is out of range there"
RACK = "KIP-392: a follower serves from its own log start, which it raises after the leader's"
EPOCH_GOES = (
    "LeaderEpochFileCache.truncateFromStartAsyncFlush: an epoch goes once a newer one starts at "
    "or below the log start"
)
LATE, DELETED = 30.0, 40.0


@asks(
    "DeleteRecords moved the log start into a batch; the checkpoint's first epoch starts there.",
    source="LeaderEpochFileCache.truncateFromStart: the first epoch moves to the log start; "
    "segments go only as a whole",
    expects={
        "epoch_cache_mismatch": NONE,
        "log_divergence": NONE,
        "retention_overreach": NONE,
        "isr_incomplete": NONE,
    },
)
def log_start_within_a_batch(h: History) -> None:
    written(h, 100, deletes=True)
    h.group()
    consumed(h, 0, 99, at=4)
    h.log_started(1, 60, at=10, reason="client delete records request")
    h.log_started(2, 60, at=10.5, reason="leader offset increment")
    h.sampled(1, at=12, end=100, start=60, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), start=60, checkpoints={0: 60}, high_watermark=100)


def expires(h: History, *, at: float, to: int = 100, retention_ms: int = 60_000) -> None:
    """Records 0 to 99 of second 2, and 100 to 149 of the time of the pass, by segment deletion."""
    written(h, 100, retention_ms=retention_ms)
    h.group()
    consumed(h, 0, 99, at=3)
    h.sent(100, 149, at=at - 0.5)
    h.sampled(1, at=at - 0.2, end=150, isr=[1, 2])
    h.log_started(1, to, at=at)
    h.log_started(2, to, at=at + 0.5, reason="leader offset increment")
    h.sampled(1, at=at + 1, end=150, start=to, isr=[1, 2])
    spans = [(to, 149, 0)] if to < 150 else []
    copies(h, (1, 2), *spans, start=to, at=at - 0.5, high_watermark=150, end=max(to, 150))


@asks(
    "Retention deletes records 8 s old; retention.ms is 60 s.",
    source="UnifiedLog.deleteRetentionMsBreachedSegments: a segment goes once its newest record "
    "is older than retention.ms",
    expects={"retention_overreach": f"{VIOLATION}: younger than retention.ms"},
)
def deleted_too_young(h: History) -> None:
    expires(h, at=10)


@asks(
    "Retention deletes records 8 s old; retention.ms is 5 s.",
    source="retention.ms: a segment goes once its newest record is older",
    expects={
        "retention_overreach": NONE,
        "lost_record": NONE,
        "log_divergence": NONE,
        "expired_read": NONE,
    },
)
def deleted_when_old_enough(h: History) -> None:
    expires(h, at=10, retention_ms=5000)


@asks(
    "Retention deletes records that seem 30 ms too young by the clock of another node.",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    expects={"retention_overreach": NOT_VIOLATION, "lost_record": NOT_VIOLATION},
)
def deleted_within_the_clock_bound(h: History) -> None:
    expires(h, at=10.96, retention_ms=9000)


@asks(
    "A log start advances beyond the high watermark.",
    source="UnifiedLog.maybeIncrementLogStartOffset: never above the high watermark",
    expects={"retention_overreach": f"{VIOLATION}: above the high watermark"},
)
def log_start_above_the_high_watermark(h: History) -> None:
    written(h, 100, deletes=True)
    h.sent(100, 149, at=9.5, acks="1")
    h.sampled(1, at=10, end=100, isr=[1, 2])
    h.log_started(1, 130, at=12)
    # An answer from before proves nothing, as the high watermark may have advanced to 130 by 12 s
    # (Partition.maybeIncrementLeaderHW, at each fetch of a follower); one from after does.
    h.sampled(1, at=12.5, end=100, isr=[1, 2])
    h.sampled(1, at=13, end=130, start=130, isr=[1, 2])
    h.log(1, (130, 149, 0), start=130, high_watermark=130)
    h.log(2, start=130, high_watermark=130)


@asks(
    "One leader tells a log start of 60, and later one of 20.",
    source="UnifiedLog.maybeIncrementLogStartOffset: a log start only advances",
    expects={"retention_overreach": f"{VIOLATION}: went back"},
)
def log_start_falls(h: History) -> None:
    written(h, 100, deletes=True)
    h.log_started(1, 60, at=10, reason="client delete records request")
    h.log_started(2, 60, at=10.5, reason="leader offset increment")
    for at, start in ((11, 60), (20, 60), (30, 20), (40, 20)):
        h.sampled(1, at=at, end=100, start=start, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), start=20, checkpoints={0: 20}, high_watermark=100)


@asks(
    "A new leader starts lower than the old one, which alone had run its retention.",
    source="UnifiedLog.deleteOldSegments: retention runs on each replica; no replica's log "
    "start fell",
    expects={
        "retention_overreach": NOT_VIOLATION,
        "resurrected_record": NOT_VIOLATION,
        "lost_record": NONE,
        "expired_read": NOT_VIOLATION,
    },
)
def new_leader_starts_lower(h: History) -> None:
    written(h, 100, retention_ms=5000)
    h.group()
    h.group("late")
    consumed(h, 0, 99, at=3)
    h.sent(100, 149, at=8)
    h.sampled(1, at=9, end=150, isr=[1, 2])
    h.log_started(1, 100, at=10)
    h.sampled(1, at=10.1, end=150, start=100, isr=[1, 2])
    failed_over(h, at=10.2, start=150)
    consumed(h, 0, 149, at=20, group="late")
    consumed(h, 100, 149, at=30, fresh=False, member="2")
    h.log(1, (100, 149, 0), start=100, at=8, high_watermark=150)
    h.log(2, (0, 99, 0), (100, 149, 0), checkpoints={0: 0, 1: 150}, high_watermark=150)


@asks(
    "A commit is below the log start at the end; the plan sets a retention, and nothing shows the "
    "deletion.",
    source="log.retention.ms; decision 15",
    expects={"commit_expired": UNDECIDED, "committed_epoch_expired": UNDECIDED},
)
def deletion_below_a_commit_is_not_reported(h: History) -> None:
    _expired(h, retention_ms=60_000)


@asks(
    "A commit is below the log start at the end, and nothing allows a deletion.",
    source="log.retention.ms, DeleteRecords: neither is used",
    expects={"commit_expired": VIOLATION, "committed_epoch_expired": VIOLATION},
)
def deletion_below_a_commit_is_not_allowed(h: History) -> None:
    _expired(h, retention_ms=None)


def _expired(h: History, *, retention_ms: int | None) -> None:
    """Epoch 1 begins at 50; a group committed 40 of epoch 0; the log starts at 60 at the end."""
    h.topic(retention_ms=retention_ms)
    h.group()
    moved(h)
    reads_to(h, 39)
    h.commit(40, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 40, at=10.0)
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    copies(h, (1, 2), (60, 99, 1), start=60, high_watermark=100)


@asks(
    "One of two groups had them; a topic without a retention loses them, and nobody asked for it.",
    source="retention.ms=-1: records stay; KIP-107: only an order deletes them",
    expects={
        "lost_record": VIOLATION,
        "retention_overreach": f"{VIOLATION}: nothing allows deletion",
        "commit_expired": VIOLATION,
    },
)
def deletion_by_nobody_before_the_second_group(h: History) -> None:
    h.topic()
    h.group()
    h.group("other")
    plain(h, 99)
    reads_to(h, 99)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)
    deleted_to(h, 60, at=30.0, ordered=False)
    joined(h, 0, at=5.5, group="other")
    h.polled(0, 19, at=6.5, group="other")
    h.commit(20, 0, at=8.5, brokers=(1, 2), group="other", generation=1)
    left(h, 20, at=10.0, group="other")
    joined(h, 20, at=50.0, member="2", group="other", generation=3)
    h.reset("out_of_range", 20, 60, at=50.5, epoch=0, group="other")
    h.polled(60, 99, at=52.0, member="2", group="other")
    left(h, 100, at=81.0, member="2", group="other", generation=3, caught_up=True)


@asks(
    "The leader's log start is 50 when it fails; its successor's is 30, and serves 30 to 49.",
    source="UnifiedLog: each replica deletes its own segments, so a log start is a replica's; "
    + BELOW_START,
    expects={"expired_read": NONE, "retention_overreach": PERMITTED, "start_mismatch": NONE},
)
def successor_serves_what_the_former_leader_deleted(h: History) -> None:
    h.topic(retention_ms=10_000)
    h.group()
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    reads_to(h, 29)
    h.commit(30, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 30, at=10.0)
    for broker in (1, 2):
        h.log_started(broker, 30, at=20.0)
    watched(h, 1, 100, times=(22.0, 28.0), start=30)
    h.log_started(1, 50, at=30.0)
    h.sampled(1, at=30.4, end=100, start=50, isr=(1, 2))
    h.fault("kill", h.on_broker(1), injected=31.0, proved=34.0)
    h.registered(1, at=34.0, is_fenced=True)
    h.led(2, 1, at=35.0, isr=(2,), starts=100)
    watched(h, 2, 100, times=(38.0, 50.0, 65.0, 85.0), start=30, epoch=1, isr=(2,))
    joined(h, 30, at=45.0, member="2", generation=3)
    h.polled(30, 99, at=46.0, member="2")
    h.commit(100, 0, at=48.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
    h.log(1, (50, 99, 0), start=50, high_watermark=100, at=2.0)
    spans = ((30, 49, 0), (50, 99, 0))
    h.log(2, *spans, start=30, high_watermark=100, checkpoints={0: 30, 1: 100}, at=2.0)


def deleted_to(h: History, start: int, *, at: float, ordered: bool = True) -> None:
    """The log start of a plain history moves to `start`; ordered: by DeleteRecords."""
    if ordered:
        target = h.on_partition("t", 0)
        h.fault("delete records", target, injected=at - 0.2, proved=at + 0.3)
    reasons = ("client delete records request", "leader offset increment")
    for broker, reason in zip((1, 2), reasons, strict=True):
        h.log_started(broker, start, at=at, reason=reason if ordered else "segment deletion")
    for row in h.rows["log_starts"]:
        row["log_start_offset"] = start
    for row in h.rows["epoch_checkpoints"]:
        row["start_offset"] = start
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(at):
            row["log_start_offset"] = start
    h.sampled(1, at=at + 1, end=100, start=start, isr=(1, 2))
    h.rows["samples"].sort(key=lambda row: row["at_micros"])


@asks(
    "The log start moves to 50, where epoch 1 starts; the commit in force is 40 with epoch 0.",
    source=CACHE,
    expects={
        "committed_epoch_expired": PERMITTED,
        "commit_expired": PERMITTED,
        "lost_record": f"{PERMITTED}: expired_unread",
        "unjustified_reset": NONE,
    },
)
def log_start_at_the_start_of_the_next_epoch(h: History) -> None:
    _epoch_expires(h, start=50)


@asks(
    "The log start moves to 49, one below the start of epoch 1.",
    source=CACHE,
    expects={
        "committed_epoch_expired": NONE,
        "commit_expired": PERMITTED,
        "unjustified_reset": NONE,
    },
)
def log_start_one_below_the_next_epoch(h: History) -> None:
    _epoch_expires(h, start=49)


def _epoch_expires(h: History, *, start: int) -> None:
    """Epoch 1 starts at 50; a group commits 40 and leaves; the log start moves at 50 s."""
    h.topic(deletes=True)
    h.group()
    moved(h)
    deleted_to(h, start, at=50.0)
    for row in h.rows["samples"]:
        if row["at_micros"] == h.at(51.0):
            row.update(broker=h.broker(2), leader=h.broker(2), leader_epoch=1)
    first = 1 if start >= 50 else 0
    epochs = h.rows["epoch_checkpoints"]
    epochs[:] = [row for row in epochs if row["leader_epoch"] >= first]
    for row in epochs:
        row["start_offset"] = start if row["leader_epoch"] == first else 50
    for row in h.rows["log_start_changes"]:
        leads = row["broker"] == h.broker(2)
        row["reason"] = "client delete records request" if leads else "leader offset increment"
    reads_to(h, 39)
    h.commit(40, 0, at=10.0, brokers=(1, 2), generation=1, cluster_epoch=0)
    left(h, 40, at=12.0)
    joined(h, 40, at=60.0, member="2", generation=3)
    h.reset("out_of_range", 40, start, at=60.5, epoch=0)
    if start < 50:
        h.polled(start, 49, at=62.0, member="2")
    h.polled(50, 99, at=62.5, epoch=1, member="2")
    h.commit(100, 1, at=64.0, member="2", brokers=(1, 2), generation=3, cluster_epoch=1)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "DeleteRecords moves the log start into a batch; then an election begins an epoch.",
    source="KIP-107: the offset need not be that of a batch; LeaderEpochFileCache, the first entry",
    expects={
        "epoch_cache_mismatch": NONE,
        "retention_overreach": NONE,
        "log_divergence": NONE,
        "epoch_regressed": NONE,
        "leader_completeness": NONE,
    },
)
def log_start_lies_inside_a_batch(h: History) -> None:
    h.topic(deletes=True)
    moved(h, at=30.0)
    h.fault("expire by order", h.on_topic("t"), injected=9.0, proved=10.5)
    for broker in (1, 2):
        reasons = ("client delete records request", "leader offset increment")
        h.log_started(broker, 30, at=9.9 + broker / 10, reason=reasons[broker - 1])
    for row in h.rows["samples"]:
        row["log_start_offset"] = 30 if row["at_micros"] > h.at(11) else 0
    for row in h.rows["log_starts"]:
        row["log_start_offset"] = 30
    for row in h.rows["epoch_checkpoints"]:
        row["start_offset"] = max(row["start_offset"], 30)


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
    source=EPOCH_GOES + "; endOffsetFor can still respond for this one",
    expects={"commit_expired": PERMITTED, "committed_epoch_expired": NONE},
)
def epoch_of_a_deleted_position_has_records_left(h: History) -> None:
    _second_epoch(h, start=40)


@asks(
    "Retention passes it up to where epoch 1 starts.",
    source=EPOCH_GOES,
    expects={"commit_expired": PERMITTED, "committed_epoch_expired": PERMITTED},
)
def log_start_comes_to_the_start_of_the_next_epoch(h: History) -> None:
    _second_epoch(h, start=50)


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

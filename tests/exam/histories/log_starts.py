"""Histories about log starts: what retention and DeleteRecords remove, and when."""

from tests.exam.history import NONE, NOT_VIOLATION, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import consumed, copies, failed_over, written
from tests.exam.verbs import left, moved, reads_to


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

"""Committed epochs: which epoch belongs to an offset, and what each other one is called."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replica, replicas, started, step
from tests.exam.verbs import (
    begun,
    first_start,
    joined,
    left,
    moved,
    plain,
    reads_to,
    watched,
)

CORRECT = "KIP-320, OffsetCommit: the leader epoch is that of the previously fetched record"
JAVADOC = "OffsetAndMetadata.leaderEpoch Javadoc: the epoch of the record consumed before"
LAST_EPOCH = "OffsetAndMetadata.leaderEpoch: the epoch of the record consumed before"
ASSIGNED = "KIP-631: PartitionChangeRecord; an epoch is there once the controller has written it"
RECORD = "OffsetAndMetadata.leaderEpoch: that of the record consumed before"


@asks(
    "A plain commit of 80 carries no epoch, though record 79 was given out with epoch 1.",
    source=JAVADOC + "; KAFKA-20507",
    expects={
        "committed_epoch_missing": VIOLATION,
        "committed_epoch_stale": NONE,
        "committed_epoch_unknown": NONE,
        "orphan_commit": NONE,
    },
)
def plain_commit_without_an_epoch(h: History) -> None:
    _commit_80(h, -1, record_epoch=1)


@asks(
    "An application commits `new OffsetAndMetadata(80)`, which has no epoch.",
    source="OffsetAndMetadata(long): an application may commit no epoch; KAFKA-20507",
    expects={
        "committed_epoch_missing": PERMITTED,
        "committed_epoch_stale": NONE,
        "committed_epoch_behind_leader": NOT_VIOLATION,
        "commit_mismatch": NONE,
    },
)
def application_commits_no_epoch(h: History) -> None:
    _commit_80(h, -1, style="none", record_epoch=1)


@asks(
    "A member is set back out of range to the log start 60, and commits 60 before it reads.",
    source="OffsetFetcherUtils.resetPositionIfNeeded: a position has no epoch after a reset",
    expects={
        "committed_epoch_missing": NONE,
        "committed_epoch_regressed": NOT_VIOLATION,
        "committed_epoch_unknown": NONE,
        "commit_beyond_processed": NONE,
    },
)
def commit_after_a_reset_has_no_epoch(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group()
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(4.0, 15.0, 25.0))
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 19, at=6.0)
    h.commit(20, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 20, at=20.0)
    h.fault("expire by time", h.on_topic("t"), injected=29.0, proved=31.0, healed=31.0)
    for broker in (1, 2):
        h.log_started(broker, 60, at=30.0)
        h.log(broker, (60, 99, 0), start=60, high_watermark=100, checkpoints={0: 60})
    watched(h, 1, 100, times=(32.0, 39.0, 50.0, 60.0, 70.0, 85.0), start=60)
    joined(h, 20, at=40.0, member="2", generation=3)
    h.reset("out_of_range", 20, 60, at=40.5, epoch=0)
    h.commit(60, -1, at=42.0, member="2", brokers=(1, 2), generation=3)
    h.polled(60, 99, at=45.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A group starts at offset 0, and commits 0 before any record came.",
    source=CORRECT + "; there is none before offset 0",
    expects={
        "committed_epoch_missing": NONE,
        "committed_epoch_stale": NONE,
        "commit_beyond_processed": NONE,
        "commit_beyond_log": NONE,
    },
)
def commit_of_offset_zero(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.changed("opened", at=4.0)
    first_start(h, 0, at=4.5)
    h.changed("assigned", at=5.0, position=0, generation=1)
    h.commit(0, -1, at=6.0, brokers=(1, 2), generation=1)
    h.polled(0, 99, at=7.0)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "A plain commit of 80 carries epoch 0, though record 79 is of epoch 1 since 50.",
    source=CORRECT + "; KAFKA-19902",
    expects={
        "committed_epoch_stale": VIOLATION,
        "committed_epoch_missing": NONE,
        "committed_epoch_ahead": NONE,
        "commit_mismatch": NONE,
    },
)
def plain_commit_with_the_epoch_before(h: History) -> None:
    _commit_80(h, 0, record_epoch=1)


@asks(
    "A commit of 50 carries epoch 0 of record 49, ten seconds after epoch 1 began at 50.",
    source="SubscriptionState.allConsumed: a plain commit has the epoch of the last record, "
    "whoever leads; KAFKA-19902",
    expects={
        "committed_epoch_behind_leader": PERMITTED,
        "committed_epoch_stale": NONE,
        "orphan_commit": NONE,
        "committed_epoch_missing": NONE,
    },
)
def commit_behind_the_leader(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    reads_to(h, 49)
    h.commit(50, 0, at=30.0, cluster_epoch=1, brokers=(1, 2))
    h.polled(50, 99, at=32.0, epoch=1)
    h.commit(100, 1, at=40.0, cluster_epoch=1, brokers=(1, 2))
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "A commit carries the leader's epoch; ten seconds later a new epoch begins.",
    source="decision 15: judged by the leader and the epochs of its time",
    expects={
        "committed_epoch_behind_leader": NONE,
        "committed_epoch_stale": NONE,
        "committed_epoch_expired": NONE,
        "orphan_commit": NONE,
    },
)
def leader_changes_after_the_commit(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    reads_to(h, 49)
    h.commit(50, 0, at=10.0, cluster_epoch=0, brokers=(1, 2))
    left(h, 50, at=80.0)


@asks(
    "A commit (50, epoch 0) stands when retention removes all of epoch 0; its offset stays valid.",
    source="LeaderEpochFileCache.truncateFromStartAsyncFlush; KAFKA-19902",
    expects={
        "committed_epoch_expired": PERMITTED,
        "commit_expired": NONE,
        "orphan_commit": NONE,
        "committed_epoch_stale": NONE,
    },
)
def retention_evicts_the_committed_epoch(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group()
    _moved_and_expired(h, 50)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=30.0, cluster_epoch=1, brokers=(1, 2))
    left(h, 50, at=80.0)


@asks(
    "Retention removes a part of epoch 0, whose cache entry then begins at the new log start.",
    source="LeaderEpochFileCache.truncateFromStartAsyncFlush keeps the epoch that holds the start",
    expects={"committed_epoch_expired": NONE, "commit_expired": NONE, "orphan_commit": NONE},
)
def retention_removes_a_part_of_the_epoch(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group()
    _moved_and_expired(h, 30)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=30.0, cluster_epoch=1, brokers=(1, 2))
    left(h, 50, at=80.0)


@asks(
    "Epoch 0 goes by retention only after the group has committed 80 with epoch 1.",
    source="OffsetFetch gives the last commit; decision 15: judged by the epoch cache of that time",
    expects={"committed_epoch_expired": NONE, "commit_expired": NONE},
)
def evicted_epoch_was_superseded(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group()
    _moved_and_expired(h, 50)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=10.0, cluster_epoch=0, brokers=(1, 2))
    h.polled(50, 79, at=24.0, epoch=1)
    h.commit(80, 1, at=30.0, cluster_epoch=1, brokers=(1, 2))
    left(h, 80, at=80.0)


@asks(
    "A plain commit of 30 carries epoch 1, which begins at 50.",
    source=CORRECT,
    expects={
        "committed_epoch_ahead": VIOLATION,
        "committed_epoch_unknown": NONE,
        "committed_epoch_stale": NONE,
        "committed_epoch_behind_leader": NONE,
    },
)
def plain_commit_with_a_later_epoch(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    reads_to(h, 29)
    h.commit(30, 1, at=40.0, record_epoch=0, cluster_epoch=1, brokers=(1, 2))
    left(h, 30, at=80.0)


def _commit_80(h: History, epoch: int, *, record_epoch: int, style: str = "record") -> None:
    h.topic()
    h.group(commit_epoch=style)
    moved(h)
    reads_to(h, 49)
    h.polled(50, 79, at=26.0, epoch=1)
    h.commit(
        80,
        epoch,
        at=40.0,
        style=style,
        record_epoch=record_epoch,
        cluster_epoch=1,
        brokers=(1, 2),
        generation=1,
    )
    left(h, 80, at=80.0)


def _moved_and_expired(h: History, start: int) -> None:
    """Epoch 0 holds 0 to 49, epoch 1 50 to 99; at 50 s retention moves the log start."""
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.led(2, 1, at=20.0, isr=(1, 2), starts=50)
    h.sent(50, 99, at=22.0)
    watched(h, 2, 100, times=(25.0, 35.0, 45.0), epoch=1)
    h.fault("expire by time", h.on_topic("t"), injected=48.0, proved=51.0, healed=51.0)
    for broker in (2, 1):
        h.log_started(broker, start, at=50.0)
    watched(h, 2, 100, times=(52.0, 55.0, 65.0, 75.0, 85.0), start=start, epoch=1)
    for broker in (1, 2):
        spans = [(start, 49, 0)] if start < 50 else []
        h.log(broker, *spans, (50, 99, 1), start=start, high_watermark=100)
    joined(h, 0, at=5.5)


@asks(
    "A group commits 50 with epoch 1 at 12 s; the epoch begins at 20 s, at that very offset.",
    source=ASSIGNED + "; " + LAST_EPOCH,
    expects={
        "committed_epoch_stale": NONE,
        "committed_epoch_unknown": f"{VIOLATION}: not begun: the leader epoch began only after "
        "the commit",
        "committed_epoch_ahead": VIOLATION,
    },
)
def epoch_is_committed_before_it_begins(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    reads_to(h, 49)
    h.commit(50, 1, at=12.0, brokers=(1, 2), generation=1, record_epoch=0, cluster_epoch=0)
    h.polled(50, 99, at=23.0, epoch=1)
    h.commit(100, 1, at=26.0, brokers=(1, 2), generation=1, cluster_epoch=1)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "Records of epoch 0, and then their commit marker of epoch 1: the group commits 46 with 1.",
    source="CompletedFetch: a position takes the epoch of the last batch, a control batch, too",
    expects={
        "committed_epoch_ahead": NONE,
        "committed_epoch_stale": NONE,
        "committed_epoch_unknown": NONE,
        "commit_beyond_processed": NONE,
        "commit_beyond_log": NONE,
    },
)
def marker_of_a_newer_epoch_is_the_last_batch(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    started(h, at=5.0)
    h.sent(0, 44, at=8.0, transaction=0)
    watched(h, 1, 45, times=(10.0, 18.0))
    h.led(2, 1, at=20.0, isr=(1, 2), starts=45)
    step(h, "commit", "committed", at=22.0)
    watched(h, 2, 46, times=(23.0, 35.0, 55.0, 85.0), epoch=1)
    replicas(h, Batch(0, 44, pid=1, base_sequence=0), Batch(45, 45, 1, pid=1, control="commit"))
    joined(h, 0, at=15.0)
    h.polled(0, 44, at=24.0)
    reported = {"record_epoch": 0, "cluster_epoch": 1, "generation": 1}
    h.commit(46, 1, at=26.0, brokers=(1, 2), **reported)
    left(h, 46, at=80.0, caught_up=True)


@asks(
    "A group commits at exactly where two newer epochs start, with the epoch of its last record.",
    source=RECORD + "; SubscriptionState.allConsumed",
    expects={
        "committed_epoch_behind_leader": PERMITTED,
        "committed_epoch_stale": NONE,
        "committed_epoch_ahead": NONE,
        "committed_epoch_unknown": NONE,
        "orphan_commit": NONE,
    },
)
def commit_at_the_start_of_two_epochs(h: History) -> None:
    _elected(h)
    h.commit(50, 0, at=25.0, cluster_epoch=2, brokers=(1, 2), generation=1)
    _reads_epoch_2(h)


@asks(
    "The marker of a transaction lies in the next epoch; a group commits behind it, with that.",
    source="CompletedFetch: the epoch of a position is that of the last batch, control or not",
    expects={
        "committed_epoch_ahead": NONE,
        "committed_epoch_stale": NONE,
        "commit_beyond_processed": NONE,
        "committed_epoch_unknown": NONE,
    },
)
def commit_has_the_epoch_of_the_marker_before_it(h: History) -> None:
    _marker_in_the_next_epoch(h, epoch=1)


@asks(
    "It commits behind the marker with the epoch of the records before that.",
    source="CompletedFetch: the epoch of a position is that of the last batch, control or not",
    expects={
        "committed_epoch_ahead": NONE,
        "committed_epoch_stale": f"{VIOLATION}: stale: the committed epoch is older than that "
        "of the record before",
    },
)
def commit_behind_a_marker_has_the_epoch_of_the_records(h: History) -> None:
    _marker_in_the_next_epoch(h, epoch=0)


def _elected(h: History) -> None:
    """Epoch 0 has 0 to 49, epoch 1 nothing, epoch 2 50 to 99; all elections are clean."""
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 14.0))
    h.led(2, 1, at=15.0, isr=(1, 2), starts=50)
    watched(h, 2, 50, times=(16.0, 19.0), epoch=1)
    h.led(1, 2, at=20.0, isr=(1, 2), starts=50)
    watched(h, 1, 50, times=(22.0, 28.0), epoch=2)
    h.sent(50, 99, at=30.0)
    watched(h, 1, 100, times=(35.0, 55.0, 75.0, 85.0), epoch=2)
    copies(h, (1, 2), (0, 49, 0), (50, 99, 2), high_watermark=100, at=2.0)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)


def _reads_epoch_2(h: History) -> None:
    """Member 1 reads to the end, and commits that."""
    h.polled(50, 99, at=31.0, epoch=2)
    h.commit(100, 2, at=33.0, cluster_epoch=2, brokers=(1, 2), generation=1)
    left(h, 100, at=50.0, caught_up=True)


def _marker_in_the_next_epoch(h: History, *, epoch: int) -> None:
    """A transaction writes 0 to 4 in epoch 0; its marker, 5, is the first batch of epoch 1."""
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    started(h, at=2.0)
    h.sent(0, 4, at=5.0, transaction=0)
    h.led(2, 1, at=9.0, isr=(1, 2), starts=5)
    step(h, "commit", "committed", at=12.0)
    watched(h, 2, 6, times=(15.0, 35.0, 55.0, 85.0), epoch=1)
    for broker in (1, 2):
        replica(
            h,
            broker,
            Batch(0, 4, pid=1, base_sequence=0, at=5.0),
            Batch(5, 5, epoch=1, pid=1, control="commit", at=12.0),
        )
    joined(h, 0, at=14.0)
    h.polled(0, 4, at=16.0)
    h.commit(6, epoch, at=20.0, record_epoch=0, cluster_epoch=1, brokers=(1, 2), generation=1)
    left(h, 6, at=80.0, caught_up=True)

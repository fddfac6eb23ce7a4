"""Committed epochs, truncations and resets: at the edge of an epoch, of a log, and of a moment.

A position is judged by the log of the leader of its time, and a notice by the position to which it
refers.
"""

from tests.exam.histories.blind_one_a_deliveries import (
    deleted_to,
    old_leader_returns,
    two_elections,
)
from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import begun, cut, joined, left, moved, reads_to, watched

LAST_EPOCH = "OffsetAndMetadata.leaderEpoch: the epoch of the record consumed before"
ASSIGNED = "KIP-631: PartitionChangeRecord; an epoch is there once the controller has written it"
CACHE = (
    "LeaderEpochFileCache.truncateFromStartAsyncFlush: an epoch is dropped once a newer one starts "
    "at or below the log start"
)
VALIDATION = "KIP-320, Consumer: a position is validated by its epoch with OffsetForLeaderEpoch"
EACH = VALIDATION + ", after each change of the leader"
LINEAGES = "KIP-320: several unclean elections in a row; LeaderEpochFileCache.endOffsetFor"
IN_RANGE = "ReplicaManager.fetch: from the log start to the log end an offset is in range"
DIVERGENCE = "LeaderEpochFileCache.endOffsetFor: an epoch ends where the next larger one starts"
FOLLOWER = "KIP-101, KIP-279: a follower is cut to where the leader's log parts from its own"


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


@asks(
    "Of two truncations in a row a member notices the first, and reads on over the second.",
    source=EACH,
    expects={
        "truncation_undetected": VIOLATION,
        "silent_revalidation": VIOLATION,
        "skipped_record": VIOLATION,
        "truncation_detected": f"{PERMITTED}: at the divergence: ms after the next epoch began",
    },
)
def first_of_two_truncations_is_noticed(h: History) -> None:
    _two_truncations(h, notices=1)


@asks(
    "It notices both of them.",
    source=EACH,
    expects={
        "truncation_undetected": NONE,
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "skipped_record": NONE,
        "reset": f"{PERMITTED}: truncation: truncation: from 100 to 50 (policy earliest)",
        "orphan_commit": PERMITTED,
    },
)
def both_of_two_truncations_are_noticed(h: History) -> None:
    _two_truncations(h, notices=2)


@asks(
    "A truncation was noticed; at the end the log has that position again, since its old leader "
    "leads.",
    source=LINEAGES,
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "truncation_detected": PERMITTED,
        "truncation_undetected": NOT_VIOLATION,
        "over_truncation": NONE,
    },
)
def noticed_branch_is_back_at_the_end(h: History) -> None:
    old_leader_returns(h, rejoined=False)


@asks(
    "At 17 s a truncation resets a member from 100; the election that cuts the log is at 24 s.",
    source=VALIDATION + ": until then the leader's only epoch ends at its log end",
    expects={
        "false_truncation": VIOLATION,
        "unjustified_reset": f"{VIOLATION}: truncation: the position was on the surviving "
        "branch; no reset was expected",
    },
)
def truncation_is_reported_before_it_happens(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    reads_to(h, 49)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 100, 50, at=17.0, epoch=0, member="1")
    h.polled(50, 99, at=17.5)
    left(h, 100, at=19.0)


@asks(
    "At 27 s a member at 100 is out of range in a log that ends at 50; at 30 s it grows to 150.",
    source=IN_RANGE,
    expects={"unjustified_reset": NONE, "false_truncation": NONE, "reset": PERMITTED},
)
def position_beyond_an_end_that_grows_over_it(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(client="kafka-python")
    cut(h)
    for time in (25.5, 26.9, 28.0):
        h.sampled(2, at=time, end=50, epoch=1, isr=(2,))
    _reads_truncated(h, epoch=0)
    left(h, 100, at=18.0)
    joined(h, 100, at=26.0, member="2", generation=3)
    h.reset("out_of_range", 100, 0, at=27.0, epoch=-1)
    h.polled(0, 49, at=28.0, member="2")
    h.polled(50, 149, at=32.0, epoch=1, member="2", sequence=100)
    h.commit(150, 1, at=34.0, member="2", brokers=(1, 2), generation=3)
    left(h, 150, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "Epoch 1 starts at 50, and the log at 70: the exception names 70 as the divergent offset.",
    source=DIVERGENCE + "; " + CACHE + ", which moves the first one to the log start",
    expects={"divergence_mismatch": NONE, "false_truncation": NONE},
)
def divergence_is_at_a_log_start_above_it(h: History) -> None:
    _raises_above_the_fork(h)


@asks(
    "A leader is deposed by a clean election; it is cut to 30, though the logs part at 50.",
    source=FOLLOWER,
    expects={"over_truncation": VIOLATION, "lost_record": NONE},
)
def deposed_leader_is_cut_below_the_fork(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    h.truncated(1, 30, at=20.5)


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


def _reads_truncated(h: History, *, epoch: int) -> None:
    """A member reads 0 to 99 of epoch 0, and commits 100 with `epoch`, before `cut` cuts."""
    reads_to(h, 49)
    h.polled(50, 99, at=13.0)
    h.commit(100, epoch, at=15.0, record_epoch=0, brokers=(1, 2), generation=1)


def _two_truncations(h: History, *, notices: int) -> None:
    """A live member reads over both elections of `two_elections`, of which both are unclean."""
    two_elections(h, kept=100, alone=120)
    reads_to(h, 49)
    h.polled(50, 99, at=12.0)
    h.commit(100, 0, at=14.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 100, 50, at=24.0, epoch=0, member="1")
    h.polled(50, 99, at=27.0, epoch=1, sequence=100)
    h.polled(100, 119, at=47.0, epoch=1, sequence=150)
    h.commit(120, 1, at=50.0, brokers=(1, 2), generation=1)
    first = 120
    if notices == 2:
        h.reset("truncation", 120, 100, at=64.0, epoch=1, member="1")
        first = 100
    h.polled(first, 139, at=68.0, epoch=2, sequence=first + 100)
    h.commit(140, 2, at=72.0, brokers=(1, 2), generation=1)
    left(h, 140, at=80.0, caught_up=True)


def _raises_above_the_fork(h: History) -> None:
    """`cut`, and DeleteRecords up to 70 at 46 s; a member at 100 of epoch 0 raises at 50 s."""
    h.topic(unclean_election=True, deletes=True)
    h.group(reset="none")
    cut(h)
    target = h.on_partition("t", 0)
    h.fault("delete records", target, injected=45.8, proved=46.3)
    h.log_started(2, 70, at=46.0, reason="client delete records request")
    h.log_started(1, 70, at=46.1, reason="leader offset increment")
    for row in h.rows["log_starts"]:
        row["log_start_offset"] = 70
    h.rows["epoch_checkpoints"][:] = [
        row | {"start_offset": 70}
        for row in h.rows["epoch_checkpoints"]
        if row["leader_epoch"] == 1
    ]
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(46):
            row["log_start_offset"] = 70
    for time in (47.0, 49.5, 51.0):
        h.sampled(2, at=time, end=150, start=70, epoch=1, isr=(1, 2))
    _reads_truncated(h, epoch=0)
    h.changed(
        "failed",
        at=50.0,
        position=100,
        position_epoch=0,
        exception="LogTruncationException",
        message="Detected log truncation with divergent offset 70",
        divergent_offset=70,
        divergent_epoch=0,
        generation=1,
    )
    h.changed("closed", at=51.0)

"""Histories about replicas: their logs, high watermarks, epoch caches, log starts and metadata."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks, asks_each
from tests.exam.scenes import consumed, copies, failed_over, killed, written
from tests.exam.verbs import cluster

NEW = 1000


@asks(
    "Two replicas hold different values at one offset below both high watermarks.",
    source="Kafka's documentation, Replication: followers' logs are identical to the leader's; "
    "KIP-101",
    expects={"log_divergence": VIOLATION},
)
def replicas_hold_different_values(h: History) -> None:
    written(h)
    h.sent(None, at=2.5, sequence=700, outcome="unknown", error="TimeoutException")
    h.log(1, (0, 49, 0), (50, 50, 0), (51, 99, 0), high_watermark=100)
    h.log(2, (0, 49, 0), (50, 50, 0), (51, 99, 0), sequences={50: 700}, high_watermark=100)


@asks(
    "Two replicas hold the same values at one offset, below both high watermarks, in two epochs.",
    source="KIP-101: equal offset and epoch make equal logs; a copy keeps the epoch of its batch",
    expects={"log_divergence": VIOLATION},
)
def replicas_hold_different_epochs(h: History) -> None:
    written(h)
    h.led(1, 1, at=10, isr=[1, 2], starts=100)
    h.sent(100, 149, at=11)
    h.sampled(1, at=12, end=150, epoch=1, isr=[1, 2])
    h.log(1, (0, 99, 0), (100, 149, 1), high_watermark=150)
    h.log(2, (0, 99, 0), (100, 149, 0), checkpoints={0: 0}, high_watermark=150)


@asks(
    "A dead leader keeps a tail that nobody copied; its successor wrote other records there.",
    source="KIP-101: a replica truncates when it follows again, not before",
    expects={
        "log_divergence": NONE,
        "isr_incomplete": NONE,
        "leader_completeness": NONE,
        "epoch_cache_mismatch": NONE,
        "over_truncation": NONE,
    },
)
def dead_leader_keeps_its_tail(h: History) -> None:
    written(h)
    h.sent(
        None,
        count=20,
        at=40,
        intended_at=9.9,
        sequence=100,
        outcome="unknown",
        error="TimeoutException",
    )
    failed_over(h, at=10, start=100)
    h.sent(100, 139, at=20, sequence=100 + NEW)
    h.sampled(2, at=21, end=140, epoch=1, isr=[2])
    h.log(1, (0, 99, 0), (100, 119, 0), high_watermark=100)
    h.log(2, (0, 99, 0), (100, 139, 1), sequences={100: 100 + NEW}, high_watermark=140)


@asks(
    "A follower has not deleted yet what its leader has: their logs start at different offsets.",
    source="ReplicaFetcherThread.processPartitionData: a follower takes the leader's log start "
    "from a Fetch response; retention runs by replica",
    expects={
        "log_divergence": NONE,
        "isr_incomplete": NONE,
        "epoch_cache_mismatch": NONE,
        "retention_overreach": NONE,
        "lost_record": NONE,
    },
)
def replicas_start_at_different_offsets(h: History) -> None:
    written(h, 100, retention_ms=70_000)
    h.group()
    consumed(h, 0, 99, at=4)
    h.sent(100, 149, at=20)
    h.sampled(1, at=21, end=150, isr=[1, 2])
    h.log_started(1, 100, at=85)
    h.sampled(1, at=85.2, end=150, start=100, isr=[1, 2])
    h.log(1, (100, 149, 0), start=100, at=20, high_watermark=150)
    h.log(2, (0, 99, 0), (100, 149, 0), at=2, high_watermark=150)
    h.rows["replica_batches"][-1]["max_timestamp_micros"] = h.at(20)


@asks(
    "A member of the ISR lacks the last ten records below the high watermark.",
    source="Partition.maybeIncrementLeaderHW: no member of the ISR is behind the high watermark",
    expects={"isr_incomplete": VIOLATION},
)
def in_sync_member_lacks_the_tail(h: History) -> None:
    written(h)
    h.sampled(1, at=80, end=100, isr=[1, 2])
    h.log(1, (0, 99, 0), high_watermark=100)
    h.log(2, (0, 89, 0), high_watermark=90)


@asks(
    "A member of the ISR has a hole of ten records in its log.",
    source="Partition.maybeIncrementLeaderHW: each member of the ISR has what lies below the "
    "high watermark",
    expects={"isr_incomplete": VIOLATION, "lost_record": NONE},
)
def in_sync_member_has_a_hole(h: History) -> None:
    written(h)
    h.sampled(1, at=80, end=100, isr=[1, 2])
    h.log(1, (0, 39, 0), (40, 49, 0), (50, 99, 0), high_watermark=100)
    h.log(2, (0, 39, 0), (50, 99, 0), high_watermark=100)


@asks(
    "A replica that left the ISR is behind, and one in it lacks only what is above the mark.",
    source="KIP-966 and Partition: only members of the ISR hold the high watermark back",
    expects={
        "isr_incomplete": NONE,
        "log_divergence": NONE,
        "lost_record": NONE,
        "min_insync_breached": NONE,
        "high_watermark_regressed": NONE,
    },
)
def behind_but_not_in_sync(h: History) -> None:
    written(h, 100, replicas=(1, 2, 3))
    killed(h, 3, at=5)
    h.led(1, 0, at=8, isr=[1, 2], replicas=(1, 2, 3))
    h.sent(100, 149, at=10)
    h.sampled(1, at=80, end=150, isr=[1, 2])
    h.sent(150, 159, at=89, acks="1")
    h.log(1, (0, 99, 0), (100, 149, 0), (150, 159, 0), high_watermark=150)
    h.log(2, (0, 99, 0), (100, 149, 0), high_watermark=150)
    h.log(3, (0, 99, 0), high_watermark=100)


@asks(
    "One leader tells 100 in one epoch, and 80 two seconds later.",
    source="UnifiedLog.maybeIncrementHighWatermark: a leader's high watermark only advances",
    expects={"high_watermark_regressed": VIOLATION, "lost_record": NONE},
)
def high_watermark_falls(h: History) -> None:
    written(h)
    h.sampled(1, at=10, end=100, isr=[1, 2])
    h.sampled(1, at=12, end=80, isr=[1, 2])
    h.sampled(1, at=14, end=100, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Two questions overlap: the one asked first, written down last, tells the lower mark.",
    source="contract/tables_of_run.py, samples: a response lies between asked_micros and at_micros",
    expects={"high_watermark_regressed": NONE, "lost_record": NONE},
)
def answers_out_of_order(h: History) -> None:
    written(h)
    h.sent(100, 109, at=10.06)
    h.sampled(1, at=10.1, end=110, isr=[1, 2])
    h.sampled(1, at=10.3, end=100, isr=[1, 2])
    h.rows["samples"][-1]["asked_micros"] = h.at(10.0)
    h.sampled(1, at=12, end=110, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), (100, 109, 0), high_watermark=110)


@asks(
    "One partition's high watermark is below that of another partition of the topic.",
    source="UnifiedLog.maybeIncrementHighWatermark: a high watermark belongs to one partition",
    expects={"high_watermark_regressed": NONE, "epoch_regressed": NONE},
)
def marks_of_two_partitions(h: History) -> None:
    written(h, partitions=2)
    h.led(2, 0, at=4, isr=[2, 1], starts=0, partition=1)
    h.sent(0, 9, at=5, partition=1, producer="q")
    for at in (6, 8, 10):
        h.sampled(1, at=at, end=100, isr=[1, 2])
        h.sampled(2, at=at + 1, end=10, isr=[2, 1], partition=1)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    copies(h, (1, 2), (0, 9, 0), producers={0: "q"}, partition=1, high_watermark=10)


def two_epochs(h: History, checkpoints: dict[int, int]) -> None:
    """Epoch 0 holds 0 to 99, epoch 1 100 to 149; broker 2's checkpoint has these lines."""
    written(h)
    h.led(2, 1, at=10, isr=[1, 2], starts=100)
    h.sent(100, 149, at=11)
    h.sampled(2, at=12, end=150, epoch=1, isr=[1, 2])
    h.log(1, (0, 99, 0), (100, 149, 1), high_watermark=150)
    h.log(2, (0, 99, 0), (100, 149, 1), checkpoints=checkpoints, high_watermark=150)


@asks(
    "A leader-epoch-checkpoint says that epoch 1 starts at 110; its first record lies at 100.",
    source="LeaderEpochFileCache.assign: an epoch starts with its first record or before",
    expects={"epoch_cache_mismatch": VIOLATION},
)
def checkpoint_with_a_late_start(h: History) -> None:
    two_epochs(h, {0: 0, 1: 110})


@asks(
    "A leader-epoch-checkpoint lacks an epoch whose records are in the segments.",
    source="UnifiedLog.append assigns each new epoch of a batch to the cache",
    expects={"epoch_cache_mismatch": VIOLATION},
)
def checkpoint_without_an_epoch(h: History) -> None:
    two_epochs(h, {0: 0})


@asks(
    "A leader's checkpoint names an epoch without records at its log end; the follower's does not.",
    source="Partition.makeLeader assigns its epoch at the log end; a follower learns epochs from "
    "batches only",
    expects={
        "epoch_cache_mismatch": NONE,
        "log_divergence": NONE,
        "epoch_regressed": NONE,
        "loss_estimate": NONE,
    },
)
def epoch_without_records(h: History) -> None:
    written(h)
    h.led(1, 1, at=10, isr=[1, 2], starts=100)
    h.led(1, 2, at=12, isr=[1, 2], starts=100)
    h.sampled(1, at=13, end=100, epoch=2, isr=[1, 2])
    h.log(1, (0, 99, 0), checkpoints={0: 0, 2: 100}, high_watermark=100)
    h.log(2, (0, 99, 0), high_watermark=100)


def metadata(
    h: History, server: int, *batches: tuple[int, int], changed: int | None = None
) -> None:
    """A server's metadata log: by batch its offset and epoch; `changed`: one that differs."""
    for offset, epoch in batches:
        h.add(
            "metadata_batches",
            server=h.broker(server),
            base_offset=offset,
            last_offset=offset + 9,
            metadata_epoch=epoch,
            size_bytes=500,
            checksum=offset * 100 + epoch + (7 if offset == changed else 0),
            at_micros=h.at(offset % 1000 / 10),
        )


def served(h: History) -> None:
    """A topic that is written and read."""
    written(h, replicas=(1, 2, 3))
    h.group()
    consumed(h, 0, 99, at=5)
    copies(h, (1, 2, 3), (0, 99, 0), high_watermark=100)


@asks(
    "Three servers hold different batches at one metadata offset, far below the log end.",
    source="KIP-595: logs are equal up to the high watermark",
    expects={"metadata_divergence": VIOLATION},
    alone=True,
)
def metadata_logs_differ(h: History) -> None:
    served(h)
    batches = [(offset, 1) for offset in range(0, 100, 10)]
    for server in (1, 2):
        metadata(h, server, *batches)
    metadata(h, 3, *batches, changed=20)


@asks(
    "A server's metadata log is shorter, and another one begins with a later batch.",
    source="KIP-595 and KIP-630: a voter may lag, and a snapshot replaces the beginning of a log",
    expects={"metadata_divergence": NONE},
    alone=True,
)
def metadata_logs_of_different_length(h: History) -> None:
    served(h)
    batches = [(offset, 1) for offset in range(0, 100, 10)]
    metadata(h, 1, *batches)
    metadata(h, 2, *batches[3:])
    metadata(h, 3, *batches[:8])


@asks(
    "A controller that was cut off keeps one batch that no other log has; a majority went on.",
    source="KIP-595: only what a majority holds is committed; the rest is truncated after healing",
    expects={"metadata_divergence": NOT_VIOLATION},
    alone=True,
)
def uncommitted_tail_of_a_controller(h: History) -> None:
    served(h)
    batches = [(offset, 1) for offset in range(0, 50, 10)]
    for server in (1, 2):
        metadata(h, server, *batches, (50, 2), (60, 2))
    metadata(h, 3, *batches, (50, 1))
    h.fault("cut", h.on_broker(3), injected=4.9, proved=6)


@asks(
    "In the log of a replica a batch of epoch 0 lies behind one of epoch 1.",
    source="KIP-101: epochs grow with offsets",
    expects={"epoch_regressed": f"{VIOLATION}: log"},
)
def log_goes_back_to_an_older_epoch(h: History) -> None:
    written(h)
    h.led(2, 1, at=10, isr=[1, 2], starts=50)
    copies(h, (1, 2), (0, 49, 1), (50, 99, 0), checkpoints={1: 0}, high_watermark=100)


@asks_each(
    "The metadata logs of three servers have batches of 10 records.",
    source="KIP-595, Leader Election and Log Matching: what a majority has is in each later log",
    check="metadata_divergence",
    cases={
        "All are the same.": (NONE, {}),
        "One ends with a batch that a majority has otherwise.": (
            f"{PERMITTED}: uncommitted tail",
            {"third": ((0, 1), (10, 1), (20, 1), (30, 1)), "others": (30, 2)},
        ),
        "One goes back to an older epoch.": (
            f"{VIOLATION}: epoch regressed",
            {"third": ((0, 1), (10, 0), (20, 1))},
        ),
        "One differs in the middle.": (
            f"{VIOLATION}: not matching",
            {"third": ((0, 1), (10, 0), (20, 1))},
        ),
        "Two have other bytes at one offset and epoch.": (
            f"{VIOLATION}: one offset, two batches",
            {"changed": 20},
        ),
    },
)
def metadata_logs_of_three(
    h: History,
    *,
    third: tuple[tuple[int, int], ...] = ((0, 1), (10, 1), (20, 1)),
    others: tuple[int, int] | None = None,
    changed: int | None = None,
) -> None:
    first = h.place.metadata_offset(0)
    same = [(0, 1), (10, 1), (20, 1)] + ([others] if others else [])
    for server, batches in ((1, same), (2, same), (3, third)):
        own = [(first + offset, epoch) for offset, epoch in batches]
        differs = first + changed if server == 3 and changed else None
        metadata(h, server, *own, changed=differs)


@asks_each(
    "A broker answers the observer that",
    source="KIP-500: brokers learn of leaders by the metadata log alone",
    check="metadata_divergence",
    cases={
        "broker 2 leads under epoch 1, as the log says.": (NONE, {}),
        "broker 2 leads under epoch 2, which nobody gave.": (VIOLATION, {"epoch": 2}),
        "broker 2 leads under epoch 0, which was broker 1's.": (VIOLATION, {"epoch": 0}),
        "nobody leads under epoch 5.": (NONE, {"epoch": 5, "leader": -1}),
    },
)
def answer_about_the_leader(h: History, *, epoch: int = 1, leader: int = 2) -> None:
    h.topic()
    cluster(h)
    h.led(2, 1, at=10, isr=(1, 2), starts=0)
    metadata(h, 1, (0, 1))
    metadata(h, 2, (0, 1))
    h.sampled(1, at=30, end=1, epoch=epoch, leader=leader, isr=(1, 2))


@asks(
    "A follower that was in sync truncates to 80, below where the next epoch began.",
    source="KIP-101: truncate to the end of the largest common epoch",
    expects={"over_truncation": VIOLATION},
)
def follower_in_sync_is_truncated_too_far(h: History) -> None:
    written(h, replicas=(1, 2, 3))
    failed_over(h, at=20, start=100, isr=(2, 3))
    h.truncated(3, 80, at=25)
    copies(h, (2, 3), (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)


@asks(
    "The partition epoch stays as it was when the ISR shrinks.",
    source="PartitionRegistration.merge: each change has the next partition epoch",
    expects={"epoch_regressed": VIOLATION},
)
def partition_epoch_does_not_grow(h: History) -> None:
    written(h)
    h.led(1, 0, at=10, isr=[1], partition_epoch=0)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A leader-epoch-checkpoint has the next epoch at 90, and batches of this one reach 99.",
    source="LeaderEpochFileCache.assign: an epoch ends where the next one starts",
    expects={"epoch_cache_mismatch": VIOLATION},
)
def checkpoint_with_an_early_start(h: History) -> None:
    two_epochs(h, {0: 0, 1: 90})


@asks(
    "A leader-epoch-checkpoint has an epoch that starts beyond the end of the log.",
    source="KAFKA-15046: after a truncation the file is written in the background",
    expects={"epoch_cache_mismatch": PERMITTED},
)
def checkpoint_beyond_the_end(h: History) -> None:
    two_epochs(h, {0: 0, 1: 100, 2: 180})


@asks(
    "A replica that is down has other values at 60 to 99, below its own high watermark.",
    source="UnifiedLog.maybeIncrementHighWatermark: what lies below it is committed, and the same "
    "on all replicas",
    expects={"log_divergence": VIOLATION},
)
def dead_replica_differs_below_its_high_watermark(h: History) -> None:
    _dead_replica_differs(h, high_watermark=100)


@asks(
    "A replica that is down has other values at 60 to 99, above its own high watermark.",
    source="UnifiedLog.maybeIncrementHighWatermark: what lies above it may be truncated",
    expects={"log_divergence": NONE},
)
def dead_replica_differs_above_its_high_watermark(h: History) -> None:
    _dead_replica_differs(h, high_watermark=60)


def _dead_replica_differs(h: History, *, high_watermark: int) -> None:
    written(h)
    killed(h, 2, at=10)
    h.led(1, 0, at=13, isr=[1])
    h.log(1, (0, 59, 0), (60, 99, 0), high_watermark=100)
    h.log(2, (0, 59, 0), (60, 99, 0), sequences={60: 500}, high_watermark=high_watermark)


@asks(
    "A follower that was in sync truncates to 80; 80 to 99 were acknowledged with acks=1.",
    source="KIP-101; ProducerConfig acks=1: the follower need not have had them",
    expects={"over_truncation": NONE},
)
def follower_may_have_lacked_what_it_truncates(h: History) -> None:
    written(h, replicas=(1, 2, 3), acks="1")
    failed_over(h, at=20, start=100, isr=(2, 3))
    h.truncated(3, 80, at=25)
    copies(h, (2, 3), (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)


@asks(
    "A follower that was not in sync truncates to 80, below where the next epoch began.",
    source="KIP-101: only a member of the ISR surely had what was acknowledged",
    expects={"over_truncation": NONE},
)
def follower_out_of_sync_is_truncated(h: History) -> None:
    written(h, replicas=(1, 2, 3))
    for row in h.rows["leaderships"]:
        row["isr"] = [h.broker(1), h.broker(2)]
    failed_over(h, at=20, start=100)
    h.truncated(3, 80, at=25)
    copies(h, (2, 3), (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)

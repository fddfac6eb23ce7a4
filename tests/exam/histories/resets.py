"""Histories about positions that a client gave up for others."""

from tests.exam.history import (
    NONE,
    NOT_EVALUABLE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.scenes import NEW, consumed, copies, failed_over, started, torn, written
from tests.exam.verbs import cluster, joined, left, moved, reads_to, watched


def reported(
    h: History,
    *,
    committed_epoch: int = 1,
    start: int = 210,
    later: int = 0,
    evicted: bool = False,
    cause: str = "out_of_range",
) -> None:
    """A group committed 350 in epoch 1 (300 to 499); member 2 resets to the log start at 31 s.

    start: where the log starts from 20 s on. later: where retention moves it at 50 s.
    evicted: epoch 2 begins at 500, and retention removes epoch 1 wholly.
    """
    written(h, 300, deletes=True)
    failed_over(h, at=4, start=300)
    h.sent(300, 499, at=9)
    h.sampled(2, at=10, end=500, epoch=1, isr=[2])
    style = "record" if committed_epoch == 1 else "stale"
    h.group(commit_epoch=style)
    started(h, 0, at=11, fresh=True)
    h.polled(0, 299, at=12)
    h.polled(300, 349, at=13, epoch=1)
    h.commit(350, committed_epoch, at=15, record_epoch=1, style=style)
    h.changed("closed", at=16)
    h.log_started(2, start, at=20, reason="client delete records request")
    h.sampled(2, at=21, end=500, start=start, epoch=1, isr=[2])
    h.sampled(2, at=29, end=500, start=start, epoch=1, isr=[2])
    started(h, 350, at=30, member="2")
    h.reset(cause, 350, start, at=31, epoch=committed_epoch)
    h.sampled(2, at=31.5, end=500, start=start, epoch=1, isr=[2])
    if start < 300:
        h.polled(start, 299, at=32, member="2")
    h.polled(max(start, 300), 499, at=33, epoch=1, member="2")
    h.changed("caught_up", at=34, position=500, member="2")
    h.commit(500, 1, at=35, member="2")
    h.changed("closed", at=36, member="2")
    end, spans = later or start, [(max(later or start, 300), 499, 1)]
    if end < 300:
        spans.insert(0, (end, 299, 0))
    if evicted:
        h.led(2, 2, at=40, isr=[2], starts=500)
        h.sent(500, 599, at=41)
        h.sampled(2, at=42, end=600, epoch=2, start=start, isr=[2])
        spans = [(later, 599, 2)]
    if later:
        h.log_started(2, later, at=50)
        epoch, high = (2, 600) if evicted else (1, 500)
        h.sampled(2, at=60, end=high, start=later, epoch=epoch, isr=[2])
    h.log(1, (0, 299, 0), high_watermark=300)
    h.log(2, *spans, start=end, high_watermark=600 if evicted else 500)


@asks(
    "A group resets from 350 to the log start 210 though 350 is inside the log.",
    source="KAFKA-19902; auto.offset.reset applies where the offset does not exist any more, "
    "and 350 does",
    expects={
        "unjustified_reset": VIOLATION,
        "reprocessing_amplification": NOT_VIOLATION,
        "truncation_detected": NONE,
        "lost_record": NONE,
    },
)
def reset_from_inside_the_log(h: History) -> None:
    reported(h)


@asks(
    "The same, and retention removes 350 later.",
    source="auto.offset.reset applies where the offset does not exist any more; decision 15: "
    "the log start of that time counts",
    expects={"unjustified_reset": VIOLATION},
)
def reset_from_inside_hidden_by_retention(h: History) -> None:
    reported(h, later=400)


@asks(
    "The same, and at the end no replica knows the committed epoch.",
    source="auto.offset.reset applies where the offset does not exist any more; decision 15: "
    "the epochs of that time count",
    expects={"unjustified_reset": VIOLATION},
)
def reset_from_inside_hidden_by_eviction(h: History) -> None:
    reported(h, later=520, evicted=True)


@asks(
    "A stale epoch was committed and removed by retention; the group resumes at the log start.",
    source="KAFKA-19902; LeaderEpochFileCache.endOffsetFor: a removed epoch ends at the start of "
    "the first larger epoch, which is the log start",
    expects={"unjustified_reset": NOT_VIOLATION, "false_truncation": NOT_VIOLATION},
)
def stale_epoch_that_retention_removed(h: History) -> None:
    reported(h, committed_epoch=0, start=310, cause="truncation")


@asks(
    "A position without an epoch lies beyond the truncated log's end, which later grows past it.",
    source="auto.offset.reset=earliest: an offset beyond the end is out of range",
    expects={
        "unjustified_reset": NONE,
        "reset": PERMITTED,
        "truncation_undetected": NONE,
        "silent_revalidation": NONE,
        "skipped_record": NONE,
        "duplicate_delivery": PERMITTED,
        "reprocessing_amplification": PERMITTED,
        "false_truncation": NONE,
    },
)
def out_of_range_beyond_the_end_of_that_time(h: History) -> None:
    epoch = torn(h)
    h.group(commit_epoch="none")
    started(h, 0, at=8, fresh=True)
    h.polled(0, 199, at=9)
    h.commit(200, -1, at=11, style="none", record_epoch=0)
    h.reset("out_of_range", 200, 0, at=28, member="1")
    h.polled(0, 99, at=29)
    h.polled(100, 349, at=32, epoch=epoch, sequence=100 + NEW)
    h.changed("caught_up", at=33, position=350)
    h.commit(350, -1, at=34, style="none", record_epoch=epoch)
    h.changed("closed", at=35)


@asks(
    "Each record is delivered once, by two members in turn.",
    source="KafkaConsumer Javadoc: a successor starts at the committed position",
    expects={
        "reset": NONE,
        "unjustified_reset": NONE,
        "reprocessing_amplification": NONE,
        "duplicate_delivery": NONE,
        "start_mismatch": NONE,
    },
)
def handed_over_without_a_reset(h: History) -> None:
    written(h)
    h.group()
    h.stored(0, -1, at=1)
    consumed(h, 0, 99, at=5, fresh=False)
    h.sent(100, 149, at=20)
    h.sampled(1, at=21, end=150, isr=[1, 2])
    consumed(h, 100, 149, at=25, fresh=False, member="2")
    copies(h, (1, 2), (0, 99, 0), (100, 149, 0), high_watermark=150)


@asks(
    "A group without any commit starts by its policy.",
    source="auto.offset.reset: what to do when there is no initial offset",
    expects={
        # F5 and F6 are of positions that were given up, from one offset to another. A group that
        # begins has none to give up; F5's cause `no commit` is a commit that stood and is gone.
        "reset": NONE,
        "unjustified_reset": NONE,
        "truncation_detected": NONE,
        "skipped_record": NONE,
        "reprocessing_amplification": NONE,
    },
)
def start_by_policy_without_a_commit(h: History) -> None:
    written(h)
    h.group()
    consumed(h, 0, 99, at=5)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Policy none: a position below the log start raises, and moves nothing.",
    source="OffsetOutOfRangeException; auto.offset.reset=none",
    expects={
        "unjustified_reset": NONE,
        "truncation_detected": NONE,
        "truncation_undetected": NONE,
        "false_truncation": NONE,
        "divergence_mismatch": NONE,
    },
)
def out_of_range_under_policy_none(h: History) -> None:
    written(h, 200, deletes=True)
    h.group(reset="none")
    h.stored(0, -1, at=1)
    started(h, 0, at=4)
    h.polled(0, 49, at=5)
    h.commit(50, 0, at=6)
    h.changed("closed", at=7)
    h.log_started(1, 100, at=20, reason="client delete records request")
    h.log_started(2, 100, at=20.4, reason="leader offset increment")
    h.sampled(1, at=21, end=200, start=100, isr=[1, 2])
    started(h, 50, at=30, member="2")
    h.reset("out_of_range", 50, None, at=31, epoch=0, policy="none")
    h.changed(
        "failed",
        at=31,
        member="2",
        position=50,
        exception="OffsetOutOfRangeException",
        message="Fetch position is out of range, and no reset policy is defined",
    )
    h.changed("closed", at=32, member="2")
    copies(h, (1, 2), (0, 199, 0), start=100, checkpoints={0: 100}, high_watermark=200)


@asks(
    "One of two partitions is truncated; the group is told so of the other one.",
    source="KIP-320: positions are validated partition by partition",
    expects={
        "false_truncation": VIOLATION,
        "truncation_undetected": f"{VIOLATION}: silent: records of epoch 0 were read and then "
        "truncated; the group continued in epoch 1",
        "skipped_record": f"{VIOLATION}: skipped without an error: but at these offsets "
        "the log has other records, of epoch",
    },
)
def notice_on_the_wrong_partition(h: History) -> None:
    epoch = torn(h, partitions=2)
    h.led(2, 0, at=50, isr=[2, 1], starts=0, partition=1)
    h.sent(0, 99, at=51, partition=1, producer="q")
    h.sampled(2, at=52, end=100, isr=[2, 1], partition=1)
    copies(h, (1, 2), (0, 99, 0), partition=1, producers={0: "q"}, high_watermark=100)
    h.group()
    started(h, 0, at=8, fresh=True)
    h.polled(0, 199, at=9)
    h.commit(200, 0, at=11)
    h.changed("closed", at=12)
    h.changed("opened", at=55, member="2")
    h.changed("assigned", at=55.3, position=0, member="2", partition=1)
    h.changed("assigned", at=55.3, position=200, member="2")
    h.polled(0, 99, at=56, member="2", partition=1, producer="q")
    h.polled(200, 349, at=57, epoch=epoch, member="2", sequence=200 + NEW)
    h.reset("truncation", 100, 50, at=58, epoch=0, partition=1)
    h.polled(50, 99, at=59, member="2", partition=1, producer="q", sequence=50)
    h.changed("caught_up", at=60, position=100, member="2", partition=1)
    h.changed("caught_up", at=60, position=350, member="2")
    h.commit(100, 0, at=61, member="2", partition=1)
    h.commit(350, epoch, at=61.5, member="2")
    h.changed("closed", at=62, member="2")


@asks(
    "No broker told its log start, so no read can be called one of expired records.",
    source="docs/findings.md: not_evaluable where there is nothing to judge; "
    "contract/checks.py: OF_LOG_STARTS",
    expects={"expired_read": NOT_EVALUABLE, "divergent_readers": NOT_EVALUABLE},
    alone=True,
)
def nobody_reported_a_log_start(h: History) -> None:
    written(h)
    h.rows["samples"].clear()
    h.group()
    consumed(h, 0, 99, at=5)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Position 80 is out of range while the log ends at 50; the next sample has its end at 100.",
    source="ReplicaManager.fetch: an offset above the log end is out of range at that time",
    expects={"unjustified_reset": NOT_VIOLATION},
)
def position_was_above_the_end_at_that_time(h: History) -> None:
    _above_the_end(h, sampled=(5.0, 20.0))


@asks(
    "It is out of range, and nobody had sampled the leader before.",
    source="ReplicaManager.fetch: an offset above the log end is out of range at that time",
    expects={"unjustified_reset": NOT_VIOLATION},
)
def position_was_above_an_end_that_nobody_sampled(h: History) -> None:
    _above_the_end(h, sampled=())


def _above_the_end(h: History, *, sampled: tuple[float, ...]) -> None:
    """An application had committed 80; records 50 to 99 are written after the reset at 30 s."""
    h.topic()
    h.group(reset="latest")
    cluster(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=sampled)
    reads_to(h, 49)
    h.commit(80, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 50, at=12.0)
    h.changed("opened", at=29.5, member="2")
    h.reset("out_of_range", 80, 50, at=30.0, epoch=0, policy="latest")
    h.changed("assigned", at=30.2, position=50, member="2", generation=3)
    h.sent(50, 99, at=32.0)
    watched(h, 1, 100, times=(35.0, 85.0))
    h.polled(50, 99, at=36.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100, at=2.0)


@asks(
    "A position of 30 is out of range between a sample with log start 0 and one with 50.",
    source="ReplicaManager.fetch: an offset below the log start is out of range; retention.ms",
    expects={"unjustified_reset": UNDECIDED},
)
def log_start_passed_the_position_some_time(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group()
    cluster(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 20.0))
    watched(h, 1, 100, times=(60.0, 85.0), start=50)
    reads_to(h, 29)
    h.commit(30, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 30, at=12.0)
    h.changed("opened", at=39.5, member="2")
    h.reset("out_of_range", 30, 50, at=40.0, epoch=0)
    h.changed("assigned", at=40.2, position=50, member="2", generation=3)
    h.polled(50, 99, at=41.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
    copies(h, (1, 2), (50, 99, 0), start=50, high_watermark=100, at=2.0)


@asks(
    "A truncation from 150 is logged; the leader had reported 120 as its end before, and 200 "
    "after.",
    source="docs/findings.md, unjustified_reset: judged by the log of that time",
    expects={
        "unjustified_reset": f"{UNDECIDED}: truncation: the position was above the log end in the "
        "last sample before, but not in a later one"
    },
)
def reset_from_above_the_last_reported_end(h: History) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 199, at=2)
    h.polled(0, 149, at=5)
    watched(h, 1, 120, times=(10,))
    h.reset("truncation", 150, 100, at=20, epoch=0, member="1")
    watched(h, 1, 200, times=(30, 50, 80))
    copies(h, (1, 2), (0, 199, 0), high_watermark=200)


@asks(
    "A client tells of a truncation from a stale epoch; where a newer epoch began is not known.",
    source="KIP-320; decision 15: judged by the log of that time",
    expects={"false_truncation": UNDECIDED},
)
def stale_epoch_while_the_log_start_is_unknown(h: History) -> None:
    _unsure(h, epoch=0, to=10)


@asks(
    "The same, and it is led to where the log may have started then.",
    source="KIP-320; LeaderEpochFileCache.endOffsetFor; decision 15",
    expects={"false_truncation": UNDECIDED},
)
def removed_epoch_while_the_log_start_is_unknown(h: History) -> None:
    _unsure(h, epoch=0, to=100)


@asks(
    "A client tells of a truncation on its branch, of a position that may have expired by then.",
    source="KIP-320; decision 15: judged by the log of that time",
    expects={"false_truncation": UNDECIDED},
)
def position_may_have_expired(h: History) -> None:
    _unsure(h, epoch=1, to=60)


@asks(
    "A client tells of a truncation by a stale epoch; the record before its position is there.",
    source="KIP-320; OffsetAndMetadata.leaderEpoch: the epoch of the record consumed before",
    expects={"false_truncation": VIOLATION},
)
def stale_epoch_on_an_intact_branch(h: History) -> None:
    _unsure(h, epoch=0, to=10, is_known=True)


def _unsure(h: History, *, epoch: int, to: int, is_known: bool = False) -> None:
    """A group at 100, after a record of epoch 1, reports a truncation at 40 s.

    is_known: that the log started at 0 at second 85; else it started at 120 at the end, and at 20
    at the time of the report at the least.
    """
    h.topic(retention_ms=60_000)
    h.group()
    moved(h, last=149)
    joined(h, 0, at=23.0)
    h.polled(0, 49, at=24.0)
    h.polled(50, 99, at=25.0, epoch=1)
    h.reset("truncation", 100, to, at=40.0, epoch=epoch, member="1")
    if is_known:
        return
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(38)]
    h.rows["samples"][-1]["log_start_offset"] = 5
    copies(h, (1, 2), (120, 149, 1), start=120, high_watermark=150)


@asks(
    "A group resets a position of epoch 1 on the branch that stays; nobody sampled the leader of "
    "that epoch.",
    source="KIP-320; decision 15: where the log ended then is not known",
    expects={"unjustified_reset": UNDECIDED},
)
def reset_on_the_branch_and_nobody_sampled(h: History) -> None:
    _resets_on_the_branch(h)


@asks(
    "The same, and only a follower and a leader without an answer were sampled.",
    source="contract/tables_of_run.py, samples: a broker that does not lead knows no end",
    expects={"unjustified_reset": UNDECIDED},
)
def reset_on_the_branch_and_no_leader_answered(h: History) -> None:
    _resets_on_the_branch(h)
    h.sampled(1, at=48, end=350, epoch=1, leader=2, isr=[2])
    h.sampled(2, at=49, end=-1, start=-1, epoch=1, isr=[2])


@asks(
    "The same, and the leader was sampled above the position before.",
    source="KIP-320: the position was on the leader's branch, and within its log",
    expects={"unjustified_reset": VIOLATION},
)
def reset_on_the_branch_below_the_end_before(h: History) -> None:
    _resets_on_the_branch(h)
    h.sampled(2, at=49, end=350, epoch=1, isr=[2, 1])


@asks(
    "The same, of a position without an epoch.",
    source="decision 15: without its epoch it is not known whether the position was truncated",
    expects={"unjustified_reset": UNDECIDED},
)
def reset_of_a_position_without_an_epoch(h: History) -> None:
    _resets_on_the_branch(h, epoch=-1)
    h.sampled(2, at=49, end=350, epoch=1, isr=[2, 1])


def _resets_on_the_branch(h: History, *, epoch: int = 1) -> None:
    """A group at 200 is reset to 100 at 50 s; epoch 1 began at 100 at 23 s."""
    torn(h)
    h.group()
    started(h, 200, at=48)
    h.reset(
        "truncation" if epoch >= 0 else "out_of_range", 200, 100, at=50, epoch=epoch, member="1"
    )
    h.changed("closed", at=52)
    h.rows["samples"] = [row for row in h.rows["samples"] if row["leader_epoch"] == 0]

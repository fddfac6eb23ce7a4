"""Histories about acknowledgements: by too few in sync, or by a leader that was deposed."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import consumed, copies, failed_over, returned, started, written


@asks(
    "One replica in all, min.insync.replicas 2: its ISR of one is full, and acks=all is fine.",
    source="Partition.effectiveMinIsr and PartitionChangeBuilder: bounded by the replica count",
    expects={
        "min_insync_breached": NONE,
        "eligible_leader_replicas": NONE,
        "lost_record": NONE,
        "log_divergence": NONE,
    },
)
def fewer_replicas_than_min_insync(h: History) -> None:
    written(h, replicas=(1,), min_insync=2)
    h.group()
    consumed(h, 0, 99, at=5)
    h.log(1, (0, 99, 0), high_watermark=100)


def short(h: History, *, acks: str, intended: float, answered: float) -> None:
    """min.insync.replicas 2, and an ISR of one from 10 s to 40 s; records 100 to 109."""
    written(h, min_insync=2)
    h.fault(
        "stop",
        h.on_broker(2),
        injected=9.9,
        proved=10.5,
        heal_began=37,
        healed=38,
    )
    h.registered(2, at=9.99, is_fenced=False)
    h.rows["broker_states"][-1]["in_controlled_shutdown"] = True
    h.led(1, 0, at=10, isr=[1], elr=[2])
    h.registered(2, at=10.4, is_fenced=True)
    h.sent(100, 109, at=answered, intended_at=intended, acks=acks)
    h.sampled(1, at=30, end=110 if intended < 11 else 100, isr=[1])
    returned(h, 2, at=38)
    h.led(1, 0, at=40, isr=[1, 2])
    h.sampled(1, at=42, end=110, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), (100, 109, 0), high_watermark=110)


@asks(
    "acks=all is acknowledged while only one of min.insync.replicas=2 replicas is in sync.",
    source="min.insync.replicas: such a write is refused with NotEnoughReplicas",
    expects={"min_insync_breached": VIOLATION, "lost_record": NONE},
)
def acknowledged_by_too_few(h: History) -> None:
    short(h, acks="all", intended=20, answered=20.1)


@asks(
    "acks=1 is acknowledged while only one of min.insync.replicas=2 replicas is in sync.",
    source="min.insync.replicas concerns acks=all only; KAFKA-15583 holds the high watermark back",
    expects={
        "min_insync_breached": NONE,
        "lost_record": NONE,
        "high_watermark_regressed": NONE,
        "eligible_leader_replicas": NONE,
        "fenced_in_isr": NONE,
    },
)
def acks_one_needs_nobody_in_sync(h: History) -> None:
    short(h, acks="1", intended=20, answered=20.1)


@asks(
    "acks=all was sent before the ISR shrank, and its answer is read after it.",
    source="ProducerConfig acks=all: the leader may have answered while both were in sync; the "
    "time at which its client reads the answer is no proof",
    expects={"min_insync_breached": NOT_VIOLATION, "lost_record": NONE},
)
def answered_after_the_isr_shrank(h: History) -> None:
    short(h, acks="all", intended=6, answered=13)


@asks(
    "acks=all is sent and answered 20 ms after the ISR shrank.",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    expects={"min_insync_breached": NOT_VIOLATION},
)
def answered_within_the_clock_bound(h: History) -> None:
    short(h, acks="all", intended=10.01, answered=10.02)


def late_answer(h: History, *, acks: str, intended: float, answered: float, kept: bool) -> None:
    """Broker 2 leads from 13 s; 100 to 109 of epoch 0 are answered; kept: both replicas have them.

    Broker 1 is cut from its peers from 10 s to 30 s.
    """
    written(h)
    h.fault(
        "cut",
        h.on_broker(1),
        injected=10,
        proved=13,
        heal_began=29,
        healed=30,
    )
    h.registered(1, at=13, is_fenced=True)
    end = 110 if kept else 100
    h.led(2, 1, at=13, isr=[2], starts=end)
    h.sent(100, 109, at=answered, intended_at=intended, acks=acks)
    h.sampled(2, at=20, end=end, epoch=1, isr=[2])
    if not kept:
        h.cut(1, 100, 109, 0, at=29)
    returned(h, 1, at=30)
    if not kept:
        h.truncated(1, 100, at=31)
    h.led(2, 1, at=33, isr=[2, 1])
    h.sampled(2, at=40, end=end, epoch=1, isr=[2, 1])
    spans = [(0, 99, 0)] + ([(100, 109, 0)] if kept else [])
    h.log(1, *spans, high_watermark=end)
    h.log(2, *spans, checkpoints={0: 0, 1: end}, high_watermark=end)


@asks(
    "acks=all was appended before the election; the answer is read three seconds after it.",
    source="ProducerConfig acks=all: the leader waits for the replicas in sync, so the "
    "successor has the record; a client may read the answer later",
    expects={"served_under_fenced_epoch": NOT_VIOLATION, "lost_record": NONE},
)
def answer_that_arrives_after_the_election(h: History) -> None:
    late_answer(h, acks="all", intended=9, answered=16, kept=True)


@asks(
    "acks=all is sent and answered 30 ms after the election, and the record is not kept.",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    expects={"served_under_fenced_epoch": NOT_VIOLATION, "lost_record": VIOLATION},
)
def answer_within_the_clock_bound(h: History) -> None:
    late_answer(h, acks="all", intended=13.02, answered=13.03, kept=False)


@asks(
    "Old records are read from the new leader: they carry the old epoch.",
    source="KIP-101: a record keeps the epoch under which it was appended; it does not tell who "
    "served it",
    expects={
        "served_under_fenced_epoch": NONE,
        "stale_read": NOT_VIOLATION,
        "inconsistent_offset": NONE,
        "log_divergence": NONE,
    },
)
def old_records_from_the_new_leader(h: History) -> None:
    written(h)
    failed_over(h, at=10, start=100)
    h.group()
    consumed(h, 0, 99, at=20)
    h.log(1, (0, 99, 0), high_watermark=100)
    h.log(2, (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)


@asks(
    "A deposed leader serves records above the high watermark that held; nobody else had them.",
    source="FetchIsolation.of: a consumer is given what lies below the high watermark",
    expects={"served_under_fenced_epoch": VIOLATION},
)
def zombie_serves_beyond_the_high_watermark(h: History) -> None:
    late_answer(h, acks="1", intended=15.9, answered=16, kept=False)
    h.group()
    started(h, 0, at=14, fresh=True)
    h.polled(0, 99, at=15)
    h.polled(100, 109, at=18)
    h.changed("closed", at=19)


@asks(
    "A deposed leader still names itself and its old epoch to the observer.",
    source="KIP-320: a broker that is cut off does not learn of the new epoch",
    expects={
        "epoch_regressed": NONE,
        "high_watermark_regressed": NONE,
        "metadata_divergence": NONE,
    },
)
def deposed_leader_answers_with_its_old_epoch(h: History) -> None:
    late_answer(h, acks="all", intended=8, answered=8.1, kept=True)
    h.sampled(2, at=22, end=110, epoch=1, isr=[2])
    h.sampled(1, at=23, end=110, epoch=0, isr=[1, 2])
    h.sampled(2, at=24, end=110, epoch=1, isr=[2])


@asks(
    "acks=all is acknowledged two seconds after the ISR shrank below min.insync.replicas.",
    source="docs/findings.md, min_insync_breached: a leader may not have heard of it yet",
    expects={"min_insync_breached": PERMITTED},
)
def acknowledged_soon_after_the_isr_shrank(h: History) -> None:
    short(h, acks="all", intended=12, answered=12)

"""Histories about acknowledgements: by too few in sync, or by a leader that was deposed."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import (
    consumed,
    copies,
    failed_over,
    metadata_in_order,
    paused,
    returned,
    started,
    written,
)
from tests.exam.verbs import begun, cluster, cut, joined, left, reads_to, same_logs, watched

REPLICATION = (
    "Kafka's documentation, Replication: a committed record survives as long as one in-sync "
    "replica does, unless an unclean election is allowed"
)
COMMITTED = "Kafka's documentation, Replication: a committed record is on every replica of the ISR"
KIP_101 = "KIP-101: a follower truncates to where its epoch ends in the leader's log"
MIN_ISR = "min.insync.replicas: with acks=all fewer replicas make the write fail"
DECISION = "docs/findings.md, liveness: an outage counts while the partition could serve"
INSYNC = "`min.insync.replicas`; `Partition.appendRecordsToLeader`: NOT_ENOUGH_REPLICAS until then"


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


@asks(
    "Records acknowledged with acks=1 were delivered below the high watermark; a clean election "
    "takes them.",
    source=REPLICATION + "; acks=1 promises nothing of the followers",
    expects={
        "leader_completeness": VIOLATION,
        "orphan_commit": VIOLATION,
        "lost_record": PERMITTED,
    },
)
def delivered_records_of_weak_acks_are_taken_cleanly(h: History) -> None:
    h.topic()
    h.group()
    cut(h, unclean=False)
    _weaken(h)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    left(h, 100, at=19.0)


@asks(
    "Records acknowledged with acks=1 never came below the high watermark; a clean election "
    "takes them.",
    source="acks=1: the leader acknowledges alone, and may fail before followers have the record",
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": NONE,
        "over_truncation": NONE,
        "orphan_commit": NONE,
        "truncation_undetected": NONE,
    },
)
def weak_acks_above_the_high_watermark_are_taken_cleanly(h: History) -> None:
    h.topic()
    h.group()
    cut(h, unclean=False)
    _weaken(h)
    for row in h.rows["samples"]:
        if row["leader_epoch"] == 0:
            row["log_end_offset"] = min(50, row["log_end_offset"])
    reads_to(h, 49)
    h.commit(50, 0, at=15.0, brokers=(1, 2), generation=1)
    h.polled(50, 149, at=32.0, epoch=1, sequence=100)
    h.commit(150, 1, at=34.0, brokers=(1, 2), generation=1)
    left(h, 150, at=80.0, caught_up=True)


def _weaken(h: History) -> None:
    """What `cut` takes was acknowledged with acks=1."""
    for row in h.rows["sends"]:
        if h.at(11) < row["answered_micros"] < h.at(13):
            row["acks"] = "1"


@asks(
    "A leader is killed right after acks=1 records; a clean election goes on without them.",
    source=COMMITTED + "; acks=1: the leader alone has it; " + KIP_101,
    expects={
        "lost_record": f"{PERMITTED}: truncated: acks=1 does not wait for replication",
        "leader_completeness": NONE,
        "high_watermark_regressed": NONE,
        "over_truncation": NONE,
        "log_divergence": NONE,
    },
)
def acks_one_tail_is_cut_by_a_clean_election(h: History) -> None:
    _failed_over(h)


@asks(
    "The same records had been below the high watermark that the leader reported.",
    source=COMMITTED + ": the high watermark is the end of what is committed, with any acks",
    expects={"leader_completeness": VIOLATION, "high_watermark_regressed": VIOLATION},
)
def acks_one_records_had_been_committed(h: History) -> None:
    _failed_over(h, watermark=105)


@asks(
    "A send is retried while the ISR is too small, and acknowledged once it is large enough.",
    source=MIN_ISR + "; " + DECISION,
    expects={"min_insync_breached": NONE, "produce_unavailable": PERMITTED, "lost_record": NONE},
)
def answered_once_the_isr_is_large_again(h: History) -> None:
    h.topic(min_insync=2)
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    h.fault("pause", h.on_broker(2), injected=10.0, proved=19.7, heal_began=40.0, healed=41.0)
    h.registered(2, at=19.5, is_fenced=True)
    h.led(1, 0, at=19.5, isr=(1,))
    watched(h, 1, 100, times=(22.0,), isr=(1,))
    h.sent(100, 109, at=42.5, intended_at=30.0)
    h.registered(2, at=41.2, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=42.0, isr=(1, 2))
    watched(h, 1, 110, times=(45.0, 65.0, 85.0))
    copies(h, (1, 2), (0, 99, 0), (100, 109, 0), high_watermark=110)


def _failed_over(h: History, *, watermark: int = 100) -> None:
    """Broker 1 has 105 records, the last five with acks=1; broker 2 is elected with 100."""
    h.topic()
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    h.sent(100, 104, at=19.5, acks="1")
    watched(h, 1, watermark, times=(19.7,))
    h.fault("kill", h.on_broker(1), injected=20.0, proved=23.0, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=24.0, isr=(2,), starts=100)
    watched(h, 2, 100, times=(26.0, 28.0), epoch=1, isr=(2,))
    h.sent(100, 149, at=30.0, sequence=105)
    watched(h, 2, 150, times=(35.0,), epoch=1, isr=(2,))
    h.registered(1, at=39.0, is_fenced=False, broker_epoch=2)
    h.cut(1, 100, 104, 0, at=38.5)
    h.truncated(1, 100, at=41.0)
    h.led(2, 1, at=45.0, isr=(1, 2))
    watched(h, 2, 150, times=(55.0, 85.0), epoch=1)
    copies(h, (1, 2), (0, 99, 0), (100, 149, 1), sequences={100: 105}, high_watermark=150)


@asks(
    "The ISR is too small twice; what was sent meanwhile is acknowledged once it is not, or had "
    "acks=1.",
    source=INSYNC,
    expects={
        "min_insync_breached": NONE,
        "lost_record": NONE,
        "produce_unavailable": NOT_VIOLATION,
    },
)
def small_isr_is_waited_for(h: History) -> None:
    _small_twice(h)
    h.sent(50, 54, at=30.0, acks="1", producer="q", sequence=0)
    h.sent(55, 59, at=40.6, intended_at=25.0, sequence=50)
    h.sent(60, 64, at=50.0, sequence=55)
    watched(h, 1, 65, times=(55.0, 85.0))
    watched(h, 1, 65, times=(65.0, 75.0), isr=(1,))
    same_logs(
        h,
        (0, 49, 0),
        (50, 54, 0),
        (55, 64, 0),
        producers={50: "q"},
        sequences={50: 0, 55: 50},
    )


@asks(
    "In the second of these times a record is acknowledged with acks=all, 11 s after it began.",
    source=INSYNC,
    expects={"min_insync_breached": VIOLATION, "lost_record": NONE},
)
def small_isr_acknowledges_the_second_time(h: History) -> None:
    _small_twice(h)
    h.sent(50, 54, at=50.0)
    h.sent(55, 59, at=71.0)
    watched(h, 1, 55, times=(55.0,))
    watched(h, 1, 55, times=(65.0,), isr=(1,))
    watched(h, 1, 60, times=(85.0,))
    same_logs(h, (0, 49, 0), (50, 59, 0))


def _small_twice(h: History) -> None:
    """Two of two replicas must be in sync; broker 2 is not from 20 to 40, and from 60 to 80."""
    h.topic(min_insync=2)
    h.group()
    cluster(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    for began in (20.0, 60.0):
        paused(h, 2, at=began - 3, until=began + 18)
        h.led(1, 0, at=began, isr=(1,))
        h.led(1, 0, at=began + 20, isr=(1, 2))
    watched(h, 1, 50, times=(25.0, 35.0), isr=(1,))
    metadata_in_order(h)

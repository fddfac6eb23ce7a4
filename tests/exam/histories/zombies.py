"""Histories about a leader that was cut off and goes on acknowledging."""

from typing import Any

from tests.exam.histories.late_commits import NOT_REPORTED
from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.scenes import (
    NEW,
    copies,
    killed,
    returned,
    started,
    torn,
    written,
)
from tests.exam.verbs import cluster, joined


@asks(
    "A leader that was cut off acknowledges acks=1 records after its successor was elected.",
    source="ProducerConfig acks=1: the leader alone acknowledges, so it needs no successor",
    expects={
        "lost_record": PERMITTED,
        "served_under_fenced_epoch": PERMITTED,
        "leader_completeness": NOT_VIOLATION,
        "min_insync_breached": NONE,
        "log_divergence": NONE,
        "over_truncation": NONE,
    },
)
def zombie_acknowledges_with_acks_one(h: History) -> None:
    zombie(h, acks="1")


@asks(
    "A leader that was cut off acknowledges acks=all records seconds after its successor's epoch.",
    source="AlterPartition needs the controller, so a leader that is cut off cannot commit alone",
    expects={"lost_record": VIOLATION, "served_under_fenced_epoch": VIOLATION},
)
def zombie_acknowledges_with_acks_all(h: History) -> None:
    zombie(h, acks="all")


@asks_each(
    "Broker 1 was alone in sync when it was cut off, and acknowledges acks=all records after the "
    "unclean election of broker 2,",
    source="Kafka's documentation, min.insync.replicas, unclean.leader.election.enable: a leader "
    "that is alone in sync acknowledges by itself, and the election may lose what it has",
    check="served_under_fenced_epoch",
    cases={
        "which the topic allows.": (f"{PERMITTED}: accepted_by_zombie", {}),
        "which the topic allows; nobody leads for a second.": (
            f"{PERMITTED}: accepted_by_zombie",
            {"waits": True},
        ),
        "which the topic does not allow.": (VIOLATION, {"configured": False}),
    },
)
def zombie_that_is_alone_in_sync(
    h: History, *, waits: bool = False, configured: bool = True
) -> None:
    zombie(h, acks="all", alone=True, waits=waits, unclean_election=configured)


def zombie(
    h: History, *, acks: str, alone: bool = False, waits: bool = False, **topic: Any
) -> None:
    """Broker 1 is cut from its peers at 10 s, acknowledges 110 to 159, and heals at 30 s.

    alone: broker 2 has left the replicas in sync before. waits: there is no leader for a second.
    """
    written(h, 110, min_insync=1, **topic)
    if alone:
        h.led(1, 0, at=5, isr=[1])
    h.fault(
        "cut",
        h.on_broker(1),
        injected=10,
        proved=13,
        heal_began=29,
        healed=30,
    )
    h.registered(1, at=12.9, is_fenced=True)
    if waits:
        h.led(-1, 1, at=12.9, isr=[1])
    epoch = 2 if waits else 1
    h.led(2, epoch, at=13, isr=[2], starts=110)
    h.sampled(2, at=15, end=110, epoch=epoch, isr=[2])
    h.sent(110, 159, at=16, acks=acks)
    h.sent(110, 179, at=20, sequence=110 + NEW)
    h.sampled(2, at=21, end=180, epoch=epoch, isr=[2])
    h.cut(1, 110, 159, 0, at=29)
    h.registered(1, at=30, is_fenced=False, broker_epoch=2)
    h.truncated(1, 110, at=31)
    h.led(2, epoch, at=35, isr=[2, 1])
    h.sampled(2, at=40, end=180, epoch=epoch, isr=[2, 1])
    spans = [(0, 109, 0), (110, 179, epoch)]
    copies(h, (1, 2), *spans, sequences={110: 110 + NEW}, high_watermark=180)


@asks(
    "A leader alone in sync is cut off, and acknowledges 110 to 159 while broker 2, elected from "
    "110, is alone in sync. Then it leads again, and broker 2 truncates to 110.",
    source="KIP-101; Partition.maybeIncrementLeaderHW: a leader waits for the replicas in sync that"
    " it knows of, those of its own epoch",
    expects={"over_truncation": NONE, "log_divergence": NONE},
)
def zombie_leads_again(h: History) -> None:
    written(h, 110, min_insync=1, unclean_election=True)
    h.led(1, 0, at=5, isr=[1])
    h.fault("cut", h.on_broker(1), injected=10, proved=13, heal_began=29, healed=30)
    h.registered(1, at=12.9, is_fenced=True)
    h.led(2, 1, at=13, isr=[2], starts=110)
    h.sampled(2, at=15, end=110, epoch=1, isr=[2])
    h.sent(110, 159, at=16)
    killed(h, 2, at=24, healed=41)
    h.led(-1, 2, at=26, isr=[2])
    h.registered(1, at=30, is_fenced=False, broker_epoch=2)
    h.led(1, 3, at=31, isr=[1], starts=160)
    h.sampled(1, at=32, end=160, epoch=3, isr=[1])
    returned(h, 2, at=41)
    h.truncated(2, 110, at=42)
    h.led(1, 3, at=44, isr=[1, 2])
    copies(h, (1, 2), (0, 159, 0), checkpoints={0: 0, 3: 160}, high_watermark=160)


@asks_each(
    "A deposed leader gives a group records; broker 2 was elected at 13 and starts at 100.",
    source="FetchIsolation.of: a consumer is given what lies below the high watermark; "
    "unclean.leader.election.enable: records may be lost",
    check="served_under_fenced_epoch",
    cases={
        "It gives 100 to 109 at 20, and the election was clean.": (
            f"{VIOLATION}: served_by_zombie",
            {"isr": (1, 2)},
        ),
        "It gives 100 to 109 at 20, and the election was unclean.": (
            f"{PERMITTED}: served_by_zombie",
            {},
        ),
        "It gives 90 to 99 at 20.": (NONE, {"first": 90}),
        "It gives 100 to 109 at 12.": (NONE, {"at": 12}),
    },
)
def reader_of_a_deposed_leader(
    h: History, *, first: int = 100, at: float = 20, isr: tuple[int, ...] = (1,)
) -> None:
    h.topic(unclean_election=True)
    h.group()
    cluster(h)
    h.led(1, 0, at=3, isr=isr)
    h.sent(0, 109, at=5, acks="1")
    h.led(2, 1, at=13, isr=(2,), starts=100)
    h.sampled(2, at=15, end=100, epoch=1)
    h.polled(first, first + 9, at=at)
    h.log(2, (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)


@asks(
    "A deposed leader gives a group records that an election lost which nobody has recorded.",
    source=NOT_REPORTED,
    expects={"served_under_fenced_epoch": UNDECIDED},
)
def deposed_leader_serves_after_an_unknown_election(h: History) -> None:
    _serves_late(h)
    h.rows["leaderships"] = [row for row in h.rows["leaderships"] if row["leader_epoch"] < 2]


def _serves_late(h: History) -> None:
    """Records 100 to 199 of epoch 0 are delivered 5 s after epoch 2 began at 100."""
    torn(h, ordered=True)
    h.group()
    started(h, 0, at=6, fresh=True)
    h.polled(0, 99, at=7)
    h.polled(100, 199, at=30)
    h.changed("closed", at=35)


@asks(
    "A leader that was cut off goes on to report its high watermark of 60; its successor, elected "
    "at second 20, has committed the records of the older epoch up to 99, and serves them.",
    source="KIP-101, KIP-320: a new leader keeps the records of older epochs that it has, and "
    "commits them with its first own ones",
    expects={
        "uncommitted_read": NONE,
        "commit_beyond_log": NONE,
        "high_watermark_regressed": NONE,
        "early_high_watermark": NONE,
        "expired_read": NONE,
        "epoch_regressed": NONE,
        "leader_completeness": NONE,
        "over_truncation": NONE,
        "lost_record": NONE,
        "skipped_record": NONE,
    },
)
def successor_serves_what_the_zombie_has_not_committed(h: History) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 59, at=2.0)
    h.sent(60, 99, at=10.0, acks="1")
    h.sampled(1, at=12.0, end=60, isr=(1, 2))
    h.led(2, 1, at=20.0, isr=(2,), starts=100)
    h.sent(100, 109, at=22.0)
    joined(h, 0, at=24.0)
    h.polled(0, 99, at=25.0)
    h.polled(100, 109, at=25.0, epoch=1)
    h.commit(110, at=25.5, epoch=1)
    for at in (26.0, 28.0, 30.0):
        h.sampled(1, at=at, end=60, isr=(1, 2))
        h.sampled(2, at=at, end=110, epoch=1, isr=(2,))
    copies(h, (1, 2), (0, 99, 0), (100, 109, 1), high_watermark=110, at=2.0)

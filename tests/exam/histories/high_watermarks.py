"""High watermarks that fall, and what proves that a record was below one after an election."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks, asks_each
from tests.exam.verbs import cluster, same_logs, watched


@asks_each(
    "A leader reports the high watermark 100; ten seconds later",
    source="KIP-101, Motivation: what is below the high watermark stays; "
    "unclean.leader.election.enable: records may be lost",
    check="high_watermark_regressed",
    cases={
        "it reports 110.": (NONE, {"end": 110, "leader": 1}),
        "it reports 80, though nobody was elected.": (VIOLATION, {"leader": 1}),
        "its successor out of the ISR reports 80.": (VIOLATION, {}),
        "its successor from an unclean election reports 80.": (PERMITTED, {"isr": (1,)}),
        "its successor reports none yet.": (NONE, {"end": -1}),
        "the old leader still reports 100, and its successor 110.": (
            NONE,
            {"end": 110, "old_end": 100},
        ),
    },
)
def high_watermark_after_100(
    h: History,
    *,
    end: int = 80,
    leader: int = 2,
    isr: tuple[int, ...] = (1, 2),
    old_end: int | None = None,
) -> None:
    h.topic(unclean_election=True)
    cluster(h)
    h.led(1, 0, at=3, isr=isr)
    h.sampled(1, at=5, end=100, isr=isr)
    if leader == 2:
        h.led(2, 1, at=8, isr=(2,), starts=80)
    h.sampled(leader, at=15, end=end, epoch=leader - 1, isr=(leader,))
    if old_end is not None:
        h.sampled(1, at=25, end=old_end)


def waited(h: History, *, min_insync: int = 1) -> None:
    """Record 1 is acknowledged at 12, broker 2 elected at 20, and the group gets it at 52."""
    h.topic(min_insync=min_insync)
    h.group()
    h.registered(1, at=0.2, is_fenced=False)
    h.registered(2, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1,))
    h.led(2, 1, at=20, isr=(2,))
    h.sent(0, at=9)
    h.sent(1, at=12)
    h.polled(0, at=10)
    h.polled(1, at=52)


def other_group(h: History, at: float, epoch: int) -> None:
    """Another group is delivered record 2."""
    h.polled(2, at=at, epoch=epoch, producer="q", group="other")


@asks_each(
    "A group waits 40 s for a record, across an election; a late report proves that it could have "
    "had it.",
    source="Kafka's documentation, Replication: consumers are given what is below the high "
    "watermark; a new leader has none until its followers fetched from it",
    check="fetch_unavailable",
    cases={
        "Nothing proves it earlier.": (PERMITTED, {}),
        "The new leader reports a high watermark beyond it at 25.": (VIOLATION, {"report": 2}),
        "The new leader reports a high watermark at it at 25.": (PERMITTED, {"report": 1}),
        "Another group gets a later record of the new epoch at 25.": (VIOLATION, {"read": (25, 1)}),
        "Another group gets a later record of the old epoch at 25.": (PERMITTED, {"read": (25, 0)}),
        "A later record is sent 5 s after the election, and acknowledged.": (
            VIOLATION,
            {"sent": 25},
        ),
        "A later record is sent 4.9 s after it, perhaps to the old leader.": (
            PERMITTED,
            {"sent": 24.9},
        ),
        "A later record is sent with acks=1.": (PERMITTED, {"sent": 25, "acks": "1"}),
    },
)
def wait_across_an_election(
    h: History,
    *,
    report: int | None = None,
    read: tuple[float, int] | None = None,
    sent: float | None = None,
    acks: str = "all",
) -> None:
    waited(h)
    if report is not None:
        h.sampled(2, at=25, end=report, epoch=1)
    if read is not None:
        other_group(h, *read)
    if sent is not None:
        h.sent(2, at=sent + 1, intended_at=sent, producer="q", acks=acks)
    h.sampled(2, at=42, end=3, epoch=1)


@asks_each(
    "A group waits 40 s for a record, across an election, and no leader reports anything;",
    source="min.insync.replicas; KAFKA-15583: a high watermark advances with enough in sync only",
    check="fetch_unavailable",
    cases={
        "enough replicas are in sync.": (VIOLATION, {"min_insync": 1}),
        "enough are, and another group gets a later record at 51.": (
            VIOLATION,
            {"min_insync": 1, "read_at": 51},
        ),
        "too few are in sync.": (PERMITTED, {}),
        "too few are, and another group gets a later record at 51.": (PERMITTED, {"read_at": 51}),
        "too few are, and another group gets a later record at 25.": (VIOLATION, {"read_at": 25}),
    },
)
def wait_for_a_leader_without_reports(
    h: History, *, min_insync: int = 2, read_at: float | None = None
) -> None:
    waited(h, min_insync=min_insync)
    if read_at is not None:
        other_group(h, read_at, 1)


@asks(
    "A leader that is cut from the controllers tells its high watermark, when its successor's is "
    "higher.",
    source="KIP-101: each epoch has a leader; a deposed one learns of it later, and its high "
    "watermark is that of its own epoch",
    expects={
        "high_watermark_regressed": NOT_VIOLATION,
        "epoch_regressed": NONE,
        "metadata_divergence": NONE,
        "lost_record": NONE,
    },
)
def deposed_leader_tells_its_own_high_watermark(h: History) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.fault("cut both", h.on_broker(1), injected=20.0, proved=24.0, heal_began=40.0, healed=41.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=23.0, isr=(2,), starts=50)
    h.sent(50, 79, at=26.0)
    watched(h, 2, 80, times=(28.0,), epoch=1, isr=(2,))
    watched(h, 1, 50, times=(30.0, 35.0))
    watched(h, 2, 80, times=(36.0, 39.0), epoch=1, isr=(2,))
    h.registered(1, at=41.5, is_fenced=False)
    h.led(2, 1, at=44.0, isr=(1, 2))
    for broker in (2, 1):
        h.sampled(broker, at=50.0, end=80 if broker == 2 else -1, epoch=1, leader=2, isr=(1, 2))
    h.rows["samples"][-1]["log_start_offset"] = -1
    watched(h, 2, 80, times=(65.0, 85.0), epoch=1)
    same_logs(h, (0, 49, 0), (50, 79, 1))

"""Records that were delivered above the high watermark, by a leader or a follower."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import begun, cut, joined, left, watched

COMMITTED = "Kafka's documentation, Replication: only committed records are given to consumers"
FOLLOWER = "KIP-392: a follower serves records up to its own high watermark"


@asks(
    "A group is delivered 0 to 99; 5 s later the leader of that epoch reports high watermark 60.",
    source=COMMITTED,
    expects={"uncommitted_read": VIOLATION},
)
def read_above_the_high_watermark(h: History) -> None:
    _read(h, reported=60, at=25.0)


@asks(
    "The same of a group with a client.rack, which a follower may serve.",
    source=FOLLOWER,
    expects={"uncommitted_read": VIOLATION},
)
def follower_serves_above_the_high_watermark(h: History) -> None:
    _read(h, reported=60, at=25.0, settings={"client.rack": "a"})


@asks(
    "A follower serves 0 to 99; the leader reported 60 before and 100 after that.",
    source=FOLLOWER + "; what the high watermark was in between is not known",
    expects={"uncommitted_read": NONE},
)
def follower_serves_between_two_reports(h: History) -> None:
    _read(h, reported=60, at=15.0, settings={"client.rack": "a"})


@asks(
    "The leader was asked before the delivery, and its response came afterwards.",
    source=COMMITTED,
    expects={"uncommitted_read": NONE},
)
def report_was_asked_before(h: History) -> None:
    _read(h, reported=60, at=20.3)
    h.rows["samples"][-1]["asked_micros"] = h.at(19.9)


@asks(
    "The leader reports that high watermark 20 ms after the delivery, which clocks may exchange.",
    source=COMMITTED + "; docs/findings.md: the clock bound is 50 ms",
    expects={"uncommitted_read": NONE},
)
def report_is_within_the_clock_bound(h: History) -> None:
    _read(h, reported=60, at=20.02)


@asks(
    "The high watermark is at the last record, which was delivered.",
    source=COMMITTED + "; the high watermark is exclusive",
    expects={"uncommitted_read": VIOLATION},
)
def read_at_the_high_watermark(h: History) -> None:
    _read(h, reported=99, at=25.0)


@asks(
    "The leader of a newer epoch, which starts at 60, reports high watermark 60 later.",
    source="KIP-101: records of the older epoch were truncated; `leader_completeness` judges that",
    expects={"uncommitted_read": NONE},
)
def newer_epoch_reports_less(h: History) -> None:
    _read(h, reported=60, at=25.0, epoch=1)


def _read(
    h: History,
    *,
    reported: int,
    at: float,
    epoch: int = 0,
    settings: dict[str, str | int] | None = None,
) -> None:
    """A group is delivered 0 to 99 of epoch 0 at second 20; the leader reports at `at`."""
    h.topic()
    h.group(settings=settings)
    begun(h)
    h.sent(0, 59, at=2.0)
    h.sent(60, 99, at=10.0)
    watched(h, 1, 60, times=(5.0, 8.0))
    joined(h, 0, at=15.0)
    h.polled(0, 99, at=20.0)
    last = 99 if epoch == 0 else 59
    copies(h, (1, 2), (0, last, 0), high_watermark=last + 1, at=2.0)
    if epoch:
        h.led(2, epoch, at=22.0, isr=(2,), starts=60)
    else:
        watched(h, 1, 100, times=(55.0, 65.0))
    h.sampled(2 if epoch else 1, at=at, end=reported, epoch=epoch, isr=(2,) if epoch else (1, 2))


@asks(
    "Records are delivered after a report that they are not committed, and before the next one, "
    "by which they are.",
    source=COMMITTED,
    expects={"uncommitted_read": NONE, "lost_record": NONE},
)
def records_are_delivered_between_two_reports(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    h.sent(50, 59, at=31.0, intended_at=20.0)
    watched(h, 1, 50, times=(5.0, 15.0, 25.0))
    watched(h, 1, 60, times=(35.0, 45.0, 65.0, 85.0))
    copies(h, (1, 2), (0, 49, 0), (50, 59, 0), high_watermark=60, at=2.0)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 59, at=32.0)
    h.commit(60, 0, at=33.0, brokers=(1, 2), generation=1)
    left(h, 60, at=80.0, caught_up=True)


@asks(
    "Records that were delivered in epoch 0 are above the high watermark which the leader of "
    "epoch 1, from an unclean election, reports later.",
    source=COMMITTED + "; the high watermark of another leader proves nothing about epoch 0",
    expects={
        "uncommitted_read": NONE,
        "lost_record": f"{PERMITTED}: truncated: unclean election by configuration: broker",
        "high_watermark_regressed": NONE,
    },
)
def next_leader_reports_a_lower_high_watermark(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h, reported=60, last=99)
    h.rows["samples"] = [
        row for row in h.rows["samples"] if row["leader_epoch"] or row["at_micros"] < h.at(10)
    ]
    h.sampled(2, at=26.0, end=50, epoch=1, isr=(2,))
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 59, at=13.0)
    h.commit(60, 0, at=14.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 60, 50, at=27.0, epoch=0, member="1")
    h.polled(50, 99, at=46.0, epoch=1, sequence=60)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "Records of the second of three epochs are delivered before they are committed; all survive.",
    source=COMMITTED,
    expects={"uncommitted_read": VIOLATION, "orphan_commit": NONE},
)
def records_of_the_middle_epoch_are_delivered_too_early(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.led(2, 1, at=20.0, isr=(1, 2), starts=50)
    h.sent(50, 59, at=36.0, intended_at=25.0)
    watched(h, 2, 50, times=(22.0, 30.0), epoch=1)
    watched(h, 2, 60, times=(38.0,), epoch=1)
    h.led(1, 2, at=40.0, isr=(1, 2), starts=60)
    h.sent(60, 99, at=42.0)
    watched(h, 1, 100, times=(45.0, 65.0, 85.0), epoch=2)
    copies(h, (1, 2), (0, 49, 0), (50, 59, 1), (60, 99, 2), high_watermark=100, at=25.0)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 59, at=26.0, epoch=1)
    h.commit(60, 1, at=27.0, brokers=(1, 2), generation=1)
    h.polled(60, 99, at=43.0, epoch=2)
    left(h, 100, at=80.0, caught_up=True)

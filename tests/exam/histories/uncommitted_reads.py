"""Records that were delivered above the high watermark, by a leader or a follower."""

from tests.exam.history import NONE, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import begun, joined, watched

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

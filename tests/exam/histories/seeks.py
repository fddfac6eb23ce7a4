"""What an application does to its own position: it seeks, or pauses a partition."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import joined, left, plain, watched

SEEK = "`KafkaConsumer.seek`: the application sets the position that the next poll reads from"
PAUSE = "`KafkaConsumer.pause`: no records of the partition are returned until it is resumed"
PASSED = "`KafkaConsumer`: records of a partition are returned in order"
BACK = {
    "commit_regressed": PERMITTED,
    "duplicate_delivery": PERMITTED,
    "nonmonotonic_poll": NONE,
    "reset": NONE,
    "unjustified_reset": NONE,
    "truncation_detected": NONE,
}
FORWARD = {"skipped_record": PERMITTED, "poll_skip": NONE, "commit_beyond_processed": NONE}


@asks(
    "An application seeks from 100 back to 50, reads on, and commits 60 after 100.",
    source=SEEK,
    expects=BACK,
)
def application_seeks_back(h: History) -> None:
    _back(h, seek=20.0)


@asks(
    "It goes back without a seek.",
    source=PASSED,
    expects={"commit_regressed": VIOLATION, "duplicate_delivery": VIOLATION},
)
def application_is_led_back(h: History) -> None:
    _back(h, seek=None)


@asks(
    "It goes back, and seeks 10 s after its commit of 60.",
    source=SEEK + "; a seek explains what follows it",
    expects={"commit_regressed": VIOLATION},
)
def seek_back_comes_later(h: History) -> None:
    _back(h, seek=None)
    h.changed("sought", at=50.0, position=50)


@asks(
    "An application seeks from 30 forward to 70.",
    source=SEEK,
    expects=FORWARD,
)
def application_seeks_forward(h: History) -> None:
    _forward(h, to=70)


@asks(
    "The client returns 0 to 29, then 50 to 69, and the application seeks to 80.",
    source=SEEK + ", from what had been returned",
    expects={"skipped_record": VIOLATION, "poll_skip": VIOLATION},
)
def seek_excuses_no_earlier_skip(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 29, at=6.0)
    h.polled(50, 69, at=10.0)
    h.changed("sought", at=20.0, position=80)
    h.polled(80, 99, at=30.0)
    h.commit(100, 0, at=40.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "It seeks to 60, and the client returns records from 70 on.",
    source=SEEK,
    expects={"skipped_record": VIOLATION},
)
def seek_is_overshot(h: History) -> None:
    _forward(h, to=60)


@asks(
    "It seeks in another partition.",
    source=SEEK,
    expects={"skipped_record": VIOLATION, "poll_skip": VIOLATION},
)
def seek_is_of_another_partition(h: History) -> None:
    _forward(h, to=70, partition=1)


@asks(
    "A successor starts at 40, as its application seeks there, though 100 is committed.",
    source=SEEK,
    expects={"start_mismatch": PERMITTED, "skipped_record": NONE, "unjustified_reset": NONE},
)
def successor_seeks_at_its_start(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 99, at=6.0)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 100, at=20.0)
    h.changed("opened", at=29.0, member="2")
    h.changed("sought", at=29.9, position=40, member="2")
    h.changed("assigned", at=30.0, position=40, member="2", generation=3)
    h.polled(40, 99, at=31.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A member gets nothing for 45 s, while records lie above its position; it had paused.",
    source=PAUSE,
    expects={"fetch_unavailable": NONE, "stuck_consumer": NONE},
)
def member_pauses(h: History) -> None:
    _waits(h, paused=(11.0, 56.5))


@asks(
    "The same without a pause.",
    source="`replica.lag.time.max.ms`; decision 8: service is required",
    expects={"fetch_unavailable": VIOLATION},
)
def member_waits(h: History) -> None:
    _waits(h, paused=None)


@asks(
    "It had paused for the first 3 s only.",
    source=PAUSE,
    expects={"fetch_unavailable": VIOLATION},
)
def member_waits_after_a_pause(h: History) -> None:
    _waits(h, paused=(11.0, 14.0))


@asks(
    "It had paused another partition.",
    source=PAUSE,
    expects={"fetch_unavailable": VIOLATION},
)
def member_pauses_another_partition(h: History) -> None:
    _waits(h, paused=(11.0, 56.5), partition=1)


def _back(h: History, *, seek: float | None) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 99, at=6.0)
    h.commit(100, 0, at=10.0, brokers=(1, 2), generation=1)
    if seek is not None:
        h.changed("sought", at=seek, position=50)
    h.polled(50, 59, at=30.0)
    h.commit(60, 0, at=40.0, brokers=(1, 2), generation=1)
    h.polled(60, 99, at=70.0)
    left(h, 100, at=80.0, caught_up=True)


def _forward(h: History, *, to: int, partition: int = 0) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0, generation=1, partitions=(0, 1))
    h.polled(0, 29, at=6.0)
    h.changed("sought", at=20.0, position=to, partition=partition)
    h.polled(70, 99, at=30.0)
    h.commit(100, 0, at=40.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


def _waits(h: History, *, paused: tuple[float, float] | None, partition: int = 0) -> None:
    """Records 50 to 99 are sent at second 12; the member gets them at 57."""
    h.topic(partitions=2)
    h.group()
    plain(h, 49)
    h.sent(50, 99, at=12.0)
    copies(h, (1, 2), (50, 99, 0), at=12.0)
    h.rows["log_starts"] = h.rows["log_starts"][2:]
    h.rows["epoch_checkpoints"] = h.rows["epoch_checkpoints"][:2]
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(13.0):
            row["log_end_offset"] = 100
    watched(h, 1, 100, times=(13.0,))
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=10.0)
    if paused:
        h.changed("paused", at=paused[0], position=50, partition=partition)
        h.changed("resumed", at=paused[1], position=50, partition=partition)
    h.polled(50, 99, at=57.0)
    left(h, 100, at=80.0, caught_up=True)

"""Resets whose logged target is the offset that they left."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.verbs import cut, joined, left

LOGGED = (
    "librdkafka, rd_kafka_offset_validate: it logs the position that it validated; the position"
    " that a reset leads to is where the client fetches next"
)


def _reset(h: History, cause: str, to: int, *, next_at: int | None) -> None:
    """A member at 100 resets; 50 to 99 are gone, and were written anew up to 149."""
    h.topic(unclean_election=True)
    h.group(client="librdkafka")
    cut(h)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    h.reset(cause, 100, to, at=32.0, epoch=0, member="1")
    if next_at is not None:
        h.polled(next_at, 119, at=33.0, epoch=1, sequence=next_at + 50)
    h.commit(80, 1, at=34.0, brokers=(1, 2), generation=1)
    h.polled(120, 149, at=35.0, epoch=1, sequence=170)
    h.commit(150, 1, at=36.0, brokers=(1, 2), generation=1)
    left(h, 150, at=80.0, caught_up=True)


WENT_BACK = {
    "commit_regressed": PERMITTED,
    "commit_beyond_processed": NONE,
    "nonmonotonic_poll": NONE,
    "skipped_record": NONE,
    "unjustified_reset": NONE,
    "false_truncation": NONE,
    "truncation_undetected": NONE,
    "truncation_detected": PERMITTED,
}


@asks(
    "librdkafka at 100 logs a truncation to 100, fetches from 50 on, and commits 80.",
    source=LOGGED,
    expects=WENT_BACK,
)
def truncation_is_logged_with_its_old_offset(h: History) -> None:
    _reset(h, "truncation", 100, next_at=50)


@asks(
    "librdkafka at 100 logs that 100 is out of range, with 100, fetches from 50, and commits 80.",
    source=LOGGED,
    expects=WENT_BACK | {"truncation_detected": NOT_VIOLATION},
)
def out_of_range_is_logged_with_its_old_offset(h: History) -> None:
    _reset(h, "out_of_range", 100, next_at=50)


@asks(
    "librdkafka at 100 logs a truncation to 100, goes on at 100, and commits 80.",
    source=LOGGED + "; nothing had moved its position back",
    expects={"commit_regressed": VIOLATION},
)
def truncation_leads_to_its_old_offset(h: History) -> None:
    _reset(h, "truncation", 100, next_at=100)


@asks(
    "librdkafka at 100 logs a truncation to 90, fetches from 90 on, and commits 80.",
    source=LOGGED + "; a reset to 90 does not explain a commit of 80",
    expects={"commit_regressed": VIOLATION},
)
def truncation_leads_above_the_commit(h: History) -> None:
    _reset(h, "truncation", 90, next_at=90)

"""Verbs of a coordinator that changes: commits that it stores and acknowledges, and returns."""

from collections.abc import Sequence

from tests.exam.commit_verbs import COMMIT, FETCH, commit_stored, with_topic
from tests.exam.history import History

OFFSETS = "__consumer_offsets"


def coordinated(h: History, *terms: tuple[int, float], isr: Sequence[int] = (1, 2)) -> None:
    """Broker 1 coordinates under epoch 0; then each broker from a second on, under the next one."""
    with_topic(h)
    h.led(1, 0, at=0.5, isr=(1, 2), topic=OFFSETS, partition=h.index)
    for epoch, (broker, at) in enumerate(terms, 1):
        h.led(broker, epoch, at=at, isr=isr, topic=OFFSETS, partition=h.index)


def requested(h: History, offset: int, *, at: float, broker: int = 1, error: int = 0) -> None:
    """A commit and its response."""
    h.called(
        broker,
        COMMIT,
        8,
        at=at,
        error=error,
        group=h.own("g"),
        member="",
        generation=-1,
        asked_offset=offset,
        asked_epoch=0,
        metadata=f"made {offset}",
        throttle_ms=0,
    )


def kept(
    h: History, offset: int, *, at: float, epoch: int = 0, brokers: Sequence[int] = (1, 2)
) -> None:
    """A commit as it is stored."""
    held = [h.broker(broker) for broker in brokers]
    commit_stored(h, at=at, offset=offset, metadata=f"made {offset}", log_epoch=epoch, brokers=held)


def acknowledged(h: History, offset: int, *, at: float, epoch: int = 0, broker: int = 1) -> None:
    """A commit that is stored and acknowledged at once."""
    requested(h, offset, at=at, broker=broker)
    kept(h, offset, at=at, epoch=epoch)


def coordinator_returned(
    h: History,
    offset: int,
    *,
    at: float = 41.0,
    broker: int = 2,
    stable: bool = False,
    error: int = 0,
) -> None:
    """What a coordinator returns; -1: no commit."""
    found = {"offset": offset, "epoch": -1 if offset < 0 else 0}
    found |= {"metadata": "" if offset < 0 else f"made {offset}"}
    asked = {"group": h.own("g"), "is_stable": stable, "throttle_ms": 0}
    h.called(broker, FETCH, 8, at=at, error=error, **asked, **found)


def taken_over(h: History, *commits: int, isr: Sequence[int] = (1, 2)) -> None:
    """Broker 1 acknowledges commits by second 38; broker 2 coordinates from second 40 on."""
    coordinated(h, (2, 40.0), isr=isr)
    for number, offset in enumerate(commits):
        acknowledged(h, offset, at=38.0 - 10 * (len(commits) - 1 - number))


def returned_often(h: History, offset: int, *, times: int, at: float) -> None:
    """A coordinator returns the same each 10 ms."""
    for number in range(times):
        coordinator_returned(h, offset, at=at + number / 100)

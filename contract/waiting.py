"""Waiting for a state. All waiting of the project goes through this module."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from contract.errors import WaitTimeoutError

T = TypeVar("T")

_POLL_SECONDS_FIRST = 0.02
_POLL_SECONDS_LAST = 0.25


@dataclass
class _Limit:
    """When all waiting of this process has to end, by the monotonic clock."""

    ends: float = math.inf


_limit = _Limit()


@contextmanager
def limit_waits(seconds: float) -> Iterator[None]:
    """A block in which no wait, of any thread, goes on after this time; one inside may end sooner.

    A wait that begins later looks once.
    """
    before = _limit.ends
    _limit.ends = min(before, time.monotonic() + seconds)
    try:
        yield
    finally:
        _limit.ends = before


def wait_until(
    probe: Callable[[], T | None],
    *,
    what: str,
    timeout_seconds: float,
    hint: str = "",
    recent: Callable[[], str] | None = None,
    last_seen: Callable[[], object] | None = None,
) -> T:
    """Return the first value of `probe` that is neither None nor False; 0 and [] are values.

    Args:
        probe: called repeatedly, every 20 to 250 ms; its exceptions propagate.
        what: the awaited state in words, for the message.
        timeout_seconds: how long to wait; shorter in a block of `limit_waits`.
        hint: what to check or change if the state does not come.
        recent: returns the last log lines of the node concerned, for the message.
        last_seen: returns what was observed instead, for the message.

    Raises:
        WaitTimeoutError: the state did not come; says what, how long, what was seen instead.
    """
    began = time.monotonic()
    deadline = min(began + timeout_seconds, _limit.ends)
    pause = _POLL_SECONDS_FIRST
    while True:
        value = probe()
        if value is not None and value is not False:
            return value
        if time.monotonic() >= deadline:
            waited_seconds = max(deadline - began, 0.0)
            raise WaitTimeoutError(_story(what, waited_seconds, hint, recent, last_seen))
        time.sleep(pause)
        pause = min(pause * 1.5, _POLL_SECONDS_LAST)


def hold(seconds: float) -> None:
    """Sleep for the duration that the user gave a fault. Not for waiting for a state."""
    time.sleep(seconds)


def _story(
    what: str,
    waited_seconds: float,
    hint: str,
    recent: Callable[[], str] | None,
    last_seen: Callable[[], object] | None,
) -> str:
    parts = [f"waited {round(waited_seconds, 1):g} s for {what}, which did not come."]
    if last_seen is not None:
        parts.append(f"Last seen: {last_seen()}")
    if hint:
        parts.append(f"Hint: {hint}")
    if recent is not None:
        parts.append(f"Recent log lines:\n{recent()}")
    return "\n".join(parts)

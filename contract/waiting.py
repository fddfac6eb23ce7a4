"""Waiting for a state, the only way to wait here."""

import time
from collections.abc import Callable
from typing import TypeVar

from contract.errors import WaitTimeoutError

T = TypeVar("T")

_POLL_SECONDS_FIRST = 0.02
_POLL_SECONDS_LAST = 0.25


def wait_until(
    probe: Callable[[], T | None],
    *,
    what: str,
    timeout_seconds: float,
    hint: str = "",
    recent: Callable[[], str] | None = None,
    last_seen: Callable[[], object] | None = None,
) -> T:
    """Return the first value of `probe` that is neither None nor False.

    Args:
        probe: asked again and again, at most every 20 to 250 ms; exceptions pass through.
        what: the awaited state in words, for the failure.
        timeout_seconds: how long to wait.
        hint: what to look at or change when it does not come.
        recent: gives the last log lines of the node concerned, for the failure.
        last_seen: gives what was observed instead, for the failure.

    Raises:
        WaitTimeoutError: the state did not come; says what, how long, what was seen instead.
    """
    deadline = time.monotonic() + timeout_seconds
    pause = _POLL_SECONDS_FIRST
    while True:
        value = probe()
        if value is not None and value is not False:
            return value
        if time.monotonic() >= deadline:
            raise WaitTimeoutError(_story(what, timeout_seconds, hint, recent, last_seen))
        time.sleep(pause)
        pause = min(pause * 1.5, _POLL_SECONDS_LAST)


def hold(seconds: float) -> None:
    """Let a fault last as long as its user asked for. No way to wait for a state."""
    time.sleep(seconds)


def _story(
    what: str,
    timeout_seconds: float,
    hint: str,
    recent: Callable[[], str] | None,
    last_seen: Callable[[], object] | None,
) -> str:
    parts = [f"waited {timeout_seconds:g} s for {what}, which did not come."]
    if last_seen is not None:
        parts.append(f"Last seen: {last_seen()}")
    if hint:
        parts.append(f"Hint: {hint}")
    if recent is not None:
        parts.append(f"Recent log lines:\n{recent()}")
    return "\n".join(parts)

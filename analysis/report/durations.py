"""Durations in words."""

from datetime import timedelta


def duration(seconds: float | None) -> str:
    """A time as h:mm:ss; empty where it is not known."""
    return "" if seconds is None else str(timedelta(seconds=round(seconds)))

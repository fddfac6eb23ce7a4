"""What every pool must find of commit_epoch: the table of docs/commit-epoch.md."""

from itertools import product
from typing import Any

_RAISED = "LogTruncationException (divergent offset {})"
_RESETS = ("earliest", "latest", "none")
_AS_RECORD = ("record", "application", "position", "max")
_EVERY_RESET = ("record", "metadata", "forced", "none")


def unexpected_resumptions(verdict: dict[str, Any]) -> dict[str, object]:
    """What is otherwise than it must be, or missing, by group.

    A group is compared by (resumed at, never delivered), or by its exception.
    """
    found: dict[str, object] = {
        row["group"]: row["exception"] or (row["resumed_at"], row["never_delivered"])
        for row in verdict["resumption"]
    }
    return {
        group: found.get(group)
        for group in {*found, *ALLOWED}
        if found.get(group) not in ALLOWED.get(group, [])
    }


def _record(reset: str) -> object:
    return _RAISED.format(100) if reset == "none" else (100, 0)


def _forced_reset(log_end: str, reset: str) -> object:
    if log_end == "above":
        return (200, 100)
    return _RAISED.format(150) if reset == "none" else (150, 50)


def _none(log_end: str, reset: str) -> object:
    below = {"earliest": (0, 0), "latest": (150, 50), "none": "OffsetOutOfRangeException"}
    return (200, 100) if log_end == "above" else below[reset]


def _allowed_outcomes() -> dict[str, list[object]]:
    allowed: dict[str, list[object]] = {}
    for log_end, reset in product(("above", "below"), _RESETS):
        as_record, as_forced = _record(reset), _forced_reset(log_end, reset)
        by_style = {key: [as_record] for key in _AS_RECORD} | {
            "metadata": [as_record, as_forced],
            "forced": [as_forced],
            "none": [_none(log_end, reset)],
            "stale": [(50, 0)],
        }
        for style, ways in by_style.items():
            if style in _EVERY_RESET or reset == "earliest":
                allowed[f"{log_end}.{style}.{reset}"] = ways
    return allowed


ALLOWED = _allowed_outcomes()
"""By group: all ways in which it may go on; what `metadata` commits varies."""

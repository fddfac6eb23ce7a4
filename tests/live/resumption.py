"""What every pool must find of commit_epoch: the table of docs/commit-epoch.md."""

from typing import Any


def resumed(verdict: dict[str, Any]) -> dict[str, object]:
    """By group: (resumed at, never delivered), or the exception."""
    return {
        row["group"]: row["exception"] or (row["resumed_at"], row["never_delivered"])
        for row in verdict["resumption"]
    }


def _expected() -> dict[str, object]:
    raised = "LogTruncationException (divergent offset {})"
    expected: dict[str, object] = {}
    for reset in ("earliest", "latest", "none"):
        expected[f"above.record.{reset}"] = (100, 0)
        expected[f"below.record.{reset}"] = (100, 0)
        for epoch in ("current", "max", "none"):
            expected[f"above.{epoch}.{reset}"] = (200, 100)
        for epoch in ("current", "max"):
            expected[f"below.{epoch}.{reset}"] = (150, 50)
    expected["above.record.none"] = expected["below.record.none"] = raised.format(100)
    expected["below.current.none"] = expected["below.max.none"] = raised.format(150)
    expected["below.none.earliest"] = (0, 0)
    expected["below.none.latest"] = (150, 50)
    expected["below.none.none"] = "OffsetOutOfRangeException"
    return expected


RESUMED = _expected()

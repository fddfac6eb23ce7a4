"""All findings of a check in one line."""

from typing import Any

_PARTS_MAX = 4


def summary_of_losses(rows: list[dict[str, Any]]) -> str:
    """Such as `15 acknowledged records lost; permitted (acks=1): 15 truncated at epoch 1 start 9`.

    Args:
        rows: with topic, partition, verdict, acks, kind, later_epoch, later_start, records.
    """
    if not rows:
        return ""
    lines = [f"{sum(row['records'] for row in rows):,} acknowledged records lost"]
    for verdict, acks in sorted({(row["verdict"], row["acks"]) for row in rows}):
        counts: dict[str, int] = {}
        for row in rows:
            if (row["verdict"], row["acks"]) == (verdict, acks):
                cause = _cause(row, is_alone=len({(r["topic"], r["partition"]) for r in rows}) == 1)
                counts[cause] = counts.get(cause, 0) + row["records"]
        by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        parts = [f"{records:,} {cause}" for cause, records in by_count[:_PARTS_MAX]]
        if rest := sum(records for _, records in by_count[_PARTS_MAX:]):
            parts.append(f"{rest:,} more")
        lines.append(f"{verdict} (acks={acks}): {'; '.join(parts)}")
    return "; ".join(lines)


def _cause(row: dict[str, Any], *, is_alone: bool) -> str:
    if row["kind"] != "truncated" or row["later_epoch"] is None:
        return str(row["kind"]).replace("_", " ")
    where = "" if is_alone else f" of {row['topic']}-{row['partition']}"
    return f"truncated at epoch {row['later_epoch']} start {row['later_start']:,}{where}"

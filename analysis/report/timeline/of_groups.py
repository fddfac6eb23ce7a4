"""Lanes of a group: positions against the log end, lag, commits, members and what they owned."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.report.timeline.lanes import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    SKY,
    VIOLET,
    Bar,
    Lane,
    Point,
)
from analysis.report.timeline.rows import rows_of
from analysis.report.timeline.source import Partition, Source
from analysis.report.timeline.thinning import Numbers, changes_only, latest, thinned

_POSITIONS_MAX = 2
_MEMBERS_MAX = 8
_SYMBOLS_MAX = 24
_BINS = 80
_NAMES_MAX = 12
_OPEN, _ASSIGNED = "opened", "assigned"
_ENDS = {"revoked", "closed", "failed"}


def lanes_of_group(source: Source, group: str, points_max: int) -> Iterator[Lane]:
    """Those that have something to show, with at most about `points_max` points."""
    partitions = _partitions(source, group)
    shown = partitions if len(partitions) <= _POSITIONS_MAX else partitions[:_POSITIONS_MAX]
    lanes = [_positions(source, group, where, points_max // 4) for where in shown]
    if len(partitions) > len(shown):
        lanes.append(_lag(source, group, partitions))
    for lane in (*lanes, _members(source, group)):
        if lane.marks:
            lane.subject = f"group {group}"
            yield lane


def _partitions(source: Source, group: str) -> list[Partition]:
    """The partitions that the group read or committed; those of findings first."""
    found = {
        Partition(one.finding.topic, one.finding.partition)
        for one in source.findings
        if one.finding.group == group
        and one.finding.topic is not None
        and one.finding.partition is not None
    }
    used = {
        Partition(str(topic), int(number))
        for table in ("polls", "committed_offsets")
        for topic, number in _pairs(source.of_group(table, group))
    }
    return sorted(used, key=lambda where: (where not in found, where))


def _pairs(frame: pd.DataFrame) -> list[tuple[str, int]]:
    pairs = frame[["topic", "partition"]].drop_duplicates()
    return [(str(topic), int(number)) for topic, number in pairs.itertuples(index=False)]


def _of(frame: pd.DataFrame, where: Partition) -> pd.DataFrame:
    return frame[(frame["topic"] == where.topic) & (frame["partition"] == where.number)]


def _positions(source: Source, group: str, where: Partition, points_max: int) -> Lane:
    lane = Lane(f"{group} on {where}: position")
    end = _log_end(source, where)
    position = _position(source, group, where)
    each = max(8, points_max)
    lane.line(*thinned(*changes_only(*end), each), name="log end as last seen", color=GREY)
    lane.line(*thinned(*changes_only(*position), each), name="position", color=BLUE)
    lane.points(
        _commits(source, group, where),
        name="commit (offset, epoch)",
        color=VIOLET,
        symbol="diamond",
    )
    lane.points(_resets(source, group, where), name="reset", color=ORANGE, symbol="triangle-left")
    lane.points(_failures(source, group, where), name="exception", color=RED, symbol="x")
    has_more = any(mark.get("name") != "log end as last seen" for mark in lane.marks)
    return lane if has_more else Lane("")


def _log_end(source: Source, where: Partition) -> tuple[Numbers, Numbers]:
    """By the last high watermark of a leader or the last acknowledgement, whichever is later."""
    sends = source.of_partition("sends", where)
    samples = source.of_partition("samples", where)
    times = [sends["answered_micros"], samples["at_micros"]]
    ends = [sends["end"], samples["log_end_offset"]]
    x = np.concatenate([one.to_numpy(dtype=np.float64) for one in times])
    y = np.concatenate([one.to_numpy(dtype=np.float64) for one in ends])
    order = np.argsort(x, kind="stable")
    return (x[order] - source.zero_micros) / 1_000_000, y[order]


def _position(source: Source, group: str, where: Partition) -> tuple[Numbers, Numbers]:
    polls = _of(source.of_group("polls", group), where)
    x = (polls["polled_micros"].to_numpy(dtype=np.float64) - source.zero_micros) / 1_000_000
    return x, polls["last_offset"].to_numpy(dtype=np.float64) + 1


def _commits(source: Source, group: str, where: Partition) -> list[Point]:
    """The first and last commit of each epoch, and of the others as many as can be seen."""
    commits = _of(source.of_group("committed_offsets", group), where)
    commits = commits[~commits["is_tombstone"].astype(bool)].dropna(subset=["offset"])
    commits = commits.sort_values("offsets_offset")
    epochs = commits["committed_epoch"].tolist()
    edges = {
        place
        for place in range(len(epochs))
        if place in (0, len(epochs) - 1)
        or epochs[place] != epochs[place - 1]
        or epochs[place] != epochs[place + 1]
    }
    step = max(1, -(-len(epochs) // _SYMBOLS_MAX))
    chosen = sorted({*sorted(edges)[:_SYMBOLS_MAX], *range(0, len(epochs), step)})
    every = f"\none of {len(epochs)} commits" if len(chosen) < len(epochs) else ""
    return [
        Point(
            source.seconds(row["committed_micros"]),
            row["offset"],
            f"{group} commits offset {row['offset']} with epoch {row['committed_epoch']}{every}",
        )
        for row in rows_of(commits.iloc[chosen])
    ]


def _resets(source: Source, group: str, where: Partition) -> list[Point]:
    rows = rows_of(_of(source.of_group("resets", group), where))
    return [
        Point(source.seconds(row["at_micros"]), _height(row), _reset(row))
        for row in rows[-_SYMBOLS_MAX:]
        if _height(row) is not None
    ]


def _height(row: dict[str, Any]) -> Any:
    return row["from_offset"] if row["to_offset"] is None else row["to_offset"]


def _reset(row: dict[str, Any]) -> str:
    to = "an exception" if row["to_offset"] is None else f"offset {row['to_offset']}"
    start = "no commit" if row["from_offset"] is None else f"offset {row['from_offset']}"
    return f"{row['member']} resets ({row['cause']}, {row['policy']})\nfrom {start} to {to}"


def _failures(source: Source, group: str, where: Partition) -> list[Point]:
    """Exceptions, at the height of the position of then."""
    events = source.of_group("group_events", group)
    failed = events[events["change"] == "failed"]
    here = failed[(failed["topic"] == where.topic) | (failed["partition"] < 0)]
    here = here[(here["partition"] == where.number) | (here["partition"] < 0)]
    x, y = _position(source, group, where)
    points = []
    for row in rows_of(here)[:_SYMBOLS_MAX]:
        at = source.seconds(row["at_micros"])
        (height,) = latest(x, y, np.array([at])) if len(x) else (0.0,)
        told = f"{row['member']}: {row['exception']}\n{str(row['message'])[:200]}"
        points.append(Point(at, 0.0 if np.isnan(height) else float(height), told))
    return points


def _lag(source: Source, group: str, partitions: list[Partition]) -> Lane:
    """The sum over all partitions of log end minus position, where both are known."""
    lane = Lane(f"{group}: lag in records over {len(partitions)} partitions")
    at = np.linspace(*source.span, _BINS)
    known = np.zeros(_BINS, dtype=bool)
    total = np.zeros(_BINS)
    for where in partitions:
        end, position = _log_end(source, where), _position(source, group, where)
        if not (len(end[0]) and len(position[0])):
            continue
        behind = np.maximum(latest(*end, at) - latest(*position, at), 0)
        known |= ~np.isnan(behind)
        total += np.nan_to_num(behind)
    lane.line(at[known], total[known], name="lag", color=ORANGE)
    return lane


def _members(source: Source, group: str) -> Lane:
    """A row for each incarnation: open, and while partitions were assigned to it.

    Events of one member are in the order of its history.
    """
    by_time = source.of_group("group_events", group).sort_values(["at_micros", "seq"])
    members = list(dict.fromkeys(str(member) for member in by_time["member"]))
    events = by_time.sort_values("seq", kind="stable")
    shown = members[:_MEMBERS_MAX]
    left = len(members) - len(shown)
    more = f", the first {len(shown)} of {len(members)}" if left else ""
    lane = Lane(f"{group}: members{more}", rows=[f"#{one.rpartition('#')[2]}" for one in shown])
    opened: list[Bar] = []
    owned: list[Bar] = []
    for place, member in enumerate(shown):
        rows = rows_of(events[events["member"] == member])
        opened += _spans_open(source, place, member, rows)
        owned += _spans_owned(source, place, member, rows)[: _SYMBOLS_MAX * 2]
    lane.bars(opened)
    lane.bars(owned, thickness=0.4)
    if opened:
        lane.key("open", SKY)
    if owned:
        lane.key("owns partitions", BLUE)
    return lane


def _spans_open(
    source: Source, place: int, member: str, rows: list[dict[str, Any]]
) -> Iterator[Bar]:
    begin: float | None = None
    for row in rows:
        at = source.seconds(row["at_micros"])
        if row["change"] == _OPEN:
            begin = at
        elif row["change"] in ("closed", "failed") and begin is not None:
            yield Bar(place, begin, at, SKY, f"{member} is open, then {row['change']}")
            begin = None
    if begin is not None:
        yield Bar(place, begin, source.span[1], SKY, f"{member} is open")


def _spans_owned(source: Source, place: int, member: str, rows: list[dict[str, Any]]) -> list[Bar]:
    """While its set of partitions is not empty, one bar for each set."""
    owned: dict[str, int | None] = {}
    bars: list[Bar] = []
    since = 0.0

    def end(at: float) -> None:
        if owned and at > since:
            names = sorted(owned)
            left = len(names) - _NAMES_MAX
            listed = ", ".join(names[:_NAMES_MAX]) + (f" and {left} more" if left > 0 else "")
            generation = max((one for one in owned.values() if one is not None), default="unknown")
            told = f"{member} owns {listed}\ngeneration {generation}"
            bars.append(Bar(place, since, at, BLUE, told, str(len(names))))

    for row in rows:
        at = source.seconds(row["at_micros"])
        change, name = row["change"], f"{row['topic']}-{row['partition']}"
        if change == _ASSIGNED and (name not in owned or owned[name] != row["generation"]):
            end(at)
            owned[name], since = row["generation"], at
        elif change in _ENDS:
            end(at)
            since = at
            if row["partition"] is not None and row["partition"] >= 0:
                owned.pop(name, None)
            else:
                owned.clear()
    end(source.span[1])
    return bars

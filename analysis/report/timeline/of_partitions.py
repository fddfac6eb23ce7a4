"""Lanes of a partition: its replicas with their leader epochs, and the offsets of its log."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.report.timeline.lanes import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    SERIES,
    SKY,
    VIOLET,
    Bar,
    Lane,
    Point,
)
from analysis.report.timeline.rows import rows_of
from analysis.report.timeline.source import Partition, Source
from analysis.report.timeline.thinning import Numbers, changes_only, thinned

_REPLICAS_MAX = 8
_LINES_MAX = 4
_ROLE = {
    "leader": BLUE,
    "in the ISR": SKY,
    "eligible (ELR)": ORANGE,
    "out of the ISR": "#b9c0c7",
}


def lanes_of_partition(source: Source, where: Partition, points_max: int) -> Iterator[Lane]:
    """Those that have something to show, with at most about `points_max` points."""
    for lane in (
        _replicas(source, where, points_max // 2),
        _offsets(source, where, points_max // 2),
    ):
        if lane.marks:
            lane.subject = f"partition {where}"
            yield lane


def _replicas(source: Source, where: Partition, bars_max: int) -> Lane:
    """A row for each replica: leader with its epoch, in the ISR, eligible, or out of it."""
    changes = rows_of(source.of_partition("leaderships", where).sort_values("metadata_offset"))
    brokers = sorted({broker for row in changes for broker in row["replicas"]})[:_REPLICAS_MAX]
    shown = changes[: max(1, bars_max // max(1, len(brokers)))]
    left = len(changes) - len(shown)
    more = f", the first {len(shown)} of {len(changes)} changes" if left else ""
    lane = Lane(f"{where}: leader and replicas{more}", rows=[f"broker {one}" for one in brokers])
    ends = [source.seconds(row["at_micros"]) for row in changes[1:]] + [source.span[1]]
    bars: list[Bar] = []
    for row, end in zip(shown, ends, strict=False):
        at = source.seconds(row["at_micros"])
        for place, broker in enumerate(brokers):
            if broker in row["replicas"]:
                bars.append(_bar(row, place, broker, (at, end)))
    for role, color in _ROLE.items():
        if any(bar.color == color for bar in bars):
            lane.key(role, color)
    lane.bars(bars)
    lane.points(_truncated(source, where, brokers), name="truncates", color=RED, symbol="x")
    return lane


def _bar(row: dict[str, Any], place: int, broker: int, span: tuple[float, float]) -> Bar:
    role = "out of the ISR"
    if broker == row["leader"]:
        role = "leader"
    elif broker in row["isr"]:
        role = "in the ISR"
    elif broker in row["elr"]:
        role = "eligible (ELR)"
    leader = "no leader" if row["leader"] < 0 else f"leader {row['leader']}"
    hover = (
        f"broker {broker}: {role}\nepoch {row['leader_epoch']}, {leader}, "
        f"ISR {row['isr']}, ELR {row['elr']}"
    )
    label = f"epoch {row['leader_epoch']}" if role == "leader" else ""
    return Bar(place, *span, _ROLE[role], hover, label)


def _truncated(source: Source, where: Partition, brokers: list[int]) -> list[Point]:
    rows = rows_of(source.of_partition("truncations", where))
    return [
        Point(
            source.seconds(row["at_micros"]),
            brokers.index(row["broker"]),
            f"broker {row['broker']} truncates its log to offset {row['to_offset']}",
        )
        for row in rows[: _REPLICAS_MAX * 8]
        if row["broker"] in brokers
    ]


def _offsets(source: Source, where: Partition, points_max: int) -> Lane:
    lane = Lane(f"{where}: offsets")
    lines = [
        *_acknowledged(source, where),
        *_high_watermarks(source, where),
        *_log_starts(source, where),
    ]
    each = max(8, points_max // max(1, len(lines)))
    for name, color, x, y in lines:
        lane.line(*thinned(*changes_only(x, y), each), name=name, color=color)
    if lane.marks:
        points = [
            Point(
                source.seconds(row["at_micros"]),
                row["to_offset"],
                f"broker {row['broker']} truncates its log to offset {row['to_offset']}",
            )
            for row in rows_of(source.of_partition("truncations", where))[: _REPLICAS_MAX * 8]
        ]
        lane.points(points, name="truncated to", color=RED, symbol="x")
    return lane


_Line = tuple[str, str, Numbers, Numbers]


def _acknowledged(source: Source, where: Partition) -> Iterator[_Line]:
    """Where acknowledged records end, by acks: where two leaders write, it goes to and fro."""
    sends = source.of_partition("sends", where)
    for place, (acks, some) in enumerate(sends.groupby("acks", observed=True)):
        color = (VIOLET, SERIES[5], GREY)[place % 3]
        yield f"acknowledged, acks={acks}", color, *_line(source, some, "answered_micros", "end")


def _high_watermarks(source: Source, where: Partition) -> Iterator[_Line]:
    samples = source.of_partition("samples", where)
    leaders = list(samples.groupby("broker"))
    for place, (broker, some) in enumerate(leaders[:_LINES_MAX]):
        name = f"high watermark of broker {broker}"
        color = (BLUE, ORANGE, *SERIES[2:])[place]
        yield name, color, *_line(source, some, "at_micros", "log_end_offset")


def _log_starts(source: Source, where: Partition) -> Iterator[_Line]:
    """As observed at leaders, and as brokers logged its advances."""
    observed = source.of_partition("samples", where)[["at_micros", "log_start_offset"]]
    logged = source.of_partition("log_start_changes", where)[["at_micros", "log_start_offset"]]
    both = pd.concat([observed, logged]).astype("int64").sort_values("at_micros")
    if len(both) and both["log_start_offset"].max() > 0:
        yield "log start", GREY, *_line(source, both, "at_micros", "log_start_offset")


def _line(source: Source, frame: pd.DataFrame, time: str, value: str) -> tuple[Numbers, Numbers]:
    x = (frame[time].to_numpy(dtype=np.float64) - source.zero_micros) / 1_000_000
    return x, frame[value].to_numpy(dtype=np.float64)

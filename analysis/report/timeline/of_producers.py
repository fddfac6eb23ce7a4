"""Lanes of the producers: throughput, errors, and latency by acks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.report.timeline.lanes import RED, SERIES, Lane, Point
from analysis.report.timeline.rows import rows_of
from analysis.report.timeline.source import Source
from analysis.report.timeline.thinning import Numbers
from contract.outcomes import Outcome

_BINS = 120
_PRODUCERS_MAX = 6
_ACKS_MAX = 3
_ERRORS_MAX = 8
_OTHERS = "other producers"
_QUANTILES = (("median", 0.5), ("p99", 0.99))


def lanes_of_producers(source: Source) -> Iterator[Lane]:
    """Those that have something to show."""
    sends = _sends(source)
    if len(sends):
        for lane in (_throughput(source, sends), _latency(source, sends)):
            if lane.marks:
                yield lane


def _sends(source: Source) -> pd.DataFrame:
    """Ranges of sends with `records`, their latency, and the `bin` of their outcome.

    That of a send without an outcome is the bin in which it began.
    """
    columns = (
        "producer",
        "acks",
        "outcome",
        "error",
        "first_sequence",
        "last_sequence",
        "intended_micros",
        "answered_micros",
    )
    sends = source.frame("sends", *columns)
    sends = sends[sends["answered_micros"].notna() | sends["intended_micros"].notna()]
    if sends.empty:
        return sends
    begin, end = source.span
    times = sends["answered_micros"].where(
        sends["answered_micros"].notna(), sends["intended_micros"]
    )
    at = (times.astype("int64") - source.zero_micros) / 1_000_000
    width = (end - begin) / _BINS or 1.0
    records = sends["last_sequence"].astype("int64") - sends["first_sequence"].astype("int64") + 1
    latency = (sends["answered_micros"] - sends["intended_micros"]).astype("float64") / 1000
    return sends.assign(
        records=records,
        bin=((at - begin) / width).clip(0, _BINS - 1).astype("int64"),
        latency_ms=latency,
    )


def _edges(source: Source) -> Numbers:
    return np.linspace(*source.span, _BINS + 1)


def _throughput(source: Source, sends: pd.DataFrame) -> Lane:
    lane = Lane("producers: acknowledged records per second")
    done = sends[sends["outcome"] == Outcome.OK]
    sizes = done.groupby("producer", observed=True)["records"].sum().sort_values(ascending=False)
    first = [str(name) for name in sizes.index[:_PRODUCERS_MAX]]
    names = done["producer"].astype(str)
    names = names.where(names.isin(first), _OTHERS)
    edges = _edges(source)
    seconds = edges[1] - edges[0] or 1.0
    for place, name in enumerate([*first, _OTHERS]):
        counts = done[names == name].groupby("bin")["records"].sum()
        if len(counts):
            rates = np.asarray(counts.reindex(range(_BINS), fill_value=0), dtype=np.float64)
            rates = rates / seconds
            lane.line(edges[:-1], rates, name=name, color=SERIES[place])
    lane.points(_errors(edges, sends), name="not acknowledged", color=RED, symbol="x")
    return lane


def _errors(edges: Numbers, sends: pd.DataFrame) -> list[Point]:
    """One point for each bin in which sends failed or have an unknown outcome."""
    points = []
    kinds = ("bin", "producer", "outcome", "error")
    lost = sends[sends["outcome"] != Outcome.OK]
    lost = lost.assign(**{name: lost[name].astype(object) for name in kinds[1:]})
    counts = lost.groupby(list(kinds), dropna=False)["records"].sum().reset_index()
    for place, some in enumerate(_by_bin(counts)):
        told = [
            f"{row['producer']}: {row['records']} {row['outcome']}, {row['error'] or 'no error'}"
            for row in some
        ]
        shown = told[:_ERRORS_MAX] + (["..."] if len(told) > _ERRORS_MAX else [])
        if shown:
            points.append(Point(float(edges[place]), 0, "\n".join(shown)))
    return points


def _by_bin(counts: pd.DataFrame) -> list[list[dict[str, Any]]]:
    bins: list[list[dict[str, Any]]] = [[] for _ in range(_BINS)]
    for row in rows_of(counts):
        bins[row["bin"]].append(row)
    return bins


def _latency(source: Source, sends: pd.DataFrame) -> Lane:
    """Half of the records of a bin were answered within the median, 99 % within p99."""
    lane = Lane("producers: latency by acks, in ms")
    known = sends[sends["latency_ms"].notna() & (sends["outcome"] == Outcome.OK)]
    edges = _edges(source)
    for place, (acks, some) in enumerate(known.groupby("acks", observed=True)):
        if place >= _ACKS_MAX:
            break
        for (name, part), color in zip(_QUANTILES, SERIES[2 * place :], strict=False):
            of_bin = some.groupby("bin")[["latency_ms", "records"]].apply(_quantile, part)
            places = of_bin.index.to_numpy(dtype=np.int64)
            values = np.asarray(of_bin, dtype=np.float64)
            lane.line(edges[places], values, name=f"acks={acks}, {name}", color=color)
    return lane


def _quantile(frame: pd.DataFrame, part: float) -> float:
    """Weighted by the records of each range."""
    ordered = frame.sort_values("latency_ms")
    total = ordered["records"].cumsum()
    place = int(np.searchsorted(total.to_numpy(), part * total.iloc[-1]))
    return float(ordered["latency_ms"].iloc[place])

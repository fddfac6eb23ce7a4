"""The benchmark of the checks: what counts as the same, what is measured, what the page tells."""

import os
import sys
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.agreement import differing, read
from bench.judging import Judged
from bench.processes import Cost, ProcessFailedError, run_measured
from bench.speed_page import Measured, Planted, Size, Standalone, page

GIGABYTE = 1 << 30


def judged(*findings: dict[str, Any], evaluated: int = 5, check: str = "c") -> dict[str, Judged]:
    return {check: Judged(evaluated=evaluated, findings=list(findings))}


def row(evidence: str = '{"a":1}', **values: Any) -> dict[str, Any]:
    return {"kind": "k", "offset_first": 1, "evidence": evidence} | values


def measured(**values: Any) -> Measured:
    small = Size(1_000_000, 1, Cost(20, GIGABYTE), Cost(10, GIGABYTE), [])
    large = Size(10_000_000, 2, Cost(110, 2 * GIGABYTE), Cost(55, GIGABYTE), [])
    parts: dict[str, Any] = {
        "machine": "2 cores",
        "seed": 7,
        "planted": Planted(3, 70, 900, {"clock_skew": "table clocks is empty"}, []),
        "sizes": [small, large],
        "clusters": [Standalone(1, 150, []), Standalone(2, 100, [])],
        "clusters_events": 900_000,
    }
    return Measured(**parts | values)


def test_order_nulls_and_spaces_in_the_evidence_make_no_difference() -> None:
    one = judged(row(), row(offset_first=2))
    other = judged(row(offset_first=2), row('{"b": null, "a": 1}'))
    assert differing(one, other) == []


@pytest.mark.parametrize(
    "other",
    [
        judged(),
        judged(row(), row()),
        judged(row(kind="else")),
        judged(row('{"a":2}')),
        judged(row(), evaluated=6),
        judged(row(), check="d"),
        {"c": Judged(lacks="table polls is empty")},
    ],
)
def test_any_other_finding_or_count_is_a_difference(other: dict[str, Judged]) -> None:
    assert "c" in differing(judged(row()), other)


def test_what_was_judged_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_bytes(msgspec.json.encode(judged(row())))
    assert read(file) == judged(row())


def test_memory_counts_children_and_lines_are_told() -> None:
    holds = "import subprocess, sys; held = bytearray(100 << 20); print('held', flush=True)"
    child = f"{holds}; sys.stdin.read()"
    parent = (
        "import subprocess, sys, threading;"
        f"one = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=subprocess.PIPE);"
        "threading.Event().wait(1); one.communicate()"
    )
    lines: list[str] = []
    cost = run_measured(
        [sys.executable, "-c", parent], on_line=lines.append, environment=os.environ
    )
    assert lines == ["held"]
    assert cost.seconds >= 1
    assert 100 << 20 < cost.peak_bytes < 400 << 20


def test_memory_of_what_was_just_forked_is_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    forked = count(2)
    monkeypatch.setattr("bench.processes.resident_bytes", lambda _: {1: 100, next(forked): 100})
    argv = [sys.executable, "-c", "import time; time.sleep(1)"]
    cost = run_measured(argv, on_line=print, environment=os.environ)
    assert next(forked) > 3
    assert cost.peak_bytes == 100


def test_a_failure_is_told_with_its_end() -> None:
    argv = [sys.executable, "-c", "raise SystemExit('no such table')"]
    with pytest.raises(ProcessFailedError, match="no such table"):
        run_measured(argv, on_line=print, environment=os.environ)


def test_the_page_tells_ratios() -> None:
    told = page(measured())
    assert "| 1,000,000 | 1 | 20.0 | 10.0 | **2.0** | 20.0 | 10.0 | 1.0 | 1.0 | the same |" in told
    assert "5.5 times the time, 2.0 times the memory; 10.0 s for each million more" in told
    assert "| 2 | 100 | **1.50** | the same |" in told
    assert "The history of 900,000 events" in told
    assert "`clock_skew` there: table clocks is empty" in told


def test_a_difference_is_told_wherever_it_is() -> None:
    clusters = [Standalone(1, 150, []), Standalone(2, 100, ["reset"])]
    odd = measured(clusters=clusters)
    assert odd.differing == ["reset"]
    assert "**not the same: reset**" in page(odd)
    assert measured().differing == []

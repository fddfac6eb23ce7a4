"""The benchmark of the checks: what counts as the same, what is measured, what the page tells."""

import os
import sys
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.agreement import differing, read
from bench.judging import Judged
from bench.processes import ROOT, Cost, ProcessFailedError, Usage, run_measured
from bench.revision import Revision, convert
from bench.speed_page import Earlier, Measured, Planted, Size, Small, Standalone, page
from contract.errors import UsageError
from contract.ranges import RECORDS, as_rows
from contract.run_folder import RunFolder
from simulator.history import Request, description, universes_of, write_history

GIGABYTE = 1 << 30


def judged(*findings: dict[str, Any], evaluated: int = 5, check: str = "c") -> dict[str, Judged]:
    return {check: Judged(evaluated=evaluated, findings=list(findings))}


def row(evidence: str = '{"a":1}', **values: Any) -> dict[str, Any]:
    return {"kind": "k", "offset_first": 1, "evidence": evidence} | values


def size(events: int, seconds: float, kind: str = "clean", **values: Any) -> Size:
    parts: dict[str, Any] = {
        "kind": kind,
        "events": events,
        "rows": 2 * events,
        "spark": Cost(seconds, 2 * seconds, GIGABYTE),
        "duckdb": Cost(seconds / 2, seconds, GIGABYTE),
        "findings": 8,
        "differing": [],
    }
    return Size(**parts | values)


def measured(**values: Any) -> Measured:
    large = size(10_000_000, 110, spark=Cost(110, 220, 2 * GIGABYTE))
    parts: dict[str, Any] = {
        "machine": "2 cores",
        "seed": 7,
        "planted": Planted(3, 70, 900, {"clock_skew": "table clocks is empty"}, []),
        "small": Small(size(5_000, 6), Cost(8, 15, GIGABYTE)),
        "sizes": [size(1_000_000, 20), large],
        "others": [size(1_000_000, 30, "fragmented")],
        "clusters": [Standalone(1, 150, []), Standalone(2, 100, [])],
        "clusters_events": 900_000,
    }
    return Measured(**parts | values)


def test_the_order_of_findings_makes_no_difference() -> None:
    one, other = row(), row(offset_first=2)
    assert differing(judged(one, other), judged(other, one)) == []


@pytest.mark.parametrize(
    "other",
    [
        judged(),
        judged(row(), row()),
        judged(row(kind="else")),
        judged(row('{"a":2}')),
        judged(row('{"a":1,"b":null}')),
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
    assert cost.cpu_seconds < 1
    assert 100 << 20 < cost.peak_bytes < 400 << 20


def test_memory_of_what_was_just_forked_is_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    forked = count(2)
    used = Usage(resident_bytes=100, cpu_seconds=0.5)
    monkeypatch.setattr("bench.processes.usage_of", lambda _: {1: used, next(forked): used})
    argv = [sys.executable, "-c", "import time; time.sleep(1)"]
    cost = run_measured(argv, on_line=print, environment=os.environ)
    assert next(forked) > 3
    assert cost.peak_bytes == 100


BUSY = "import time\nwhile time.process_time() < 1: pass"


@pytest.mark.parametrize("way", ["alone", "of a child that is waited for", "of one that is not"])
def test_cpu_time_counts_children(way: str) -> None:
    starts = f"import subprocess, sys; one = subprocess.Popen([sys.executable, '-c', {BUSY!r}])"
    code = {
        "alone": BUSY,
        "of a child that is waited for": f"{starts}\none.wait()",
        "of one that is not": f"{starts}\nimport os\n"
        "os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)",
    }[way]
    argv = [sys.executable, "-c", code]
    cost = run_measured(argv, on_line=print, environment=os.environ)
    assert 1 <= cost.cpu_seconds < 1.8


def test_a_failure_is_told_with_its_end() -> None:
    argv = [sys.executable, "-c", "raise SystemExit('no such table')"]
    with pytest.raises(ProcessFailedError, match="no such table"):
        run_measured(argv, on_line=print, environment=os.environ)


def test_the_page_tells_ratios() -> None:
    told = page(measured())
    assert (
        "| clean | 1,000,000 | 2,000,000 | 20.0 | 40.0 | 10.0 | 20.0 | **2.0** "
        "| 20.0 | 10.0 | 1.0 | 1.0 | the same |"
    ) in told
    assert "| fragmented | 1,000,000 |" in told
    assert "5.5 times the time, 2.0 times the memory; 10.0 s for each million more" in told
    assert "and 20.0 s of CPU" in told
    assert "takes\n8.0 s from Enter to the written report, and 15.0 s of CPU" in told
    assert "6.0 s (75% of what the user" in told
    assert "Against deadbee" not in told
    assert "| 2 | 100 | **1.50** | the same |" in told
    assert "The history of 900,000 events" in told
    assert "`clock_skew` there: table clocks is empty" in told


def test_the_page_compares_with_an_earlier_revision() -> None:
    earlier = Earlier(Cost(60, 160, GIGABYTE), 7)
    told = page(
        measured(
            sizes=[size(1_000_000, 20, earlier=earlier)],
            small=Small(size(5_000, 6), Cost(8, 15, GIGABYTE), Cost(24, 30, GIGABYTE)),
            earlier="deadbee",
        )
    )
    assert "## Against deadbee" in told
    assert (
        "| clean | 1,000,000 | 60.0 | 20.0 | **3.0** | 160.0 | 40.0 | **4.0** | 7 | 8 |"
    ) in told
    assert (
        "| clean, `fencepost analyze` | 5,000 | 24.0 | 8.0 | **3.0** | 30.0 | 15.0 | **2.0** | | |"
    ) in told
    assert "| fragmented | 1,000,000 | 60.0" not in told


def written(path: Path, **asked: Any) -> RunFolder:
    folder = RunFolder(path)
    request = Request(seed=5, **asked)
    write_history(folder, universes_of(request), description(5, "test", "0", {}))
    return folder


def test_a_history_becomes_that_of_a_revision_without_ranges(tmp_path: Path) -> None:
    present = written(tmp_path / "present", events=3_000, kind="unhealthy")
    model = written(tmp_path / "model", events=1_000)
    for table, schema in RECORDS.items():
        pq.write_table(schema.empty_table(), model.tables / f"{table}.parquet")
    faults = pq.read_table(model.tables / "faults.parquet")
    names = ["started_micros" if one == "injected_micros" else one for one in faults.column_names]
    odd = faults.rename_columns(names).append_column("odd", pa.nulls(len(faults), pa.int32()))
    pq.write_table(odd, model.tables / "faults.parquet")
    convert(present, model)
    for table, schema in RECORDS.items():
        held = pq.read_table(model.tables / f"{table}.parquet")
        assert held.schema.equals(schema)
        assert held.equals(as_rows(table, pq.read_table(present.tables / f"{table}.parquet")))
    struck = pq.read_table(model.tables / "faults.parquet")
    expected = pq.read_table(present.tables / "faults.parquet")["injected_micros"]
    assert struck["started_micros"].equals(expected)
    assert struck["odd"].null_count == len(struck) > 0
    assert model.plan().topics == present.plan().topics
    assert model.run().ended_micros == present.run().ended_micros


def test_an_unknown_revision_is_refused(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not in git")
    with pytest.raises(UsageError, match="no-such-revision"):
        Revision("no-such-revision", tmp_path / "base")


def test_a_difference_is_told_wherever_it_is() -> None:
    clusters = [Standalone(1, 150, []), Standalone(2, 100, ["reset"])]
    odd = measured(clusters=clusters)
    assert odd.differing == ["reset"]
    assert "**not the same: reset**" in page(odd)
    assert measured().differing == []

"""Benches: their folders, and what is measured."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from contract.errors import UsageError
from lab.analysis_speed import Measured, Row, part
from lab.cluster import page as cluster
from lab.folders import own_folder
from lab.processes import ROOT, Cost, ProcessFailedError, Revision, Usage, run_measured

# The benchmark of the checks: what is measured, what the page tells.

GIGABYTE = 1 << 30


def row_of(by: str, seconds: float, history: str = "clean") -> Row:
    return Row(history, 1_000_000, 2_000, by, Cost(seconds, 2 * seconds, GIGABYTE), 8)


def make_measured(**values: Any) -> Measured:
    rows = [
        row_of("DuckDB alone", 10),
        row_of("fencepost analyze", 45),
        row_of("base", 30),
        row_of("DuckDB alone", 20, "fragmented"),
    ]
    parts: dict[str, Any] = {"rows": rows, "clusters": {1: 90.0, 2: 50.0}, "differing": []}
    return Measured(**parts | values)


def cost_of(code: str, on_line: Callable[[str], object] = print) -> Cost:
    return run_measured([sys.executable, "-c", code], on_line=on_line, environment=os.environ)


def test_memory_counts_children_and_lines_are_reported() -> None:
    holds = "import subprocess, sys; held = bytearray(100 << 20); print('held', flush=True)"
    child = f"{holds}; sys.stdin.read()"
    parent = (
        "import subprocess, sys, threading; from subprocess import PIPE;"
        f"one = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=PIPE, stdout=PIPE);"
        "print(one.stdout.readline().decode().strip(), flush=True);"
        "threading.Event().wait(1); one.communicate()"
    )
    lines: list[str] = []
    cost = cost_of(parent, lines.append)
    assert lines == ["held"]
    assert cost.seconds >= 1
    assert cost.cpu_seconds < 1
    assert 100 << 20 < cost.peak_bytes < 400 << 20


def test_memory_of_what_was_just_forked_is_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    forked = count(2)
    used = Usage(resident_bytes=100, cpu_seconds=0.5)
    monkeypatch.setattr("lab.processes.usage_of", lambda _: {1: used, next(forked): used})
    cost = cost_of("import time; time.sleep(1)")
    assert next(forked) > 3
    assert cost.peak_bytes == 100


BUSY = "import os, time\nwhile sum(os.times()[:2]) < 1:\n  pass\ntime.sleep(1)"
"""Takes a second by the kernel's whole ticks, which are sampled, and waits for the last sample."""

STARTS = f"import os, subprocess, sys; one = subprocess.Popen([sys.executable, '-c', {BUSY!r}])"
UNTIL_IT_ENDS = "os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)"
HALF = BUSY.replace("< 1", "< 0.5")
IGNORED = f"""
import signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(2):
    subprocess.Popen([sys.executable, '-c', {HALF!r}], stdout=subprocess.PIPE).stdout.read()
"""


@pytest.mark.parametrize(
    "code",
    [BUSY, f"{STARTS}\none.wait()", f"{STARTS}\n{UNTIL_IT_ENDS}", IGNORED],
    ids=["alone", "of a child that is waited for", "of one that is not", "of two that are ignored"],
)
def test_cpu_time_counts_children(code: str) -> None:
    assert 1 <= cost_of(code).cpu_seconds < 1.8


def test_a_failure_is_reported_with_its_end() -> None:
    with pytest.raises(ProcessFailedError, match="no such table"):
        cost_of("raise SystemExit('no such table')")


def test_the_page_tells_ratios() -> None:
    reported = part(make_measured())
    row = "| clean | 1,000,000 | 2,000 | fencepost analyze | 45.0 | 90.0 | 1.0 | 8 | 4.5 |"
    assert row in reported.splitlines()
    assert "| fragmented | 1,000,000 | 2,000 | DuckDB alone | 20.0 |" in reported
    assert "| 2 | 50.0 | **1.80** |" in reported
    assert "whole rows:\nthe same." in reported
    assert "revision" not in reported
    assert "The base is revision deadbee" in part(make_measured(base="deadbee"))


def test_the_page_of_clusters_has_medians_spreads_and_ratios() -> None:
    reported = cluster.part(
        cluster.Measured(
            ready={cluster.BARE: [4.0, 2.0, 3.0], cluster.CLUSTER: [3.0, 4.5, 9.0]},
            send={"java": [30_000.0], cluster.VERIFIABLE_PRODUCER: [20_000.0]},
            poll={"java": [40_000.0], cluster.CONSUMER_PERFORMANCE: [80_000.0]},
            collected=cluster.Collected(megabytes=100, seconds=5, copy_seconds=0.5),
            demo={"held": [9.0, 11.0]},
            kafka="4.4.0",
            cores=2,
            load=0.1,
        )
    )
    assert f"| {cluster.CLUSTER} | 4.50 | 3.00 to 9.00 | 1.50 |" in reported
    assert "| java | 30,000 | 30,000 to 30,000 | 1.50 |" in reported
    assert "| java | 40,000 | 40,000 to 40,000 | 0.50 |" in reported
    assert "(20 MB/s)" in reported
    assert "| held | 10.0 | 9.0 to 11.0 |" in reported


def test_an_unknown_revision_is_refused(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not in git")
    with pytest.raises(UsageError, match="no-such-revision"):
        Revision("no-such-revision", tmp_path / "base")


def test_a_difference_is_reported() -> None:
    reported = part(make_measured(differing=["clean, 4,600 events"]))
    assert "**not the same: clean, 4,600 events**" in reported


# The folders of benches end with them, or with the next.

HOLDER = (
    "import sys\n"
    "from lab.folders import own_folder\n"
    "with own_folder('test') as place:\n"
    "    (place / 'history').mkdir()\n"
    "    print(place, flush=True)\n"
    "    sys.stdin.read()\n"
)


def hold_folder(temporary: Path) -> tuple["subprocess.Popen[str]", Path]:
    """A process that keeps such a folder until it is ended, and the folder."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    return holder, Path(holder.stdout.readline().rstrip())


def test_a_terminated_bench_leaves_nothing(tmp_path: Path) -> None:
    holder, place = hold_folder(tmp_path)
    assert (place / "history").exists()
    holder.terminate()
    holder.communicate()
    assert holder.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_the_next_bench_removes_a_killed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    running, kept = hold_folder(tmp_path)
    killed, left = hold_folder(tmp_path)
    killed.kill()
    killed.communicate()
    assert left.exists()
    with own_folder("test") as place:
        assert sorted(tmp_path.iterdir()) == sorted([kept, place])
    running.communicate()
    assert list(tmp_path.iterdir()) == []

"""What `fencepost analyze` costs, from Enter to the written page, beside DuckDB alone.

`python -m lab.analysis_speed [EVENTS ...] [--base REVISION]` generates clean histories of these
sizes, a small one, a night of small ones, and fragmented ones. It judges each by `fencepost
analyze` and in one process without Spark, and compares all findings. The code of the base revision
judges the same histories. Spark standalone judges the night with one worker and with two.
Keeps the figures of docs/benchmarks.md. Exits 1 if findings differ.
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from rich.console import Console

from analysis.tasks import Share, judge_here, rows_of
from contract.errors import FencepostError
from contract.run_folder import RunFolder, find_runs
from contract.verdicts import FINDINGS, FINDINGS_FILE
from lab.folders import own_folder
from lab.processes import FENCEPOST, ROOT, Cost, Revision, run_measured
from simulator.history import CLEAN, Request, description, require, universes_of, write_history
from tests.standalone import environment, standalone
from website.figures import is_kept, keep, read_figures, render

EVENTS = (1_000_000, 10_000_000, 100_000_000)
FRAGMENTED_EVENTS = (1_000_000, 20_000_000)
SMALL_EVENTS = 4_600
"""About 10,000 rows, as many as a short run has."""
NIGHT_RUNS = 34
BASE_EVENTS_MAX = 10_000_000
WORKERS = (1, 2)

_SEED = 19902
_NAME = "benchmarks"
_TEMPLATE = Path(__file__).with_name("benchmarks.md.j2")
_ANALYZE, _ALONE, _BASE = "fencepost analyze", "DuckDB alone", "base"
_GIGABYTE = 1 << 30


@dataclass(frozen=True)
class Row:
    """One analysis.

    Attributes:
        history: its kind.
        events: of sends, polls and commits.
        rows: of all tables.
        by: what judged it.
        cost: from Enter to its end.
        findings: their number.
    """

    history: str
    events: int
    rows: int
    by: str
    cost: Cost
    findings: int


@dataclass(frozen=True)
class Measured:
    """All of it.

    Attributes:
        rows: the analyses; those of one history follow each other, that of DuckDB alone first.
        clusters: seconds of Spark standalone, by the number of workers.
        differing: the histories of which DuckDB alone found something else.
        base: the commit of the base revision; empty without one.
        machine: in words.
    """

    rows: Sequence[Row]
    clusters: dict[int, float]
    differing: Sequence[str]
    base: str = ""
    machine: str = ""


class Bench:
    """Measures in one folder, and prints each figure."""

    def __init__(self, folder: Path, console: Console, *, base: str = "") -> None:
        """Work in an empty folder, and compare with a base revision if one is named."""
        self._folder, self._console = folder, console
        self._base = Revision(base, folder / "base") if base else None
        self._differing: list[str] = []

    def measure(self, sizes: Sequence[int]) -> Measured:
        """Return all figures of the page; `sizes` of the clean histories, in events."""
        night = [("night", SMALL_EVENTS, NIGHT_RUNS)]
        clean = [(CLEAN, events, 1) for events in (SMALL_EVENTS, *sizes)]
        others = [("fragmented", events, 1) for events in FRAGMENTED_EVENTS]
        rows = [row for case in (*clean, *night, *others) for row in self._judge_histories(*case)]
        clusters = {workers: self._standalone(workers) for workers in WORKERS}
        base = self._base.commit if self._base else ""
        return Measured(rows, clusters, self._differing, base, _machine())

    def _judge_histories(self, kind: str, events: int, runs: int) -> Iterator[Row]:
        """Generate histories and judge them in each way."""
        folder = self._folder / f"{kind}-{events}"
        with self._console.status(f"generating {kind}, {events:,} events"):
            for number in range(runs):
                of_kind = CLEAN if kind == "night" else kind
                request = Request(events=events, seed=_SEED + number, kind=of_kind)
                place = folder / f"run-{number}" if runs > 1 else folder
                reported = description(_SEED + number, "lab.analysis_speed", "unknown", {})
                write_history(RunFolder(place), universes_of(request), reported)
        yield self._row(kind, events, folder, _ALONE)
        found = _findings(folder)
        yield self._row(kind, events, folder, _ANALYZE)
        if found != _findings(folder):
            self._differing.append(f"{kind}, {events:,} events")
        if self._base is not None and events <= BASE_EVENTS_MAX:
            yield self._row(kind, events, folder, _BASE)

    def _row(self, kind: str, events: int, folder: Path, by: str) -> Row:
        project = self._base.folder if by == _BASE and self._base else ROOT
        alone = [sys.executable, "-m", "lab.analysis_speed", "--alone"]
        runs = find_runs(folder)
        analyze = [*FENCEPOST, "analyze", *(str(run.path) for run in runs)]
        cost = run_measured(
            [*alone, str(folder)] if by == _ALONE else analyze,
            on_line=lambda _: None,
            environment=os.environ,
            folder=project,
        )
        found = sum(pq.read_metadata(run.report / FINDINGS_FILE).num_rows for run in runs)
        row = Row(kind, events * len(runs), sum(map(rows_of, runs)), by, cost, found)
        self._console.print(
            f"{kind}, {row.events:,} events, {by}: {_cost_in_words(cost)}", highlight=False
        )
        return row

    def _standalone(self, workers: int) -> float:
        place = self._folder / f"standalone-{workers}"
        place.mkdir()
        night = find_runs(self._folder / f"night-{SMALL_EVENTS}")
        with standalone(workers, place) as master:
            cost = run_measured(
                [*FENCEPOST, "analyze", *(str(run.path) for run in night), "--master", master],
                on_line=lambda _: None,
                environment=environment(),
                folder=ROOT,
            )
        self._console.print(f"night, {workers} workers: {_cost_in_words(cost)}", highlight=False)
        return cost.seconds


def part(measured: Measured | None = None) -> str:
    """The part of docs/benchmarks.md that is made, by default of the figures that are kept."""
    shown = measured or (read_figures(_NAME, Measured) if is_kept(_NAME) else None)
    return render(
        _TEMPLATE,
        measured=shown,
        rows=list(_rows(shown.rows)) if shown else [],
        one_worker=shown.clusters[WORKERS[0]] if shown else 0,
        seed=_SEED,
        runs=NIGHT_RUNS,
    )


def _rows(rows: Sequence[Row]) -> Iterator[Sequence[object]]:
    """Yield a row for each analysis, with its CPU time against that of DuckDB alone."""
    alone = 0.0
    for row in rows:
        if row.by == _ALONE:
            alone = row.cost.cpu_seconds
        yield (
            row.history,
            f"{row.events:,}",
            f"{row.rows:,}",
            row.by,
            f"{row.cost.seconds:.1f}",
            f"{row.cost.cpu_seconds:.1f}",
            f"{row.cost.peak_bytes / _GIGABYTE:.1f}",
            f"{row.findings:,}",
            f"{row.cost.cpu_seconds / alone:.1f}",
        )


def _cost_in_words(cost: Cost) -> str:
    memory = f"{cost.peak_bytes / _GIGABYTE:.1f} GB"
    return f"{cost.seconds:.1f} s, {cost.cpu_seconds:.1f} s of CPU, {memory}"


def _findings(folder: Path) -> list[list[dict[str, object]]]:
    """Return the findings of each run, in order."""
    files = [run.report / FINDINGS_FILE for run in find_runs(folder)]
    return [pq.read_table(file, schema=FINDINGS).to_pylist() for file in files]


def _machine() -> str:
    memory = psutil.virtual_memory().total / _GIGABYTE
    return (
        f"{os.cpu_count()} cores and {memory:.0f} GB ({platform.machine()}), Spark "
        f"{version('pyspark')}, DuckDB {version('duckdb')}"
    )


def main() -> None:
    """Keep the figures."""
    parser = argparse.ArgumentParser(description="Measure the analysis.", prog="analysis_speed")
    parser.add_argument("events", nargs="*", type=int, default=EVENTS, help="of clean histories")
    parser.add_argument("--base", default="", help="an earlier revision, by any name of git's")
    parser.add_argument("--alone", type=Path, help="judge runs here, in one process without Spark")
    asked = parser.parse_args()
    if asked.alone is not None:
        for run in find_runs(asked.alone):
            judge_here(Share(at_once=1), run)
        return
    console = Console(stderr=True)
    sizes = sorted(set(asked.events))
    try:
        for events in sizes:
            require(Request(events=events, seed=_SEED))
        with own_folder("speed") as place:
            measured = Bench(place, console, base=asked.base).measure(sizes)
    except FencepostError as error:
        sys.exit(f"error: {error}")
    console.print(f"wrote {keep(_NAME, measured)}")
    sys.exit(f"not the same: {'; '.join(measured.differing)}" if measured.differing else 0)


if __name__ == "__main__":
    main()

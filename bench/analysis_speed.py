"""What `fencepost analyze` costs, from Enter to the written page, by history and by engine.

`python -m bench.analysis_speed [EVENTS ...] [--base REVISION]` (`make bench-analysis`) generates
clean histories of these sizes, a small one, a night of small ones, and one of each other kind. It
judges each with DuckDB in tasks and with Spark SQL, and compares all findings. The code of the base
revision judges the same histories. Spark standalone judges the night with one worker and with two.
Writes docs/benchmarks.md. Exits 1 if findings differ.
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

from analysis.tasks import rows_of
from bench.folders import own_folder
from bench.processes import ROOT, Cost, run_measured
from bench.revision import FENCEPOST, Revision
from bench.standalone import environment, standalone
from contract.errors import FencepostError
from contract.findings import FINDINGS, FINDINGS_FILE
from contract.markdown import table_row
from contract.run_folder import RunFolder, find_runs
from simulator.history import CLEAN, Request, description, require, universes_of, write_history

EVENTS = (1_000_000, 10_000_000)
SMALL_EVENTS = 4_600
"""About 10,000 rows, as many as a short run has."""
NIGHT_RUNS = 34
SQL_EVENTS_MAX, BASE_EVENTS_MAX = 10_000_000, 10_000_000
"""Larger histories are judged in a task only, since the others take minutes."""
FRAGMENTED_SQL_EVENTS_MAX = 1_000_000
WORKERS = (1, 2)

_SEED = 19902
_PAGE = ROOT / "docs" / "benchmarks.md"
_TASKS, _SQL, _BASE = "DuckDB in tasks", "Spark SQL", "base"
_GIGABYTE = 1 << 30
_TEXT = """\
# How fast the analysis is

Made by `make bench-analysis` on {machine}.
The times are valid for that machine only. The ratios can be compared with those of other machines.

Each row is one `fencepost analyze`, from Enter to its end: the start of Spark, judging, and pages.
CPU time and memory are those of the process and its children: the sum over all cores, and the
largest sum at one time. Histories are made by `fencepost generate` (seed {seed}). Rows are those of
the tables, of which one may be a range of many records. `clean` histories have no anomaly. In
`unhealthy` ones, every group reads everything three times. In `fragmented` ones, a producer writes
to 60 partitions by key, with one record a batch, so that almost no range holds two records. `night`
is {runs} small histories.

All findings of DuckDB and of Spark SQL were compared, whole rows: {same}. {base}

| history | events | rows | judged by | seconds | CPU s | GB | findings | against DuckDB |
|---|---|---|---|---|---|---|---|---|
{rows}

## Spark standalone

The night, on a master and workers. Each worker is bound to one core, with its JIT compiler, its
garbage collector and its Python workers. The driver shares the workers' cores. So the number of
workers is the number of cores of the whole cluster.

| workers | seconds | speed-up |
|---|---|---|
{clusters}
"""


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
        rows: the analyses; those of one history follow each other, DuckDB's first.
        clusters: seconds of Spark standalone, by the number of workers.
        differing: the histories of which Spark SQL found something else.
        base: the commit of the base revision; empty without one.
    """

    rows: Sequence[Row]
    clusters: dict[int, float]
    differing: Sequence[str]
    base: str = ""


class Bench:
    """Measures in one folder, and prints each figure."""

    def __init__(self, folder: Path, console: Console, *, base: str = "") -> None:
        """Work in an empty folder, and compare with a base revision if one is named."""
        self._folder, self._console = folder, console
        self._base = Revision(base, folder / "base") if base else None
        self._differing: list[str] = []

    def measured(self, sizes: Sequence[int]) -> Measured:
        """Return all figures of the page; `sizes` of the clean histories, in events."""
        largest = max(SMALL_EVENTS, *(one for one in sizes if one <= SQL_EVENTS_MAX))
        tenth = max(SMALL_EVENTS, largest // 10)
        night = [("night", SMALL_EVENTS, NIGHT_RUNS)]
        clean = [(CLEAN, events, 1) for events in (SMALL_EVENTS, *sizes)]
        others = [("unhealthy", tenth, 1), ("fragmented", tenth, 1), ("fragmented", largest, 1)]
        rows = [row for one in (*clean, *night, *others) for row in self._judged(*one)]
        clusters = {workers: self._standalone(workers) for workers in WORKERS}
        base = self._base.commit if self._base else ""
        return Measured(rows, clusters, self._differing, base)

    def _judged(self, kind: str, events: int, runs: int) -> Iterator[Row]:
        """Generate histories and judge them by each engine that can in minutes."""
        folder = self._folder / f"{kind}-{events}"
        with self._console.status(f"generating {kind}, {events:,} events"):
            for number in range(runs):
                of_kind = CLEAN if kind == "night" else kind
                request = Request(events=events, seed=_SEED + number, kind=of_kind)
                place = folder / f"run-{number}" if runs > 1 else folder
                told = description(_SEED + number, "make bench-analysis", "unknown", {})
                write_history(RunFolder(place), universes_of(request), told)
        yield self._row(kind, events, folder, _TASKS, "--engine", "duckdb")
        sql_max = FRAGMENTED_SQL_EVENTS_MAX if kind == "fragmented" else SQL_EVENTS_MAX
        if events <= sql_max and runs == 1:
            found = _findings(folder)
            yield self._row(kind, events, folder, _SQL, "--engine", "sql")
            if found != _findings(folder):
                self._differing.append(f"{kind}, {events:,} events")
        if self._base is not None and events <= min(BASE_EVENTS_MAX, sql_max):
            yield self._row(kind, events, folder, _BASE)

    def _row(self, kind: str, events: int, folder: Path, by: str, *options: str) -> Row:
        project = self._base.folder if by == _BASE and self._base else ROOT
        cost = run_measured(
            [*FENCEPOST, "analyze", str(folder), *options],
            on_line=lambda _: None,
            environment=os.environ,
            folder=project,
        )
        runs = find_runs(folder)
        found = sum(pq.read_metadata(run.report / FINDINGS_FILE).num_rows for run in runs)
        row = Row(kind, events * len(runs), sum(map(rows_of, runs)), by, cost, found)
        self._console.print(f"{kind}, {row.events:,} events, {by}: {_told(cost)}", highlight=False)
        return row

    def _standalone(self, workers: int) -> float:
        place = self._folder / f"standalone-{workers}"
        place.mkdir()
        night = self._folder / f"night-{SMALL_EVENTS}"
        with standalone(workers, place) as master:
            cost = run_measured(
                [*FENCEPOST, "analyze", str(night), "--master", master],
                on_line=lambda _: None,
                environment=environment(),
                folder=ROOT,
            )
        self._console.print(f"night, {workers} workers: {_told(cost)}", highlight=False)
        return cost.seconds


def page(measured: Measured, machine: str) -> str:
    """The page in Markdown."""
    base = f"The base is revision {measured.base}, by its own code." if measured.base else ""
    differing = "; ".join(measured.differing)
    one = measured.clusters[WORKERS[0]]
    return _TEXT.format(
        machine=machine,
        seed=_SEED,
        runs=NIGHT_RUNS,
        same=f"**not the same: {differing}**" if differing else "the same",
        base=base,
        rows="\n".join(_lines(measured.rows)),
        clusters="\n".join(
            table_row(str(workers), f"{seconds:.1f}", f"**{one / seconds:.2f}**")
            for workers, seconds in measured.clusters.items()
        ),
    )


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each analysis, with its time against that of DuckDB."""
    by_tasks = 0.0
    for row in rows:
        if row.by == _TASKS:
            by_tasks = row.cost.seconds
        yield table_row(
            row.history,
            f"{row.events:,}",
            f"{row.rows:,}",
            row.by,
            f"{row.cost.seconds:.1f}",
            f"{row.cost.cpu_seconds:.1f}",
            f"{row.cost.peak_bytes / _GIGABYTE:.1f}",
            f"{row.findings:,}",
            f"{row.cost.seconds / by_tasks:.1f}",
        )


def _told(cost: Cost) -> str:
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
    """Write the page."""
    parser = argparse.ArgumentParser(description="Measure the analysis.", prog="bench-analysis")
    parser.add_argument("events", nargs="*", type=int, default=EVENTS, help="of clean histories")
    parser.add_argument("--base", default="", help="an earlier revision, by any name of git's")
    parser.add_argument("--page", type=Path, default=_PAGE, help="the file to write")
    asked = parser.parse_args()
    console = Console(stderr=True)
    sizes = sorted(set(asked.events))
    try:
        for events in sizes:
            require(Request(events=events, seed=_SEED))
        with own_folder("speed") as place:
            measured = Bench(place, console, base=asked.base).measured(sizes)
    except FencepostError as error:
        sys.exit(f"error: {error}")
    asked.page.write_text(page(measured, _machine()))
    console.print(f"wrote {asked.page}")
    sys.exit(f"not the same: {'; '.join(measured.differing)}" if measured.differing else 0)


if __name__ == "__main__":
    main()

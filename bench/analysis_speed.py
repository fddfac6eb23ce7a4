"""How fast the checks are: by size and by cores, against DuckDB and against an earlier revision.

`python -m bench.analysis_speed [EVENTS ...] [--base REVISION]` (`make bench-analysis`) generates
clean histories of these sizes in events, a small one, one of each other kind, and one with every
plant. It judges each on Spark and on DuckDB, each time in a process of its own, and compares all
findings. The code of the earlier revision judges the same histories, Spark standalone one of them
with one worker and with two. Writes docs/benchmarks.md. Exits 1 if findings differ.
"""

import argparse
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import psutil
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from analysis.checks.registry import CHECKS
from analysis.facts.load import count_rows
from bench.agreement import differing, read
from bench.folders import own_folder
from bench.judging import Judged
from bench.mutation import universes
from bench.processes import ROOT, Cost, run_measured
from bench.revision import FENCEPOST, Revision
from bench.speed_page import Earlier, Measured, Planted, Size, Small, Standalone, page
from bench.standalone import environment, standalone
from contract.errors import FencepostError
from contract.run_folder import RunFolder
from simulator.history import (
    CLEAN,
    HISTORIES,
    Request,
    description,
    require,
    universes_of,
    write_history,
)

EVENTS = (1_000_000, 10_000_000)
SMALL_EVENTS = 4_600
"""About 10,000 rows, as many as a short run has."""
OTHERS_EVENTS_MIN, OTHERS_EVENTS_MAX = 20_000, 1_000_000
"""Of the histories that are not clean."""
WORKERS = (1, 2)
STANDALONE_EVENTS_MAX = 10_000_000
"""Spark standalone judges the largest history of up to this many events, since one core is slow."""

_SEED = 19902
_DESCRIPTION = description(_SEED, "make bench-analysis", "unknown", {})
_PAGE = ROOT / "docs" / "benchmarks.md"


class Bench:
    """Measures in one folder, and prints its progress."""

    def __init__(self, folder: Path, console: Console, *, base: str = "") -> None:
        """Work in an empty folder, and compare with an earlier revision if one is named."""
        self._folder, self._console = folder, console
        self._base = Revision(base, folder / "base") if base else None

    def measured(self, sizes: list[int]) -> Measured:
        """Return all figures of the page.

        Args:
            sizes: of the clean histories, in events.
        """
        planted = self._planted()
        small = self._small()
        told = [self._size(Request(events=events, seed=_SEED)) for events in sizes]
        events = min(max(*sizes, OTHERS_EVENTS_MIN), OTHERS_EVENTS_MAX)
        kinds = [kind for kind in HISTORIES if kind != CLEAN]
        others = [self._size(Request(events=events, seed=_SEED, kind=kind)) for kind in kinds]
        judged = max((n for n in sizes if n <= STANDALONE_EVENTS_MAX), default=min(sizes))
        clean = Request(events=judged, seed=_SEED)
        return Measured(
            machine=_machine(),
            seed=_SEED,
            planted=planted,
            small=small,
            sizes=told,
            others=others,
            clusters=[self._standalone(clean, workers) for workers in WORKERS],
            clusters_events=told[sizes.index(judged)].events,
            earlier=self._base.commit if self._base else "",
        )

    def _planted(self) -> Planted:
        history = RunFolder(self._folder / "planted")
        with self._console.status("generating one history of every plant"):
            write_history(history, universes(1), _DESCRIPTION)
        _, by_spark = self._judged("spark", history, "planted anomalies")
        _, by_duckdb = self._judged("duckdb", history, "planted anomalies")
        lacking = {name: one.lacks for name, one in by_spark.items() if one.lacks}
        return Planted(
            rows=sum(count_rows(history).values()),
            checks=len(by_spark) - len(lacking),
            findings=_findings(by_spark),
            lacking=lacking,
            differing=differing(by_spark, by_duckdb),
        )

    def _small(self) -> Small:
        request = Request(events=SMALL_EVENTS, seed=_SEED)
        size = self._size(request)
        command = self._analyzed(self._history(request), ROOT)
        if self._base is None:
            return Small(size, command)
        earlier = self._analyzed(self._history(request, "base"), self._base.folder)
        return Small(size, command, earlier)

    def _size(self, request: Request) -> Size:
        history, what = self._history(request), f"{request.events:,} events, {request.kind},"
        with self._console.status(f"generating {what}"):
            made = write_history(history, universes_of(request), _DESCRIPTION)
        spark, by_spark = self._judged("spark", history, what)
        duckdb, by_duckdb = self._judged("duckdb", history, what)
        return Size(
            kind=request.kind,
            events=made.events,
            rows=sum(made.rows.values()),
            spark=spark,
            duckdb=duckdb,
            findings=_findings(by_spark),
            differing=differing(by_spark, by_duckdb),
            earlier=self._earlier(self._base, request) if self._base else None,
        )

    def _earlier(self, base: Revision, request: Request) -> Earlier:
        history, what = self._history(request, "base"), f"{request.events:,} events, {request.kind}"
        with self._console.status(f"generating {what}, by {base.commit}"):
            base.generate(request, history.path, like=self._history(request))
        cost, found = self._judged("spark", history, f"{what}, by {base.commit}", base=base)
        return Earlier(cost, _findings(found))

    def _standalone(self, request: Request, workers: int) -> Standalone:
        history = self._history(request)
        what = f"{request.events:,} events, {workers} standalone"
        folder = self._folder / f"standalone-{workers}"
        folder.mkdir()
        with standalone(workers, folder) as master:
            cost, found = self._judged("spark", history, what, master=master)
        by_duckdb = read(_file(history, "duckdb"))
        return Standalone(workers, cost.seconds, differing(found, by_duckdb))

    def _history(self, request: Request, whose: str = "present") -> RunFolder:
        return RunFolder(self._folder / f"{whose}-{request.kind}-{request.events}")

    def _judged(
        self,
        engine: str,
        history: RunFolder,
        what: str,
        *,
        master: str = "",
        base: Revision | None = None,
    ) -> tuple[Cost, dict[str, Judged]]:
        """Return the cost of judging a history, and the findings."""
        file = _file(history, engine + ("-standalone" if master else ""))
        argv = [sys.executable, "-m", "bench.judging", engine, str(history.path), str(file)]
        env: Mapping[str, str] = environment() if master else os.environ
        label = f"{what} on {engine}"
        columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task(label, total=2 * len(CHECKS))
            cost = run_measured(
                [*argv, *([master] if master else [])],
                on_line=lambda _: progress.advance(task),
                environment=env,
                folder=base.folder if base else ROOT,
            )
        self._print(label, cost)
        return cost, read(file)

    def _analyzed(self, history: RunFolder, project: Path) -> Cost:
        """Return the cost of `fencepost analyze`, of the project in a folder."""
        argv = [*FENCEPOST, "analyze", str(history.path)]
        cost = run_measured(argv, on_line=lambda _: None, environment=os.environ, folder=project)
        self._print(f"fencepost analyze {history.path.name}", cost)
        return cost

    def _print(self, label: str, cost: Cost) -> None:
        memory = f"{cost.peak_bytes / (1 << 30):.1f} GB"
        took = f"{cost.seconds:.1f} s, {cost.cpu_seconds:.1f} s of CPU, {memory}"
        self._console.print(f"{label}: {took}", highlight=False)


def _findings(judged: Mapping[str, Judged]) -> int:
    return sum(len(one.findings) for one in judged.values())


def _file(history: RunFolder, engine: str) -> Path:
    return history.path.parent / f"{history.path.name}-{engine}.json"


def _machine() -> str:
    memory = psutil.virtual_memory().total / (1 << 30)
    return (
        f"{os.cpu_count()} cores and {memory:.0f} GB ({platform.machine()}), Spark "
        f"{version('pyspark')}, DuckDB {version('duckdb')}"
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Measure the checks.", prog="bench-analysis")
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
    asked.page.write_text(page(measured))
    console.print(f"wrote {asked.page}")
    sys.exit(f"not the same: {', '.join(measured.differing)}" if measured.differing else 0)


if __name__ == "__main__":
    main()

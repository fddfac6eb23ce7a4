"""How fast the checks are, against DuckDB, by size and by cores: `make bench-analysis`.

`python -m bench.analysis_speed [EVENTS ...]` generates clean histories of these sizes in events,
and one with every plant, judges each on Spark and on DuckDB, each time in a process of its own,
compares all findings, has Spark standalone judge one with one worker and with two, and writes
docs/benchmarks.md. Exits 1 if findings differ.
"""

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
from bench.processes import Cost, run_measured
from bench.speed_page import Measured, Planted, Size, Standalone, page
from bench.standalone import environment, standalone
from contract.errors import FencepostError
from contract.run_folder import RunFolder
from simulator.history import Request, description, require, universes_of, write_history

EVENTS = (1_000_000, 10_000_000)
WORKERS = (1, 2)
STANDALONE_EVENTS_MAX = 10_000_000
"""Spark standalone judges the largest history of up to this many events, since one core is slow."""

_SEED = 19902
_DESCRIPTION = description(_SEED, "make bench-analysis", "unknown", {})
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


class Bench:
    """Measures in one folder, and prints its progress."""

    def __init__(self, folder: Path, console: Console) -> None:
        """Work in an empty folder."""
        self._folder, self._console = folder, console

    def measured(self, sizes: list[int]) -> Measured:
        """Return all figures of the page.

        Args:
            sizes: of the clean histories, in events.
        """
        planted = self._planted()
        told = [self._size(events) for events in sizes]
        judged = max((n for n in sizes if n <= STANDALONE_EVENTS_MAX), default=min(sizes))
        return Measured(
            machine=_machine(),
            seed=_SEED,
            planted=planted,
            sizes=told,
            clusters=[self._standalone(judged, workers) for workers in WORKERS],
            clusters_events=told[sizes.index(judged)].events,
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
            findings=sum(len(one.findings) for one in by_spark.values()),
            lacking=lacking,
            differing=differing(by_spark, by_duckdb),
        )

    def _size(self, events: int) -> Size:
        history = RunFolder(self._folder / f"clean-{events}")
        request = Request(events=events, seed=_SEED)
        with self._console.status(f"generating {events:,} events"):
            made = write_history(history, universes_of(request), _DESCRIPTION)
        spark, by_spark = self._judged("spark", history, f"{events:,} events")
        duckdb, by_duckdb = self._judged("duckdb", history, f"{events:,} events")
        rows = sum(made.rows.values())
        return Size(made.events, rows, spark, duckdb, differing(by_spark, by_duckdb))

    def _standalone(self, events: int, workers: int) -> Standalone:
        history = RunFolder(self._folder / f"clean-{events}")
        what = f"{events:,} events, {workers} standalone"
        folder = self._folder / f"standalone-{workers}"
        folder.mkdir()
        with standalone(workers, folder) as master:
            cost, found = self._judged("spark", history, what, master=master)
        by_duckdb = read(_file(history, "duckdb"))
        return Standalone(workers, cost.seconds, differing(found, by_duckdb))

    def _judged(
        self, engine: str, history: RunFolder, what: str, *, master: str = ""
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
            )
        memory = f"{cost.peak_bytes / (1 << 30):.1f} GB"
        self._console.print(f"{label}: {cost.seconds:.1f} s, {memory}", highlight=False)
        return cost, read(file)


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
    console = Console(stderr=True)
    sizes = sorted({int(told.replace("_", "")) for told in sys.argv[1:]} or EVENTS)
    try:
        for events in sizes:
            require(Request(events=events, seed=_SEED))
        with own_folder("speed") as place:
            measured = Bench(place, console).measured(sizes)
    except FencepostError as error:
        sys.exit(f"error: {error}")
    _PAGE.write_text(page(measured))
    console.print(f"wrote {_PAGE}")
    sys.exit(f"not the same: {', '.join(measured.differing)}" if measured.differing else 0)


if __name__ == "__main__":
    main()

"""Runs that are generated, and runs read by DuckDB in this process."""

from pathlib import Path

from analysis.runs.load import load_on_duckdb
from analysis.statements.trace import Trace
from analysis.tasks import Share
from contract.run_folder import RunFolder
from simulator.history import Request, description, universes_of, write_history


def load(spill: Path, folder: RunFolder) -> Trace:
    """Read a run's tables; what does not fit into memory goes into a folder."""
    threads, memory = Share(at_once=1).of_this_machine()
    return load_on_duckdb(folder, spill, threads=threads, memory=memory)


def generated(path: Path, *, seed: int = 1, events: int = 1_000) -> RunFolder:
    """A clean run of some events, which was not judged."""
    folder = RunFolder(path)
    universes = universes_of(Request(events=events, seed=seed))
    write_history(folder, universes, description(seed, "test", "0", {}))
    return folder

"""Runs read by DuckDB in this process: for what asks checks or facts."""

from pathlib import Path

from analysis.runs.load import load_on_duckdb
from analysis.statements.trace import Trace
from analysis.tasks import Share
from contract.run_folder import RunFolder


def load(spill: Path, folder: RunFolder) -> Trace:
    """Read a run's tables; what does not fit into memory goes into a folder."""
    threads, memory = Share(at_once=1).of_this_machine()
    return load_on_duckdb(folder, spill, threads=threads, memory=memory)

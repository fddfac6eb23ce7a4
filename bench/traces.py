"""Runs read and judged by DuckDB in this process: for benches that ask checks or facts."""

from pathlib import Path

from analysis.report.night_rows import Judged
from analysis.runs.load import load_on_duckdb
from analysis.statements.trace import Trace
from analysis.tasks import Share, judge_here
from contract.run_folder import RunFolder

_ALONE = Share(at_once=1)
"""All of this machine."""


def load(spill: Path, folder: RunFolder) -> Trace:
    """Read a run's tables; what does not fit into memory goes into a folder."""
    threads, memory = _ALONE.of_this_machine()
    return load_on_duckdb(folder, spill, threads=threads, memory=memory)


def judged_of(folder: RunFolder) -> Judged:
    """Judge a run, as a task of Spark does, and write its report."""
    return judge_here(_ALONE, folder, "by a bench")

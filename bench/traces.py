"""Runs read and judged by DuckDB in this process: for benches that ask checks or facts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

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


@contextmanager
def opened(folder: RunFolder) -> Iterator[Trace]:
    """A run's tables, with a folder of its own for what does not fit into memory."""
    with TemporaryDirectory() as spill:
        yield load(Path(spill), folder)


def judged_of(folder: RunFolder) -> Judged:
    """Judge a run, as a task of Spark does, and write its report."""
    return judge_here(_ALONE, folder)

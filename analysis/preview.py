"""A verdict in seconds, by DuckDB: `python -m analysis.preview RUN...`; nothing is written."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from analysis.facts.load import trace_of
from analysis.facts.source import table_files
from analysis.facts.trace import Trace
from analysis.report.night_rows import Judged
from analysis.report.outputs import as_json as told_as_json
from analysis.report.terminal import show
from analysis.verdict.judge import judge
from contract.errors import AnalysisError
from contract.program import run_program
from contract.run_folder import RunFolder, find_runs
from contract.verdicts import Verdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

MEMORY_GB = 4
"""Of DuckDB, and of Spark's driver for large traces (`analysis.engine.session`)."""
_INSTALL = "DuckDB is not installed in this environment. Install it with: make bench-tools"
_NOTICE = "judged by DuckDB, and not written: the verdict of a run comes from Spark"


def load_on_duckdb(folder: RunFolder, spill: Path) -> Trace:
    """Read a run's tables by DuckDB, with every core and as much memory as Spark has.

    Args:
        folder: the run's.
        spill: for what does not fit into that memory.

    Raises:
        AnalysisError: DuckDB or sqlglot is not installed.
        RunFolderError: the folder has no plan or no description of a run.
    """
    try:
        from analysis.engine.duckdb import DuckDBEngine  # noqa: PLC0415 - not always installed
    except ImportError as error:
        raise AnalysisError(f"{_INSTALL} ({error})") from error
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    engine = DuckDBEngine(threads=threads or 1, memory=f"{MEMORY_GB}GB", spill=spill)
    return trace_of(engine, folder, table_files(folder))


def preview(folder: RunFolder) -> Verdict:
    """Judge a run by DuckDB.

    Raises:
        AnalysisError: DuckDB or sqlglot is not installed.
        RunFolderError: the folder has no plan or no description of a run.
    """
    with TemporaryDirectory() as spill:
        return judge(load_on_duckdb(folder, Path(spill)))


@app.command()
def main(
    runs: list[Path],
    *,
    is_verbose: Annotated[bool, typer.Option("--verbose")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Print the verdicts of runs, or of all runs of sessions."""
    out = Console()
    judged = []
    for folder in (folder for path in runs for folder in find_runs(path)):
        verdict = preview(folder)
        judged.append(Judged(folder, verdict))
        if not as_json:
            show(verdict, out, run=folder.run(), is_verbose=is_verbose)
    if as_json:
        typer.echo(told_as_json(judged, []))
    Console(stderr=True).print(_NOTICE, style="dim", soft_wrap=True)


if __name__ == "__main__":
    run_program(app)

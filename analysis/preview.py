"""A verdict in seconds, by DuckDB: `python -m analysis.preview RUN...`; nothing is written."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rich.console import Console

from analysis.facts.load import trace_of
from analysis.facts.source import table_files
from analysis.report.terminal import show
from analysis.verdict.judge import judge
from contract.errors import AnalysisError
from contract.program import run_program
from contract.run_folder import RunFolder, find_runs
from contract.verdicts import Verdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_MEMORY = "4GB"
_INSTALL = "DuckDB is not installed in this environment. Install it with: make bench-tools"
_NOTICE = "judged by DuckDB, and not written: the verdict of a run comes from Spark"


def preview(folder: RunFolder) -> Verdict:
    """Judge a run by DuckDB.

    Raises:
        AnalysisError: DuckDB or sqlglot is not installed.
        RunFolderError: the folder has no plan or no description of a run.
    """
    try:
        from analysis.engine.duckdb import DuckDBEngine  # noqa: PLC0415 - not always installed
    except ImportError as error:
        raise AnalysisError(f"{_INSTALL} ({error})") from error
    with TemporaryDirectory() as spill:
        engine = DuckDBEngine(threads=os.cpu_count() or 1, memory=_MEMORY, spill=Path(spill))
        return judge(trace_of(engine, folder, table_files(folder)))


@app.command()
def main(runs: list[Path]) -> None:
    """Print the verdicts of runs, or of all runs of sessions."""
    out = Console()
    for folder in (folder for path in runs for folder in find_runs(path)):
        show(preview(folder), out)
        out.print(_NOTICE, style="dim", soft_wrap=True)


if __name__ == "__main__":
    run_program(app)

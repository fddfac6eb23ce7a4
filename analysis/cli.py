"""The analysis as a program of its own; it shares nothing with the harness but files."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from analysis.judge import judge
from analysis.load import Trace, load_trace
from analysis.report.page import write_report
from analysis.report.session_page import write_session
from analysis.session import open_session, tune
from analysis.terminal import show
from harness.contract.run_folder import RunFolder, find_runs
from harness.contract.verdicts import RunVerdict, Verdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_EXIT = {RunVerdict.PASS: 0, RunVerdict.FAIL: 1, RunVerdict.UNDECIDED: 2}


@app.command()
def analyze(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or of whole sessions.")],
    master: Annotated[str | None, typer.Option(help="Spark master; local[*] if not given.")] = None,
) -> None:
    """Judge runs, write `report/verdict.json` and `report/index.html`, and tell the verdicts.

    Exits 0 if all pass, 1 if one fails, else 2.
    """
    progress, out = Console(stderr=True), Console()
    folders = [folder for path in runs for folder in find_runs(path)]
    verdicts: list[tuple[RunFolder, Verdict]] = []
    with progress.status("starting Spark") as status:
        spark = open_session(master)
        for index, folder in enumerate(folders, start=1):
            status.update(f"judging run {index} of {len(folders)}: {folder.path.name}")
            trace = load_trace(spark, folder)
            tune(spark, rows=sum(trace.rows.values()))
            verdict = judge(trace)
            status.update(f"reporting run {index} of {len(folders)}")
            _write(folder, verdict, trace)
            spark.catalog.clearCache()
            verdicts.append((folder, verdict))
        for path in runs:
            write_session(path, [(f, v) for f, v in verdicts if path in (f.path, *f.path.parents)])
        spark.stop()
    for folder, verdict in verdicts:
        show(verdict, out)
        out.print(f"report: {folder.report / 'index.html'}", soft_wrap=True, highlight=False)
    raise typer.Exit(_exit_code([verdict.verdict for _, verdict in verdicts]))


def _write(folder: RunFolder, verdict: Verdict, trace: Trace) -> None:
    folder.report.mkdir(exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(verdict), indent=2)
    part = folder.report / "verdict.json.part"
    part.write_bytes(text + b"\n")
    part.replace(folder.report / "verdict.json")
    write_report(folder, verdict, trace)


def _exit_code(verdicts: list[RunVerdict]) -> int:
    """The gravest of all: fail before undecided before pass."""
    for grave in (RunVerdict.FAIL, RunVerdict.UNDECIDED):
        if grave in verdicts:
            return _EXIT[grave]
    return _EXIT[RunVerdict.PASS]

"""The analysis as a program of its own; it shares nothing with the harness but files."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from pyspark.sql import SparkSession
from rich.console import Console

from analysis.early import STDIN, ready_for_folder
from analysis.engine.class_data import keep
from analysis.engine.session import (
    close_session,
    is_jvm_alive,
    jvm_ended,
    open_session,
    require_jvm,
)
from analysis.facts.load import Trace, count_rows, load_trace
from analysis.report.night_page import write_night
from analysis.report.night_rows import Judged, runs_of
from analysis.report.page import write_report
from analysis.report.session_page import write_session
from analysis.report.terminal import show, show_night
from analysis.verdict.every_finding import FindingsFile
from analysis.verdict.judge import judge
from contract.errors import AnalysisError, FencepostError
from contract.findings import FINDINGS_FILE
from contract.nights import Night, NightSummary, read_night
from contract.program import say, unexpected
from contract.regular_files import replace_file
from contract.run_folder import RunFolder, find_runs
from contract.verdicts import RunVerdict, Verdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_VERDICT, _PAGE = "verdict.json", "index.html"
_TRACEBACK = "traceback.txt"
_EXIT = {RunVerdict.PASS: 0, RunVerdict.FAIL: 1, RunVerdict.UNDECIDED: 2}


@app.command()
def analyze(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of runs, of whole sessions, or of nights; `-`: one, as a line of JSON on "
            "standard input, for which Spark is opened before."
        ),
    ],
    master: Annotated[str | None, typer.Option(help="Spark master; local[*] if not given.")] = None,
) -> None:
    """Judge runs, write `report/verdict.json` and `report/index.html`, and print the verdicts.

    Exits 0 if all pass, 1 if one fails, else 2; a night's verdict is against what it expects. A run
    that can't be judged stops no other; the exit code is then that of its error, such as 70.
    """
    spark: SparkSession | None = None
    if runs == [STDIN]:
        spark, folder = ready_for_folder()
        runs = [folder]
    progress, out = Console(stderr=True), Console()
    nights = {path: night for path in runs if (night := read_night(path)) is not None}
    of_nights = [(run, True) for path, night in nights.items() for run in runs_of(path, night)]
    of_sessions = [(run, False) for path in runs if path not in nights for run in find_runs(path)]
    judged = _judge_all([*of_nights, *of_sessions], spark, master, progress)
    of_runs = [one for one, is_of_night in judged if not is_of_night]
    for path in runs:
        if path not in nights:
            write_session(
                path,
                [one for one in of_runs if path in (one.folder.path, *one.folder.path.parents)],
            )
    for one in of_runs:
        _show(one, out)
    summaries = _write_nights(nights, [one for one, is_of_night in judged if is_of_night], out)
    keep(progress)
    if codes := [one.exit_code for one in of_runs if one.exit_code]:
        raise typer.Exit(max(codes))
    verdicts = [one.verdict.verdict for one in of_runs if one.verdict is not None]
    raise typer.Exit(_exit_code(verdicts + [summary.verdict for summary in summaries]))


def _show(judged: Judged, out: Console) -> None:
    if judged.verdict is None:
        say(f"{judged.folder.path}: {judged.error}")
        return
    show(judged.verdict, out)
    out.print(f"report: {judged.folder.report / 'index.html'}", soft_wrap=True, highlight=False)


def _judge_all(
    folders: list[tuple[RunFolder, bool]],
    spark: SparkSession | None,
    master: str | None,
    progress: Console,
) -> list[tuple[Judged, bool]]:
    """Judge runs one by one in one Spark; one that can't be judged stops no other.

    Args:
        folders: with whether they are of a night.
        spark: None if it is not open yet.
        master: Spark's, or None for this machine.
        progress: where to print it.
    """
    if not folders:
        return []
    judged: list[tuple[Judged, bool]] = []
    with progress.status("starting Spark") as status:
        rows = max(sum(count_rows(folder).values()) for folder, _ in folders)
        spark = spark or open_session(master, rows=rows, may_record=True)
        for index, (folder, is_of_night) in enumerate(folders, start=1):
            status.update(f"judging run {index} of {len(folders)}: {folder.path.name}")
            judged.append((judge_run(spark, folder), is_of_night))
        close_session(spark)
    return judged


def judge_run(spark: SparkSession, folder: RunFolder) -> Judged:
    """Judge a run. If that fails, no earlier verdict and no earlier page stay in its folder."""
    try:
        for earlier in (_VERDICT, _PAGE, _TRACEBACK, FINDINGS_FILE):
            (folder.report / earlier).unlink(missing_ok=True)
        trace = load_trace(spark, folder)
        folder.report.mkdir(exist_ok=True)
        with FindingsFile(folder.report / FINDINGS_FILE) as findings:
            verdict = judge(trace, keep=findings.keep)
        require_jvm(spark)
        _write(folder, verdict, trace)
        spark.catalog.clearCache()
    except FencepostError as error:
        return Judged(folder, None, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the other runs are judged
        if not is_jvm_alive(spark):
            return Judged(folder, None, str(jvm_ended(spark)), AnalysisError.exit_code)
        told = unexpected(error, folder.report / _TRACEBACK)
        return Judged(folder, None, f"the analysis failed: {told}", FencepostError.exit_code)
    return Judged(folder, verdict)


def _write_nights(
    nights: dict[Path, Night], judged: list[Judged], out: Console
) -> list[NightSummary]:
    summaries = [write_night(path, night, judged) for path, night in nights.items()]
    for summary in summaries:
        show_night(summary, out)
    return summaries


def _write(folder: RunFolder, verdict: Verdict, trace: Trace) -> None:
    write_report(folder, verdict, trace)
    text = msgspec.json.format(msgspec.json.encode(verdict), indent=2)
    replace_file(folder.report / _VERDICT, text + b"\n")


def _exit_code(verdicts: list[RunVerdict]) -> int:
    """The worst of all: fail before undecided before pass."""
    for grave in (RunVerdict.FAIL, RunVerdict.UNDECIDED):
        if grave in verdicts:
            return _EXIT[grave]
    return _EXIT[RunVerdict.PASS]

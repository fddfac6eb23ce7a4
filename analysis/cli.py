"""The analysis as a program of its own; it shares nothing with the harness but files."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.text import Text

from analysis.early import STDIN, ready_for_folder
from analysis.engine.class_data import keep
from analysis.engine.session import (
    close_session,
    is_jvm_alive,
    jvm_ended,
    open_session,
    require_jvm,
)
from analysis.facts.load import count_rows, load_trace
from analysis.report.answer import answer
from analysis.report.commands import pasted
from analysis.report.night_page import write_night
from analysis.report.night_rows import Judged, runs_of
from analysis.report.outputs import (
    OUTPUT_FILES,
    write_night_outputs,
    write_run_outputs,
    write_session_outputs,
)
from analysis.report.outputs import as_json as told_as_json
from analysis.report.page import write_report
from analysis.report.run_output import outputs_of_night
from analysis.report.session_page import write_session
from analysis.report.terminal import show, show_night
from analysis.verdict.every_finding import FindingsFile
from analysis.verdict.judge import judge
from contract.errors import AnalysisError, FencepostError, RunFolderError
from contract.findings import FINDINGS_FILE
from contract.nights import Night, NightSummary, Outcome, read_night
from contract.program import say, unexpected
from contract.progress import PhaseProgress
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
    *,
    is_verbose: Annotated[bool, typer.Option("--verbose")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Judge runs, write their reports (docs/outputs.md), and print the verdicts.

    Exits 0 if all pass, 1 if one fails, else 2; a night's verdict is against what it expects. A run
    that can't be judged stops no other; the exit code is then that of its error, such as 70.
    """
    spark: SparkSession | None = None
    if runs == [STDIN]:
        spark, folder = ready_for_folder()
        runs = [folder]
    # A copy of standard error, which goes on while Spark's JVM is started without it.
    progress = Console(file=os.fdopen(os.dup(2), "w"))
    out = Console()
    nights = {path: night for path in runs if (night := read_night(path)) is not None}
    of_nights = [(run, True) for path, night in nights.items() for run in runs_of(path, night)]
    of_sessions = [(run, False) for path in runs if path not in nights for run in find_runs(path)]
    judged = _judge_all([*of_nights, *of_sessions], spark, master, progress)
    of_runs = [one for one, is_of_night in judged if not is_of_night]
    for path in runs:
        if path not in nights:
            own = [one for one in of_runs if path in (one.folder.path, *one.folder.path.parents)]
            write_session(path, own)
            write_session_outputs(path, own)
    in_nights = [one for one, is_of_night in judged if is_of_night]
    summaries = _write_nights(nights, in_nights)
    if as_json:
        typer.echo(told_as_json(of_runs, list(zip(nights, summaries, strict=True))))
    else:
        for one in of_runs:
            _show(one, out, is_verbose=is_verbose)
        for path, summary in zip(nights, summaries, strict=True):
            show_runs_of(path, summary, in_nights, out, is_verbose=is_verbose)
            show_night(summary, out)
    keep(progress)
    if codes := [one.exit_code for one in of_runs if one.exit_code]:
        raise typer.Exit(max(codes))
    verdicts = [one.verdict.verdict for one in of_runs if one.verdict is not None]
    raise typer.Exit(_exit_code(verdicts + [summary.verdict for summary in summaries]))


def _show(judged: Judged, out: Console, *, is_verbose: bool) -> None:
    if judged.verdict is None:
        say(f"{judged.folder.path}: {judged.error}")
        return
    show(judged.verdict, out, run=judged.folder.run(), is_verbose=is_verbose)
    if judged.verdict.unexpected:
        first = judged.verdict.unexpected[0]
        path = shlex.quote(str(judged.folder.path))
        line = pasted(f"fencepost explain {path} {first.check}:{first.number}")
        out.print(Text(f"explain: {line}"), soft_wrap=True)
    out.print(Text(f"report: {judged.folder.report / 'index.html'}"), soft_wrap=True)


def show_runs_of(
    path: Path, summary: NightSummary, judged: list[Judged], out: Console, *, is_verbose: bool
) -> None:
    """Print the verdicts of a night's runs that are not as its suite expects; of all if verbose."""
    for one in outputs_of_night(path, summary, judged):
        if one.verdict is not None and (is_verbose or one.outcome is not Outcome.EXPECTED):
            show(one.verdict, out, run=one.run, is_verbose=is_verbose)


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
    with PhaseProgress(progress) as phases:
        if spark is None:
            phases.phase("starting Spark")
        rows = max(sum(count_rows(folder).values()) for folder, _ in folders)
        spark = spark or open_session(master, rows=rows, may_record=True)
        for index, (folder, is_of_night) in enumerate(folders, start=1):
            phases.phase(f"judging {_name(folder)}, run {index} of {len(folders)}")
            judged.append((judge_run(spark, folder), is_of_night))
        close_session(spark)
    return judged


def _name(folder: RunFolder) -> str:
    """The scenario of a run; its folder where that can't be read."""
    try:
        return folder.plan().scenario
    except RunFolderError:
        return str(folder.path)


def judge_run(spark: SparkSession, folder: RunFolder) -> Judged:
    """Judge a run. If that fails, no earlier verdict and no earlier page stay in its folder."""
    try:
        for earlier in (_VERDICT, _PAGE, _TRACEBACK, FINDINGS_FILE, *OUTPUT_FILES):
            (folder.report / earlier).unlink(missing_ok=True)
        trace = load_trace(spark, folder)
        folder.report.mkdir(exist_ok=True)
        with FindingsFile(folder.report / FINDINGS_FILE) as findings:
            verdict = judge(trace, keep=findings.keep)
        verdict = msgspec.structs.replace(verdict, answer=answer(folder, verdict))
        require_jvm(spark)
        _write(folder, verdict)
        spark.catalog.clearCache()
    except FencepostError as error:
        return Judged(folder, None, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the other runs are judged
        if not is_jvm_alive(spark):
            return Judged(folder, None, str(jvm_ended(spark)), AnalysisError.exit_code)
        told = unexpected(error, folder.report / _TRACEBACK)
        return Judged(folder, None, f"the analysis failed: {told}", FencepostError.exit_code)
    return Judged(folder, verdict)


def _write_nights(nights: dict[Path, Night], judged: list[Judged]) -> list[NightSummary]:
    summaries = []
    for path, night in nights.items():
        summary = write_night(path, night, judged)
        write_night_outputs(path, summary, judged)
        summaries.append(summary)
    return summaries


def _write(folder: RunFolder, verdict: Verdict) -> None:
    write_report(folder, verdict)
    write_run_outputs(Judged(folder, verdict))
    text = msgspec.json.format(msgspec.json.encode(verdict), indent=2)
    replace_file(folder.report / _VERDICT, text + b"\n")


def _exit_code(verdicts: list[RunVerdict]) -> int:
    """The worst of all: fail before undecided before pass."""
    for grave in (RunVerdict.FAIL, RunVerdict.UNDECIDED):
        if grave in verdicts:
            return _EXIT[grave]
    return _EXIT[RunVerdict.PASS]

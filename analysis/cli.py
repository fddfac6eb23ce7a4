"""The analysis as a program of its own; it shares nothing with the harness but files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir
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
from analysis.engine.settings import OF_URIS, settings_of
from analysis.engine.spark import SMALL_INPUT_ROWS
from analysis.facts.load import Trace, count_rows, load_trace
from analysis.facts.remote import RemoteFolder, RemoteRun
from analysis.report.night_page import write_night
from analysis.report.night_rows import Judged, runs_of
from analysis.report.page import write_report
from analysis.report.session_page import write_session
from analysis.report.terminal import show, show_night
from analysis.verdict.judge import judge
from contract.errors import AnalysisError, FencepostError
from contract.held import HeldFolder, remove_unheld
from contract.nights import Night, NightSummary, read_night
from contract.program import say, unexpected
from contract.regular_files import replace_file
from contract.run_folder import RunFolder, find_runs
from contract.uris import place
from contract.verdicts import RunVerdict, Verdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_VERDICT, _PAGE = "verdict.json", "index.html"
_TRACEBACK = "traceback.txt"
_WRITTEN = (_VERDICT, _PAGE, _TRACEBACK)
_PREFIX = "fencepost-remote-"
_ROWS_UNKNOWN = SMALL_INPUT_ROWS + 1
_NOT_DECODED = (
    "The tables at a URI are judged as they are. `fencepost analyze` decodes histories and logs "
    "again in local folders only."
)
_EXIT = {RunVerdict.PASS: 0, RunVerdict.FAIL: 1, RunVerdict.UNDECIDED: 2}


@app.command()
def analyze(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Folders of runs, of whole sessions, or of nights, by paths or URIs; `-`: one, as "
            "a line of JSON on standard input, for which Spark is opened before."
        ),
    ],
    master: Annotated[str | None, typer.Option(help="Spark master; local[*] if not given.")] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark.")
    ] = None,
) -> None:
    """Judge runs, write `report/verdict.json` and `report/index.html`, and print the verdicts.

    Exits 0 if all pass, 1 if one fails, else 2; a night's verdict is against what it expects. A run
    that can't be judged stops no other; the exit code is then that of its error, such as 70.
    """
    asked = Asked(master, settings_of(conf or ()))
    spark: SparkSession | None = None
    places: list[Path | str]
    if runs == [str(STDIN)]:
        spark, folder = ready_for_folder()
        places = [folder]
    else:
        places = [place(run) for run in runs]
    code = _analyze(places, spark, asked)
    keep(Console(stderr=True))
    raise typer.Exit(code)


@dataclass(frozen=True)
class Asked:
    """The Spark that was asked for: its master, None for this machine, and settings."""

    master: str | None
    settings: Mapping[str, str]

    def open(self, rows: int) -> SparkSession:
        """Open it for traces of up to this number of rows."""
        return open_session(self.master, rows=rows, may_record=True, settings=self.settings)

    def open_for_uris(self) -> SparkSession:
        """Open it for traces of unknown size on any file system."""
        return replace(self, settings={**OF_URIS, **self.settings}).open(_ROWS_UNKNOWN)


def _analyze(places: list[Path | str], spark: SparkSession | None, asked: Asked) -> int:
    """Judge the runs at some places, write and print all results; returns the exit code."""
    progress, out = Console(stderr=True), Console()
    remotes: dict[Path, RemoteFolder] = {}
    if uris := [one for one in places if isinstance(one, str)]:
        remove_unheld(Path(gettempdir()), _PREFIX)
        beside = HeldFolder(Path(gettempdir()), _PREFIX)
        spark = spark or asked.open_for_uris()
        remotes = _fetched(uris, beside.path)
        progress.print(_NOT_DECODED, style="dim", soft_wrap=True)
    paths = [*(one for one in places if isinstance(one, Path)), *remotes]
    nights = {path: night for path in paths if (night := read_night(path)) is not None}
    of_nights = [(run, True) for path, night in nights.items() for run in runs_of(path, night)]
    of_sessions = [(run, False) for path in paths if path not in nights for run in find_runs(path)]
    judged = _judge_all([*of_nights, *of_sessions], spark, asked, remotes, progress)
    of_runs = [one for one, is_of_night in judged if not is_of_night]
    for path in paths:
        if path not in nights:
            write_session(
                path,
                [one for one in of_runs if path in (one.folder.path, *one.folder.path.parents)],
            )
    for one in of_runs:
        _show(one, _remote_of(one.folder, remotes), out)
    summaries = _write_nights(nights, [one for one, is_of_night in judged if is_of_night], out)
    for path, remote in remotes.items():
        remote.publish(path / "report")
    if codes := [one.exit_code for one in of_runs if one.exit_code]:
        return max(codes)
    verdicts = [one.verdict.verdict for one in of_runs if one.verdict is not None]
    return _exit_code(verdicts + [summary.verdict for summary in summaries])


def _fetched(uris: Iterable[str], beside: Path) -> dict[Path, RemoteFolder]:
    """What is at URIs, by the local folders of its descriptions."""
    remotes = (RemoteFolder(uri, beside / str(at)) for at, uri in enumerate(dict.fromkeys(uris)))
    return {remote.path: remote for remote in remotes}


def _remote_of(folder: RunFolder, remotes: Mapping[Path, RemoteFolder]) -> RemoteFolder | None:
    """Where a run really is; None if it is a local one."""
    places = (folder.path, *folder.path.parents)
    return next((remotes[path] for path in places if path in remotes), None)


def _show(judged: Judged, remote: RemoteFolder | None, out: Console) -> None:
    shown = str if remote is None else remote.shown
    if judged.verdict is None:
        say(f"{shown(str(judged.folder.path))}: {judged.error}")
        return
    show(judged.verdict, out)
    page = shown(str(judged.folder.report / "index.html"))
    out.print(f"report: {page}", soft_wrap=True, highlight=False)


def _judge_all(
    folders: list[tuple[RunFolder, bool]],
    spark: SparkSession | None,
    asked: Asked,
    remotes: Mapping[Path, RemoteFolder],
    progress: Console,
) -> list[tuple[Judged, bool]]:
    """Judge runs one by one in one Spark; one that can't be judged stops no other.

    Args:
        folders: with whether they are of a night.
        spark: None if it is not open yet.
        asked: how it is opened.
        remotes: those whose files are at a URI.
        progress: where to print it.
    """
    if not folders:
        return []
    judged: list[tuple[Judged, bool]] = []
    with progress.status("starting Spark") as status:
        if spark is None:
            spark = asked.open(max(sum(count_rows(folder).values()) for folder, _ in folders))
        for index, (folder, is_of_night) in enumerate(folders, start=1):
            status.update(f"judging run {index} of {len(folders)}: {folder.path.name}")
            judged.append((judge_run(spark, folder, _remote_of(folder, remotes)), is_of_night))
        close_session(spark)
    return judged


def judge_run(spark: SparkSession, folder: RunFolder, remote: RemoteFolder | None = None) -> Judged:
    """Judge a run. If that fails, no earlier verdict and no earlier page stay in its folder.

    Args:
        spark: the session.
        folder: the run's, or the local one of its descriptions.
        remote: where it is really, if elsewhere; the report is written there too.
    """
    if remote is None:
        return _judge_local(spark, folder)
    try:
        remote.remove(folder, _WRITTEN)
        run = remote.run(folder)
        judged = _judge_local(spark, folder, run)
        run.scratch.remove()
        remote.publish(folder.report)
    except (FencepostError, OSError) as error:
        code = getattr(error, "exit_code", FencepostError.exit_code)
        judged = Judged(folder, None, str(error), code)
    return replace(judged, error=judged.error and remote.shown(judged.error))


def _judge_local(spark: SparkSession, folder: RunFolder, remote: RemoteRun | None = None) -> Judged:
    try:
        for earlier in _WRITTEN:
            (folder.report / earlier).unlink(missing_ok=True)
        trace = load_trace(spark, folder, remote)
        verdict = judge(trace)
        require_jvm()
        _write(folder, verdict, trace)
        spark.catalog.clearCache()
    except FencepostError as error:
        return Judged(folder, None, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the other runs are judged
        if not is_jvm_alive():
            return Judged(folder, None, str(jvm_ended()), AnalysisError.exit_code)
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
    folder.report.mkdir(exist_ok=True)
    write_report(folder, verdict, trace)
    text = msgspec.json.format(msgspec.json.encode(verdict), indent=2)
    replace_file(folder.report / _VERDICT, text + b"\n")


def _exit_code(verdicts: list[RunVerdict]) -> int:
    """The worst of all: fail before undecided before pass."""
    for grave in (RunVerdict.FAIL, RunVerdict.UNDECIDED):
        if grave in verdicts:
            return _EXIT[grave]
    return _EXIT[RunVerdict.PASS]

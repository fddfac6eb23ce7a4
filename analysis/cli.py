"""The analysis as a program of its own; it shares nothing with the harness but files."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated

import typer
from pyspark import SparkContext
from rich.console import Console
from rich.text import Text

from analysis.early import EARLY, ready_for_folder
from analysis.engine.hadoop import HadoopFolder
from analysis.engine.session import close_spark
from analysis.engine.settings import settings_of
from analysis.judging import kept_verdict
from analysis.opening import open_spark
from analysis.prepare import ensure
from analysis.report.commands import pasted
from analysis.report.night_page import write_night
from analysis.report.night_rows import Judged, runs_of
from analysis.report.outputs import as_json as json_of
from analysis.report.outputs import write_night_outputs, write_session_outputs
from analysis.report.run_output import outputs_of_night
from analysis.report.session_page import write_session
from analysis.report.terminal import show, show_night
from analysis.report.words import with_noun
from analysis.runs.remote import RemoteFolder
from analysis.store import night_of, store_of, write_store
from analysis.tasks import Due, cores_here, judge_in_tasks
from analysis.trends.history import history_of
from analysis.trends.morning import morning
from contract.errors import AnalysisError, FencepostError, UsageError
from contract.files import as_word, place
from contract.locks import HeldFolder, remove_unheld
from contract.nights import (
    Known,
    Morning,
    Night,
    NightSummary,
    Outcome,
    known_beside,
    read_known,
    read_night,
)
from contract.processes import is_local, require_options
from contract.program import PhaseProgress, Terminal, say
from contract.run_folder import RunFolder, find_runs
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import EXIT_CODES, RunVerdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_PREFIX = "fencepost-remote-"
_NOT_DECODED = (
    "The tables at a URI are judged as they are. `fencepost analyze` decodes histories and logs "
    "again in local folders only."
)


@app.command()
def analyze(  # noqa: PLR0913 - the options of a command
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Folders of runs, of whole sessions, or of nights, by paths or URIs."),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark master; local[*] if not given.")] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="Folder or URI of the store of all findings and verdicts.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="A file of known findings (docs/mornings.md).")
    ] = None,
    *,
    is_early: Annotated[
        bool,
        typer.Option(
            EARLY,
            help="One folder, as a line of JSON on standard input, for which Spark is opened "
            "before.",
        ),
    ] = False,
    is_verbose: Annotated[bool, typer.Option("--verbose")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Judge runs, write their reports (docs/outputs.md), and print the verdicts.

    Exits 0 if all pass, 1 if one fails, else 2; a night's verdict is against what it expects. If a
    run can't be judged, the others are, and the exit code is that of its error, such as 70.
    """
    require_options(master, conf or ())
    asked = Asked(master, settings_of(conf or ()))
    given = None if known is None else read_known(known)
    ensure()
    # A copy of standard error, which goes on while Spark's JVM is started without it.
    progress = Terminal(markup=True, file=os.fdopen(os.dup(2), "w"))
    spark: SparkContext | None = None
    places: list[Path | str]
    if is_early:
        spark, folder = ready_for_folder()
        places = [folder]
    else:
        places = [place(run) for run in runs or ()]
    if store is not None and isinstance(place(store), str):
        spark = spark or asked.open()
        _require_reachable(store)
    results = _judge(places, spark, asked, progress)
    problem = None
    if results.nights:
        # Their pages have what the store says of all nights, and are written without it, too.
        problem = results.keep(store)
        results.write_nights(store, given)
    results.publish()
    if as_json:
        typer.echo(json_of(results.of_runs, list(results.summaries.items())))
    else:
        results.show(Terminal(markup=True), is_verbose=is_verbose)
    if not results.nights:
        problem = results.keep(store)
    if results.spark is not None:
        close_spark(results.spark)
    if problem is not None:
        raise problem
    raise typer.Exit(results.exit_code)


@dataclass(frozen=True)
class Asked:
    """How Spark was asked for: by its master, None for this machine, and settings."""

    master: str | None
    settings: Mapping[str, str]

    def open(self) -> SparkContext:
        """Open Spark.

        Raises:
            UsageError: it does not start here with the user's settings.
            AnalysisError: it does not start for another reason.
        """
        try:
            return open_spark(self.master, settings=self.settings)
        except AnalysisError as error:
            if not self.settings or not is_local(self.master):
                raise
            given = " ".join(f"--conf {key}={value}" for key, value in self.settings.items())
            raise UsageError(f"{given}: {error}") from error

    @property
    def at_once(self) -> int:
        """The tasks of an executor at a time, if its cores are given; else 0."""
        cores = int(self.settings.get("spark.executor.cores", 0))
        return cores // int(self.settings.get("spark.task.cpus", 1))


@dataclass(frozen=True)
class _Results:
    """The outcomes of the runs, and what is written of them.

    Attributes:
        of_runs: those of no night.
        of_nights: the others.
        nights: by their folders.
        summaries: of the nights that are written.
        remotes: where runs really are, by the local folders of their descriptions.
        beside: has these local folders, which are removed with it.
        spark: None if there was nothing to judge.
    """

    of_runs: list[Judged]
    of_nights: list[Judged]
    nights: Mapping[Path, Night]
    summaries: dict[Path, NightSummary]
    remotes: Mapping[Path, RemoteFolder]
    beside: HeldFolder | None
    spark: SparkContext | None

    def keep(self, store: str | None) -> FencepostError | None:
        """Write the runs that have a verdict into the store; returns the error if that fails."""
        judged = [one for one in (*self.of_nights, *self.of_runs) if one.verdict is not None]
        if self.spark is None:
            return None
        try:
            write_store([(one, self._place(one)) for one in judged], store)
        except FencepostError as error:
            return error
        return None

    def write_nights(self, store: str | None, known: Known | None) -> None:
        """Write the pages and outputs of the nights.

        Args:
            store: as of `write_store`.
            known: the known findings; None: those of known.yml beside the results folder.
        """
        for path, night in self.nights.items():
            home = None if path in self.remotes else store or store_of(str(path))
            morning = None
            if self.spark is not None and home is not None:
                morning = _morning(home, path, night, known)
            own = [one for one in self.of_nights if path in one.folder.path.parents]
            self.summaries[path] = write_night(path, night, own, morning)
            write_night_outputs(path, self.summaries[path], own)

    def publish(self) -> None:
        """Write the reports of sessions and nights that are at a URI there."""
        for path, remote in self.remotes.items():
            remote.publish(path / "report")

    def _place(self, one: Judged) -> str:
        path, remote = one.folder.path, _remote_of(one.folder, self.remotes)
        return str(path.absolute()) if remote is None else remote.shown(str(path))

    def show(self, out: Console, *, is_verbose: bool) -> None:
        """Print them."""
        for one in self.of_runs:
            _show(one, _remote_of(one.folder, self.remotes), out, is_verbose=is_verbose)
        for path, summary in self.summaries.items():
            show_runs_of(path, summary, self.of_nights, out, is_verbose=is_verbose)
            show_night(summary, out)

    @property
    def exit_code(self) -> int:
        """The largest of a run that can't be judged; else fail before undecided before pass."""
        if codes := [one.exit_code for one in self.of_runs if one.exit_code]:
            return max(codes)
        verdicts = [one.verdict.verdict for one in self.of_runs if one.verdict is not None]
        verdicts += [summary.verdict for summary in self.summaries.values()]
        grave = (RunVerdict.FAIL, RunVerdict.UNDECIDED, RunVerdict.PASS)
        return EXIT_CODES[next((one for one in grave if one in verdicts), RunVerdict.PASS)]


def _judge(
    places: list[Path | str], spark: SparkContext | None, asked: Asked, progress: Console
) -> _Results:
    """Judge the runs at some places, and write all reports."""
    remotes: dict[Path, RemoteFolder] = {}
    beside: HeldFolder | None = None
    if uris := [one for one in places if isinstance(one, str)]:
        remove_unheld(Path(gettempdir()), _PREFIX)
        beside = HeldFolder(Path(gettempdir()), _PREFIX)
        spark = spark or asked.open()
        remotes = _fetched(uris, beside.path)
        progress.print(_NOT_DECODED, style="dim", soft_wrap=True)
    paths = [*(one for one in places if isinstance(one, Path)), *remotes]
    nights = {path: night for path in paths if (night := read_night(path)) is not None}
    of_nights = [(run, True) for path, night in nights.items() for run in runs_of(path, night)]
    of_sessions = [(run, False) for path in paths if path not in nights for run in find_runs(path)]
    spark, judged = _judge_all([*of_nights, *of_sessions], spark, asked, remotes, progress)
    of_runs = [one for one, is_of_night in judged if not is_of_night]
    in_nights = [one for one, is_of_night in judged if is_of_night]
    for path in paths:
        if path not in nights:
            own = [one for one in of_runs if path in (one.folder.path, *one.folder.path.parents)]
            write_session(path, own)
            write_session_outputs(path, own)
    return _Results(of_runs, in_nights, nights, {}, remotes, beside, spark)


def _require_reachable(store: str) -> None:
    """Check that Spark can reach the URI of a store, which may be missing yet.

    Raises:
        UsageError: it can't.
    """
    try:
        next(HadoopFolder(store).files(), None)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"--store {store} can't be reached: {error}") from error


def _fetched(uris: Iterable[str], beside: Path) -> dict[Path, RemoteFolder]:
    """What is at URIs, by the local folders of its descriptions."""
    remotes = (RemoteFolder(uri, beside / str(at)) for at, uri in enumerate(dict.fromkeys(uris)))
    return {remote.path: remote for remote in remotes}


def _remote_of(folder: RunFolder, remotes: Mapping[Path, RemoteFolder]) -> RemoteFolder | None:
    """Where a run really is; None if it is a local one."""
    places = (folder.path, *folder.path.parents)
    return next((remotes[path] for path in places if path in remotes), None)


def _show(judged: Judged, remote: RemoteFolder | None, out: Console, *, is_verbose: bool) -> None:
    shown = str if remote is None else remote.shown
    if judged.verdict is None:
        say(f"{shown(str(judged.folder.path))}: {judged.error}")
        return
    show(judged.verdict, out, run=judged.folder.run(), is_verbose=is_verbose)
    if judged.verdict.unexpected and remote is None:
        first = judged.verdict.unexpected[0]
        path = as_word(judged.folder.path)
        line = pasted(f"fencepost explain {path} {first.check}:{first.number}")
        out.print(Text(f"explain: {line}"), soft_wrap=True)
    page = shown(str(judged.folder.report / "index.html"))
    out.print(Text(f"report: {page}"), soft_wrap=True)


def show_runs_of(
    path: Path, summary: NightSummary, judged: list[Judged], out: Console, *, is_verbose: bool
) -> None:
    """Print the verdicts of a night's runs that are not as its suite expects; of all if verbose."""
    for one in outputs_of_night(path, summary, judged):
        if one.verdict is not None and (is_verbose or one.outcome is not Outcome.EXPECTED):
            show(one.verdict, out, run=one.run, is_verbose=is_verbose)


def _judge_all(
    folders: list[tuple[RunFolder, bool]],
    spark: SparkContext | None,
    asked: Asked,
    remotes: Mapping[Path, RemoteFolder],
    progress: Console,
) -> tuple[SparkContext | None, list[tuple[Judged, bool]]]:
    """Judge runs in one Spark; if one can't be judged, the others are.

    Args:
        folders: with whether they are of a night.
        spark: None if it is not open yet.
        asked: how it is opened.
        remotes: those whose files are at a URI.
        progress: where to print it.

    Returns:
        Spark, None if there was nothing to judge, and the runs in the same order.
    """
    if not folders:
        return spark, []
    due = [
        Due(folder, _remote_of(folder, remotes)) for folder, _ in folders if not folder.is_removed
    ]
    judged = {folder: kept_verdict(folder) for folder, _ in folders if folder.is_removed}
    with PhaseProgress(progress) as phases:
        if judged:
            kept = with_noun(len(judged), "run")
            phases.phase(f"keeping the verdicts of {kept} whose raw data were removed")
        if spark is None:
            phases.phase("starting Spark")
            spark = asked.open()
        if due:
            judged |= _judge_in_tasks(spark, due, asked, phases)
    return spark, [(judged[folder], is_of_night) for folder, is_of_night in folders]


def _judge_in_tasks(
    spark: SparkContext, due: list[Due], asked: Asked, phases: PhaseProgress
) -> dict[RunFolder, Judged]:
    what = with_noun(len(due), "run")
    phases.phase(f"judging {what}, each in a task of Spark")
    at_once = min(len(due), cores_here()) if asked.master is None else asked.at_once
    reported = judge_in_tasks(
        spark,
        due,
        at_once=at_once,
        on_progress=lambda done: phases.phase(f"judged {done} of {what}"),
        on_wait=phases.phase,
    )
    return {one.folder: one for one in reported}


def _morning(store: str, path: Path, night: Night, known: Known | None) -> Morning | None:
    """What the store says of a night; None, with a message, if it can't be read."""
    try:
        folder = place(store)
        if known is None:
            known = known_beside(folder.parent) if isinstance(folder, Path) else Known(None)
        history = history_of(store, night=night_of(path), suite=night.suite, cluster=night.cluster)
    except FencepostError as error:
        say(f"{path}: the page has nothing of earlier nights: {error}")
        return None
    began = datetime.fromtimestamp(night.started_micros // MICROS_PER_SECOND, UTC)
    return morning(history, known, today=began.date()) if history.nights else None

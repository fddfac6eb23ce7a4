"""What runs were judged to be, and what is written of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir

from pyspark import SparkContext
from rich.console import Console
from rich.text import Text

from analysis.judging import kept_verdict
from analysis.report.commands import command_to_paste
from analysis.report.night_page import write_night
from analysis.report.night_rows import Judged, runs_of
from analysis.report.outputs import as_json, write_night_outputs, write_session_outputs
from analysis.report.run_output import outputs_of_night
from analysis.report.session_page import write_session
from analysis.report.terminal import show, show_night
from analysis.report.words import with_noun
from analysis.runs.remote import RemoteFolder
from analysis.store import night_of, store_of, write_store
from analysis.tasks import Due, cores_here, judge_in_tasks
from analysis.trends.history import history_of
from analysis.trends.morning import morning
from contract.errors import FencepostError
from contract.files import as_word, place
from contract.locks import HeldFolder, remove_unheld
from contract.nights import Known, Morning, Night, NightSummary, Outcome, known_beside, read_night
from contract.program import PhaseProgress, say
from contract.run_folder import RunFolder, find_runs
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import EXIT_CODES, RunVerdict

_PREFIX = "fencepost-remote-"
_NOT_DECODED = (
    "The tables at a URI are judged as they are. `fencepost analyze` decodes histories and logs "
    "again in local folders only."
)


@dataclass(frozen=True)
class Results:
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
        judged = [run for run in (*self.of_nights, *self.of_runs) if run.verdict is not None]
        if self.spark is None:
            return None
        try:
            write_store([(run, self._place(run)) for run in judged], store)
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
            own = [run for run in self.of_nights if path in run.folder.path.parents]
            self.summaries[path] = write_night(path, night, own, morning)
            write_night_outputs(path, self.summaries[path], own)

    def publish(self) -> None:
        """Write the reports of sessions and nights that are at a URI there."""
        for path, remote in self.remotes.items():
            remote.publish(path / "report")

    def _place(self, judged: Judged) -> str:
        path, remote = judged.folder.path, _remote_of(judged.folder, self.remotes)
        return str(path.absolute()) if remote is None else remote.with_uri(str(path))

    def show(self, out: Console, *, is_verbose: bool) -> None:
        """Print them."""
        for run in self.of_runs:
            _show(run, _remote_of(run.folder, self.remotes), out, is_verbose=is_verbose)
        for path, summary in self.summaries.items():
            show_runs_of(path, summary, self.of_nights, out, is_verbose=is_verbose)
            show_night(summary, out)

    def as_json(self) -> str:
        """All of it, as the command prints it."""
        return as_json(self.of_runs, list(self.summaries.items()))

    @property
    def exit_code(self) -> int:
        """The largest of a run that can't be judged; else fail before undecided before pass."""
        if codes := [run.exit_code for run in self.of_runs if run.exit_code]:
            return max(codes)
        verdicts = [run.verdict.verdict for run in self.of_runs if run.verdict is not None]
        verdicts += [summary.verdict for summary in self.summaries.values()]
        grave = (RunVerdict.FAIL, RunVerdict.UNDECIDED, RunVerdict.PASS)
        return EXIT_CODES[
            next((verdict for verdict in grave if verdict in verdicts), RunVerdict.PASS)
        ]


def judge(
    places: list[Path | str],
    spark: SparkContext | None,
    at_once: int | None,
    progress: Console,
    phases: PhaseProgress,
) -> Results:
    """Judge the runs at some places, and write all reports but those of nights.

    Args:
        places: folders and URIs.
        spark: None where no place has a run.
        at_once: the tasks of an executor at a time; 0: as many as it has cores; None: here, as many
            as there are runs and cores.
        progress: where to print what concerns the places.
        phases: where to show what is done.
    """
    remotes: dict[Path, RemoteFolder] = {}
    beside: HeldFolder | None = None
    if uris := [given for given in places if isinstance(given, str)]:
        remove_unheld(Path(gettempdir()), _PREFIX)
        beside = HeldFolder(Path(gettempdir()), _PREFIX)
        remotes = _fetch(uris, beside.path)
        progress.print(_NOT_DECODED, style="dim", soft_wrap=True)
    paths = [*(given for given in places if isinstance(given, Path)), *remotes]
    nights = {path: night for path in paths if (night := read_night(path)) is not None}
    of_nights = [(run, True) for path, night in nights.items() for run in runs_of(path, night)]
    of_sessions = [(run, False) for path in paths if path not in nights for run in find_runs(path)]
    judged = _judge_all([*of_nights, *of_sessions], spark, at_once, remotes, phases)
    of_runs = [run for run, is_of_night in judged if not is_of_night]
    in_nights = [run for run, is_of_night in judged if is_of_night]
    for path in paths:
        if path not in nights:
            own = [run for run in of_runs if path in (run.folder.path, *run.folder.path.parents)]
            write_session(path, own)
            write_session_outputs(path, own)
    return Results(of_runs, in_nights, nights, {}, remotes, beside, spark)


def _fetch(uris: Iterable[str], beside: Path) -> dict[Path, RemoteFolder]:
    """What is at URIs, by the local folders of its descriptions."""
    remotes = (RemoteFolder(uri, beside / str(at)) for at, uri in enumerate(dict.fromkeys(uris)))
    return {remote.path: remote for remote in remotes}


def _remote_of(folder: RunFolder, remotes: Mapping[Path, RemoteFolder]) -> RemoteFolder | None:
    """Where a run really is; None if it is a local one."""
    places = (folder.path, *folder.path.parents)
    return next((remotes[path] for path in places if path in remotes), None)


def _show(judged: Judged, remote: RemoteFolder | None, out: Console, *, is_verbose: bool) -> None:
    shown = str if remote is None else remote.with_uri
    if judged.verdict is None:
        say(f"{shown(str(judged.folder.path))}: {judged.error}")
        return
    show(judged.verdict, out, run=judged.folder.run(), is_verbose=is_verbose)
    if judged.verdict.unexpected and remote is None:
        first = judged.verdict.unexpected[0]
        path = as_word(judged.folder.path)
        line = command_to_paste(f"fencepost explain {path} {first.check}:{first.number}")
        out.print(Text(f"explain: {line}"), soft_wrap=True)
    page = shown(str(judged.folder.report / "index.html"))
    out.print(Text(f"report: {page}"), soft_wrap=True)


def show_runs_of(
    path: Path, summary: NightSummary, judged: list[Judged], out: Console, *, is_verbose: bool
) -> None:
    """Print the verdicts of a night's runs that are not as its suite expects; of all if verbose."""
    for output in outputs_of_night(path, summary, judged):
        if output.verdict is not None and (is_verbose or output.outcome is not Outcome.EXPECTED):
            show(output.verdict, out, run=output.run, is_verbose=is_verbose)


def _judge_all(
    folders: list[tuple[RunFolder, bool]],
    spark: SparkContext | None,
    at_once: int | None,
    remotes: Mapping[Path, RemoteFolder],
    phases: PhaseProgress,
) -> list[tuple[Judged, bool]]:
    """Judge runs in one Spark; if one can't be judged, the others are.

    Args:
        folders: with whether they are of a night.
        spark: None if there are none.
        at_once: as of `judge`.
        remotes: those whose files are at a URI.
        phases: where to show it.

    Returns:
        The runs in the same order.
    """
    due = [
        Due(folder, _remote_of(folder, remotes)) for folder, _ in folders if not folder.is_removed
    ]
    judged = {folder: kept_verdict(folder) for folder, _ in folders if folder.is_removed}
    if judged:
        kept = with_noun(len(judged), "run")
        phases.phase(f"keeping the verdicts of {kept} whose raw data were removed")
    if spark is not None and due:
        judged |= _judge_in_tasks(spark, due, at_once, phases)
    return [(judged[folder], is_of_night) for folder, is_of_night in folders]


def _judge_in_tasks(
    spark: SparkContext, due: list[Due], at_once: int | None, phases: PhaseProgress
) -> dict[RunFolder, Judged]:
    what = with_noun(len(due), "run")
    phases.phase(f"judging {what}, each in a task of Spark")
    reported = judge_in_tasks(
        spark,
        due,
        at_once=min(len(due), cores_here()) if at_once is None else at_once,
        on_progress=lambda done: phases.phase(f"judged {done} of {what}"),
        on_wait=phases.phase,
    )
    return {run.folder: run for run in reported}


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

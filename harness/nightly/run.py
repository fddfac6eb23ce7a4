"""Carries out the remaining runs of a night, one by one, and shows the progress."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean
from types import TracebackType
from typing import Self

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.text import Text

from cluster.kafka.own_jars import resolve
from contract.errors import NodeError, UsageError
from contract.nights import PlannedRun, RunStatus
from contract.program import limit_of
from harness.invocation import Session
from harness.nightly.state import HeldNight
from harness.nightly.suite import choice_of
from harness.session.catalog import find_scenarios
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root

RUNS = "runs"
DEFAULT_SECONDS = 120.0
"""The estimated time of a run whose scenario has not run before."""


@dataclass(frozen=True)
class Ended:
    """The end of a run: a folder that can be judged, or an error; both if a part is missing."""

    folder: Path | None
    exit_code: int | None = None
    error: str | None = None


Execute = Callable[[PlannedRun, Path], Ended]
"""Carries out a planned run below an empty folder."""


def run_remaining(
    night: HeldNight,
    execute: Execute,
    *,
    on_start: Callable[[PlannedRun], None],
    on_end: Callable[[PlannedRun], None],
    further: Iterable[PlannedRun] = (),
    earlier: Sequence[PlannedRun] = (),
    make_room: Callable[[], str | None] = lambda: None,
) -> None:
    """Carry out all remaining runs in order; each is recorded before the next one begins.

    An interrupted run starts again in an empty folder. An exception of `execute` ends the night
    here, and the next invocation continues with the same run. In a night of some hours a run begins
    only if its estimated time is left; one that was interrupted starts again in any case.

    Args:
        night: whose runs they are.
        execute: carries one out.
        on_start: called before each run.
        on_end: called after each run, and with each that is omitted.
        further: all runs that may follow in a night of some hours, from its first.
        earlier: runs of earlier nights, for the estimate.
        make_room: makes room on the disk before a run; returns what is lacking then.
    """

    def lacking(run: PlannedRun) -> str | None:
        return _lacking_time(night, run, earlier) or _lacking_room(night, make_room)

    for run in _due(night, further, lacking, on_end):
        folder = night.path / RUNS / run.id
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        night.update(msgspec.structs.replace(run, status=RunStatus.RUNNING))
        on_start(run)
        began = time.monotonic()
        ended = execute(run, folder)
        done = msgspec.structs.replace(
            run,
            status=RunStatus.DONE,
            folder=None if ended.folder is None else str(ended.folder.relative_to(night.path)),
            exit_code=ended.exit_code,
            error=ended.error,
            seconds=round(time.monotonic() - began, 1),
        )
        night.update(done)
        night.count_time()
        on_end(done)


def _due(
    night: HeldNight,
    further: Iterable[PlannedRun],
    lacking: Callable[[PlannedRun], str | None],
    on_omitted: Callable[[PlannedRun], None],
) -> Iterator[PlannedRun]:
    """Yield the runs that begin: what does not fit is omitted, and ends the further ones."""
    for run in night.remaining:
        if (lack := lacking(run)) is None:
            yield run
        else:
            omitted = msgspec.structs.replace(run, status=RunStatus.OMITTED, error=lack)
            night.update(omitted)
            on_omitted(omitted)
    begun = {run.id for run in night.state.runs}
    for run in further:
        if run.id not in begun:
            if lacking(run) is not None:
                return
            night.add(run)
            yield run


def _lacking_room(night: HeldNight, make_room: Callable[[], str | None]) -> str | None:
    """Say what room a run lacks on the disk, and note it in the night; None if there is room."""
    lack = make_room()
    night.stop("" if lack is None else f"No further run began: {lack}.")
    return None if lack is None else f"it never ran: {lack}"


def _lacking_time(night: HeldNight, run: PlannedRun, earlier: Sequence[PlannedRun]) -> str | None:
    """Say what time a run lacks, so that it can't begin; None if it can."""
    if run.status is RunStatus.RUNNING:
        return None
    known = [other for other in (*earlier, *night.state.runs) if other.scenario == run.scenario]
    found = remaining_seconds([run], known)
    estimate = DEFAULT_SECONDS if found is None else found
    if estimate <= night.left_seconds:
        return None
    left = max(night.left_seconds, 0.0)
    return (
        f"it never ran: about {duration(estimate)} were needed, and {duration(left)} were left of "
        f"--hours {night.state.hours:g}"
    )


def execute_in_ducktape(
    run: PlannedRun,
    folder: Path,
    *,
    results: Path,
    session: Session,
    on_phase: Callable[[str], None],
) -> Ended:
    """Run one scenario as `fencepost run` does; a failed start is recorded, not raised.

    Args:
        run: the planned run.
        folder: the folder of ducktape's session.
        results: the folder whose `.nodes` the nodes use, so that the next session removes leftovers
            of a kill.
        session: of the night; seed and Kafka version are the run's.
        on_phase: called with each phase.

    Raises:
        UsageError: own jars have changed since the run was planned.
    """
    build = resolve(choice_of(run))
    if build.note != run.build:
        raise UsageError(
            f"the jars of {run.id} have changed since the night began: they were {run.build}, and "
            f"are {build.note}. Start another one with --fresh"
        )
    mine = msgspec.structs.replace(session, seed=run.seed, kafka=run.kafka, build=build)
    try:
        with node_root(results) as root:
            ended = run_ducktape(
                find_scenarios([run.scenario]),
                mine,
                results=folder,
                root=root,
                on_phase=on_phase,
                parameters=run.parameters,
            )
    except (NodeError, UsageError) as error:
        return Ended(folder=None, error=str(error))
    missing = "; ".join(ended.dropped) or None
    return Ended(folder=ended.folder, exit_code=ended.exit_code, error=missing)


def remaining_seconds(runs: Sequence[PlannedRun], known: Iterable[PlannedRun]) -> float | None:
    """Estimate the time of runs in seconds from earlier runs; None without data.

    The estimate of a run is the mean of its scenario and version, else of its scenario, else of
    all.
    """
    done = [run for run in known if run.seconds is not None]
    likeness: tuple[Callable[[PlannedRun, PlannedRun], bool], ...] = (
        lambda a, b: (a.scenario, a.parameters, a.kafka) == (b.scenario, b.parameters, b.kafka),
        lambda a, b: a.scenario == b.scenario,
        lambda _a, _b: True,
    )
    total = 0.0
    for run in runs:
        for is_alike in likeness:
            seconds = [other.seconds or 0.0 for other in done if is_alike(run, other)]
            if seconds:
                total += mean(seconds)
                break
        else:
            return None
    return total


class NightProgress(AbstractContextManager["NightProgress"]):
    """A live line on a terminal, and one plain line per run, also without a terminal."""

    def __init__(
        self, console: Console, runs: Sequence[PlannedRun], earlier: Sequence[PlannedRun]
    ) -> None:
        """`earlier` has runs of other nights, for the estimate."""
        self._console = console
        self._runs = {run.id: run for run in runs}
        self._earlier = earlier
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            Elapsed(),
            TextColumn("{task.fields[estimate]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        done = sum(run.is_over for run in runs)
        self._task = self._bar.add_task(
            "", total=len(runs), completed=done, estimate=self._estimate()
        )
        self._title = ""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the live line."""
        self._bar.stop()

    def __enter__(self) -> Self:
        """Show the live line."""
        self._bar.start()
        return self

    def start(self, run: PlannedRun) -> None:
        """Note that a run begins."""
        self._runs[run.id] = run
        self._bar.update(self._task, total=len(self._runs))
        self._title = f"{run.scenario} {run.kafka}"
        self._bar.update(self._task, description=self._title, estimate=self._estimate())

    def phase(self, name: str) -> None:
        """Show the current run's phase, with its limit."""
        limit = limit_of(name)
        at_most = "" if limit is None else f" (at most {limit} s)"
        self._bar.update(self._task, description=f"{self._title}: {name}{at_most}")

    def end(self, run: PlannedRun) -> None:
        """Print that a run ended, or is omitted."""
        self._runs[run.id] = run
        done = sum(other.is_over for other in self._runs.values())
        self._bar.update(self._task, completed=done, estimate=self._estimate())
        is_lost = run.error is not None and run.folder is None
        how = f"ended in {duration(run.seconds or 0.0)}"
        if run.status is RunStatus.OMITTED:
            how = f"omitted: {run.error}"
        elif is_lost:
            how = "ended without a run folder"
        line = f"{done}/{len(self._runs)} {run.scenario} {run.kafka}, seed {run.seed}: {how}"
        self._console.print(Text(line), style="dim", soft_wrap=True)

    def _estimate(self) -> str:
        runs = self._runs.values()
        left = [run for run in runs if not run.is_over]
        seconds = remaining_seconds(left, [*self._earlier, *runs])
        return "" if seconds is None or not left else f"about {duration(seconds)} remaining"


def duration(seconds: float) -> str:
    """Return a time as h:mm:ss."""
    return str(timedelta(seconds=round(seconds)))

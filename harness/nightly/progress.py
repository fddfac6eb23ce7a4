"""The progress of a night: run, phase, elapsed and remaining time."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from statistics import mean
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.text import Text

from contract.nights import PlannedRun, RunStatus
from contract.progress import limit_of


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
        done = sum(run.status is RunStatus.DONE for run in runs)
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
        self._title = f"{run.scenario} {run.kafka}"
        self._bar.update(self._task, description=self._title, estimate=self._estimate())

    def phase(self, name: str) -> None:
        """Show the current run's phase, with its limit."""
        limit = limit_of(name)
        at_most = "" if limit is None else f" (at most {limit} s)"
        self._bar.update(self._task, description=f"{self._title}: {name}{at_most}")

    def end(self, run: PlannedRun) -> None:
        """Print that a run ended."""
        self._runs[run.id] = run
        done = sum(other.status is RunStatus.DONE for other in self._runs.values())
        self._bar.update(self._task, completed=done, estimate=self._estimate())
        is_lost = run.error is not None and run.folder is None
        how = "without a run folder" if is_lost else f"in {duration(run.seconds or 0.0)}"
        line = f"{done}/{len(self._runs)} {run.scenario} {run.kafka}, seed {run.seed}: ended {how}"
        self._console.print(Text(line), style="dim", soft_wrap=True)

    def _estimate(self) -> str:
        runs = self._runs.values()
        left = [run for run in runs if run.status is not RunStatus.DONE]
        seconds = remaining_seconds(left, [*self._earlier, *runs])
        return "" if seconds is None or not left else f"about {duration(seconds)} remaining"


def duration(seconds: float) -> str:
    """Return a time as h:mm:ss."""
    return str(timedelta(seconds=round(seconds)))

"""The progress of a run, one line a phase: with elapsed time and limit, then with its duration."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from contract.stages import PHASE_LIMIT_SECONDS, Stage

_LIMITS: Mapping[str, int] = {str(stage): seconds for stage, seconds in PHASE_LIMIT_SECONDS.items()}


def limit_of(phase: str) -> int | None:
    """How many seconds a phase of a run may take; None for what is no stage of a run."""
    return _LIMITS.get(phase.partition(":")[0])


class PhaseProgress(AbstractContextManager["PhaseProgress"]):
    """Shows phases as they begin.

    On a terminal the current phase is a live line, and remains as a plain one with its time.
    Elsewhere each phase is one plain line when it begins, with the seconds since the start and the
    limit, so that a log of an interrupted run shows where it was.
    """

    def __init__(
        self,
        console: Console,
        *,
        runs: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show phases on a console.

        Args:
            console: of standard error.
            runs: how many runs are to come; several are numbered.
            clock: in seconds.
        """
        self._console = console
        self._runs, self._run = runs, 0
        self._clock = clock
        self._started = self._began = clock()
        self._phase = ""
        self._line = Progress(
            SpinnerColumn(),
            _Elapsed(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            get_time=clock,
        )
        self._task = self._line.add_task("", start=False, visible=False, limit=None)

    def __enter__(self) -> Self:
        """Show the live line."""
        self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the current phase, and remove the live line."""
        self._end()
        self._line.stop()

    def phase(self, phase: str) -> None:
        """End the current phase and begin one."""
        self._end()
        if self._runs > 1 and phase.partition(":")[0] == Stage.STARTING and not self._is_starting():
            self._run += 1
            self._print(f"run {self._run} of {self._runs}")
        self._phase, self._began = phase, self._clock()
        limit = limit_of(phase)
        if self._console.is_terminal:
            self._line.reset(self._task, description=phase, visible=True, limit=limit)
        else:
            at_most = "" if limit is None else f" (at most {limit} s)"
            self._print(f"{self._began - self._started:6.1f} s  {phase}{at_most}")

    def _is_starting(self) -> bool:
        return self._phase.partition(":")[0] == Stage.STARTING

    def _end(self) -> None:
        if self._phase and self._console.is_terminal:
            self._line.update(self._task, visible=False, refresh=True)
            self._print(f"{self._clock() - self._began:6.1f} s  {self._phase}")

    def _print(self, line: str) -> None:
        self._console.print(Text(line), style="dim", soft_wrap=True)


class _Elapsed(ProgressColumn):
    """The time of the current phase, and its limit."""

    def render(self, task: Task) -> Text:
        """In seconds; yellow where the limit has passed."""
        elapsed = task.elapsed or 0.0
        limit: int | None = task.fields["limit"]
        if limit is None:
            return Text(f"{elapsed:4.0f} s")
        return Text(f"{elapsed:4.0f} of {limit} s", style="yellow" if elapsed > limit else "")

"""Runs of one scenario one after the other, each judged at once, by one process for all."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import TracebackType

import msgspec

from cluster.nodes.tether import tether_command
from contract.errors import (
    AnalysisError,
    InterruptError,
)
from contract.packages import python
from contract.processes import Child
from contract.run_folder import SEED_BITS, RunFolder, find_runs
from harness.invocation import Session
from harness.session.catalog import find_scenarios
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root

_WHAT = "the analysis of the series"


def seeds(seed: int) -> Iterator[int]:
    """The seeds of the runs of a series, without end: the same ones for the same seed."""
    random = Random(seed)
    while True:
        yield random.getrandbits(SEED_BITS)


class Judge(AbstractContextManager["Judge"]):
    """The analysis of the runs of a series, which waits while the next one runs."""

    def __init__(self, home: Path, *, store: Path | None = None) -> None:
        """`home`: the folder of the series. `store`: as of `fencepost analyze`."""
        named = [] if store is None else ["--store", str(store)]
        command = tether_command(python("analysis.series", *named, "--", str(home)))
        self._child = Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def judge(self, run: Path, *, problem: str = "") -> str:
        """Judge a run; returns why it could not be judged, or nothing.

        Args:
            run: its folder.
            problem: why there is no run in it; the page of all names it.

        Raises:
            AnalysisError: the process has ended.
        """
        process = self._child.process
        if process.stdin is None or process.stdout is None:
            raise AnalysisError(f"{_WHAT} has no pipes")
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps([str(run), problem]).encode() + b"\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise AnalysisError(f"{_WHAT} ended before its time: the runs are kept")
        unjudged: str = json.loads(answer)
        return unjudged

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let it write the page and the store of all; after an error, end it.

        Raises:
            AnalysisError: it could not.
        """
        if error is not None:
            self._child.end()
        elif (process := self._child.process).stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.close()
            if status := self._child.finish(what=_WHAT):
                raise AnalysisError(f"{_WHAT} ended with status {status}")


@dataclass(frozen=True)
class Runs:
    """Where runs of one scenario are carried out one after the other, and on what.

    Attributes:
        home: an absolute folder for all runs.
        results: the folder whose `.nodes` the nodes use.
        session: its seed is that of each run.
        judge: of the runs.
        on_phase: called with each phase.
    """

    home: Path
    results: Path
    session: Session
    judge: Judge
    on_phase: Callable[[str], None] = lambda _: None

    def empty_folder(self, name: str) -> Path:
        """Return a folder of a name, without what an earlier run left there."""
        folder = self.home / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def run(
        self, scenario: str, folder: Path, *, seed: int, parameters: dict[str, str]
    ) -> RunFolder:
        """Run a scenario once; returns the run, which is not judged yet.

        Raises:
            KeyboardInterrupt: it was interrupted, which ends the series.
        """
        with node_root(self.results) as root:
            try:
                ended = run_ducktape(
                    find_scenarios([scenario]),
                    msgspec.structs.replace(self.session, seed=seed),
                    results=folder,
                    root=root,
                    on_phase=self.on_phase,
                    parameters=parameters,
                )
            except InterruptError:
                raise KeyboardInterrupt from None
        return find_runs(ended.folder)[0]

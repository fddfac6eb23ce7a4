"""Carries out plans one after the other, each judged at once, by one process for all."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import msgspec

from cluster.nodes.tether import tethered
from contract.child import Child
from contract.described import read_described
from contract.errors import (
    AnalysisError,
    FencepostError,
    InterruptError,
    RunFolderError,
    StorageError,
)
from contract.findings import read_violations
from contract.python import python
from contract.regular_files import replace_file
from contract.run_folder import RunFolder, find_runs
from contract.verdicts import RunVerdict, Verdict
from harness.invocation import Session
from harness.plans.plan import PLAN_FILE, RandomPlan, written
from harness.session.catalog import find_scenarios
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root

SCENARIO = "random"
_WHAT = "the analysis of the series"
_VERDICT_FILE = "verdict.json"


class Found(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Violations that the plan's run does not expect: all of a kind, of one group."""

    check: str
    kind: str
    group: str = ""
    client: str = ""

    def __str__(self) -> str:
        """Return the finding as commands name it, with its kind."""
        of = f":{self.group}" if self.group else ""
        return f"{self.check}{of} ({self.kind})"


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """The run of a plan.

    folder: of the run, relative to that of the series; empty if there is none.
    verdict: undecided if it was not judged.
    problem: why it was not, or is undecided.
    """

    folder: str
    verdict: RunVerdict
    found: list[Found]
    seconds: float
    problem: str = ""


class Judge(AbstractContextManager["Judge"]):
    """The analysis of the runs of a series, which waits while the next one runs."""

    def __init__(self, home: Path, *, store: Path | None = None) -> None:
        """`home`: the folder of the series. `store`: as of `fencepost analyze`."""
        named = [] if store is None else ["--store", str(store)]
        command = tethered(python("analysis.series", *named, "--", str(home)))
        self._child = Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def judge(self, run: Path) -> str:
        """Judge a run; returns why it could not be judged, or nothing.

        Raises:
            AnalysisError: the process has ended.
        """
        process = self._child.process
        if process.stdin is None or process.stdout is None:
            raise AnalysisError(f"{_WHAT} has no pipes")
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(str(run)).encode() + b"\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise AnalysisError(f"{_WHAT} ended before its time: the runs are kept")
        problem: str = json.loads(answer)
        return problem

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

    def emptied(self, name: str) -> Path:
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


class Series(Runs):
    """Carries out plans, which are kept beside their runs."""

    def carry_out(self, plan: RandomPlan, name: str) -> Carried:
        """Carry out a plan in an empty folder of a name; a failure is reported, and not raised."""
        folder = self.emptied(name)
        file = folder / PLAN_FILE
        replace_file(file, written(plan))
        began = time.monotonic()
        run, verdict, found, problem = "", RunVerdict.UNDECIDED, list[Found](), ""
        try:
            path = self._run(plan, file, folder)
            run = str(path.relative_to(self.home))
            problem = self.judge.judge(path) or ""
            if not problem:
                verdict, found, problem = judged(RunFolder(path))
        except (AnalysisError, StorageError):
            raise
        except FencepostError as error:
            problem = str(error)
        return Carried(
            folder=run,
            verdict=verdict,
            found=found,
            seconds=round(time.monotonic() - began, 1),
            problem=problem.partition("\n")[0],
        )

    def _run(self, plan: RandomPlan, file: Path, folder: Path) -> Path:
        run = self.run(SCENARIO, folder, seed=plan.seed, parameters={"plan": str(file)}).path
        carried_out = run / PLAN_FILE
        if not carried_out.is_file() or carried_out.read_bytes() != written(plan):
            raise RunFolderError(f"{run} is no run of the plan {file}, so it says nothing of it")
        return run


def judged(folder: RunFolder) -> tuple[RunVerdict, list[Found], str]:
    """The verdict of a run, the violations that it does not expect, and why it is undecided.

    Raises:
        RunFolderError: its report is damaged.
    """
    verdict = read_described(folder.report / _VERDICT_FILE, Verdict)
    places = {(one.check, one.group) for one in verdict.unexpected}
    found = {
        Found(check=one.check, kind=one.kind, group=one.group or "", client=one.client or "")
        for one in read_violations(folder)
        if (one.check, one.group) in places
    }
    why = verdict.doubts[0] if verdict.doubts else ""
    return verdict.verdict, sorted(found), why if verdict.verdict is RunVerdict.UNDECIDED else ""

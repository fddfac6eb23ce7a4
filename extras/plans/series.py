"""Carries out plans one after the other, each judged at once."""

import time
from pathlib import Path

import msgspec

from contract.errors import AnalysisError, FencepostError, RunFolderError, StorageError
from contract.files import read_described, replace_file
from contract.run_folder import RunFolder
from contract.verdicts import RunVerdict, Verdict, read_violations
from extras.plans.plan import PLAN_FILE, RandomPlan, plan_as_json
from harness.session.series import Runs

SCENARIO = "random"
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
        return f"{self.check}{of} (kind: {self.kind})"


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


class Series(Runs):
    """Carries out plans, which are kept beside their runs."""

    def carry_out(self, plan: RandomPlan, name: str) -> Carried:
        """Carry out a plan in an empty folder of a name; a failure is reported, and not raised."""
        folder = self.empty_folder(name)
        file = folder / PLAN_FILE
        replace_file(file, plan_as_json(plan))
        began = time.monotonic()
        run, verdict, found, problem = "", RunVerdict.UNDECIDED, list[Found](), ""
        try:
            path = self._run(plan, file, folder)
            run = str(path.relative_to(self.home))
            problem = self.judge.judge(path) or ""
            if not problem:
                verdict, found, problem = verdict_of(RunFolder(path))
        except (AnalysisError, StorageError):
            raise
        except FencepostError as error:
            problem = str(error)
            if not run:
                self.judge.judge(folder, problem=problem.partition("\n")[0])
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
        if not carried_out.is_file() or carried_out.read_bytes() != plan_as_json(plan):
            raise RunFolderError(f"{run} is no run of the plan {file}, so it says nothing of it")
        return run


def verdict_of(folder: RunFolder) -> tuple[RunVerdict, list[Found], str]:
    """The verdict of a run, the violations that it does not expect, and why it is undecided.

    Raises:
        RunFolderError: its report is damaged.
    """
    verdict = read_described(folder.report / _VERDICT_FILE, Verdict)
    places = {(entry.check, entry.group) for entry in verdict.unexpected}
    found = {
        Found(
            check=violation.check,
            kind=violation.kind,
            group=violation.group or "",
            client=violation.client or "",
        )
        for violation in read_violations(folder)
        if (violation.check, violation.group) in places
    }
    why = verdict.doubts[0] if verdict.doubts else ""
    return verdict.verdict, sorted(found), why if verdict.verdict is RunVerdict.UNDECIDED else ""

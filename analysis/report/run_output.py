"""A run as the outputs for machines show it (docs/outputs.md)."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.report.matrix import row_name
from analysis.report.night_rows import Judged, outcome_of
from contract.errors import RunFolderError
from contract.files import printable
from contract.nights import NightRow, NightSummary, Outcome
from contract.run_folder import RunDescription
from contract.verdicts import RunVerdict, Verdict

NOT_JUDGED = "the run was not judged"


@dataclass(frozen=True)
class RunOutput:
    """One run.

    Attributes:
        name: its scenario, parameters and Kafka version; in a night also its repeat.
        scenario: its name alone.
        verdict: None where the run could not be judged.
        error: why it could not be judged; why the scenario did not finish.
        expect: the verdict that its suite expects; pass outside of a suite.
        outcome: its verdict against that.
        run: None where it can't be read.
        page: the path of its page, from the folder of the output; empty without one.
        rerun: the command that repeats it; empty where it is not known.
        known: the reasons of its findings in known.yml, if it has no others.
    """

    name: str
    scenario: str
    verdict: Verdict | None
    error: str | None
    expect: RunVerdict
    outcome: Outcome
    run: RunDescription | None
    page: str
    rerun: str
    known: tuple[str, ...] = ()

    @property
    def word(self) -> RunVerdict:
        """The verdict; undecided where there is none."""
        return RunVerdict.UNDECIDED if self.verdict is None else self.verdict.verdict

    @property
    def seconds(self) -> float | None:
        """How long the run took; None where it is not known."""
        return None if self.run is None else self.run.seconds


def output_of(judged: Judged, report: Path) -> RunOutput:
    """A run outside of a night."""
    run = _description_of(judged)
    verdict = judged.verdict
    error = judged.error if verdict is None else (run.error if run else None)
    scenario = (
        verdict.scenario
        if verdict
        else (run.scenario if run else printable(judged.folder.path.name))
    )
    named = row_name(scenario, verdict.parameters if verdict else {})
    kafka = run.on if run else (verdict.on if verdict else "")
    word = RunVerdict.UNDECIDED if verdict is None else verdict.verdict
    return RunOutput(
        name=f"{named}, Kafka {kafka}" if kafka else named,
        scenario=scenario,
        verdict=verdict,
        error=error or (NOT_JUDGED if verdict is None else None),
        expect=RunVerdict.PASS,
        outcome=outcome_of(word, expect=RunVerdict.PASS, error=error),
        run=run,
        page=printable(os.path.relpath(judged.folder.report / "index.html", report))
        if verdict
        else "",
        rerun=run.rerun if run else "",
    )


def named_apart(outputs: Iterable[RunOutput]) -> list[RunOutput]:
    """Runs with different names: the second of a name is `NAME, #2`."""
    seen: Counter[str] = Counter()
    apart = []
    for output in outputs:
        seen[output.name] += 1
        count = seen[output.name]
        apart.append(output if count == 1 else replace(output, name=f"{output.name}, #{count}"))
    return apart


def outputs_of_night(
    path: Path, summary: NightSummary, judged: Iterable[Judged]
) -> list[RunOutput]:
    """The runs of a night, in its order; also those that have no run folder."""
    known = {
        os.path.relpath(run.folder.report / "index.html", path): run
        for run in judged
        if run.verdict is not None
    }
    return [_of_row(row, known.get(row.report or ""), path) for row in summary.runs]


def _of_row(row: NightRow, judged: Judged | None, path: Path) -> RunOutput:
    return RunOutput(
        name=row.key,
        scenario=row.scenario,
        verdict=None if judged is None else judged.verdict,
        error=row.error or (NOT_JUDGED if judged is None else None),
        expect=row.expect,
        outcome=row.outcome,
        run=None if judged is None else _description_of(judged),
        page="" if row.report is None else os.path.relpath(path / row.report, path / "report"),
        rerun=row.rerun,
        known=tuple(row.known),
    )


def _description_of(judged: Judged) -> RunDescription | None:
    try:
        return judged.folder.run()
    except RunFolderError:
        return None

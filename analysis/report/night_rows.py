"""A night's runs against what its suite expects."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import RunFolderError
from contract.files import is_below
from contract.nights import (
    NIGHT_FILE,
    CheckCount,
    FindingState,
    Morning,
    Night,
    NightRow,
    Outcome,
    PlannedRun,
    RunStatus,
    TrackedFinding,
    lasting_parameters,
)
from contract.run_folder import RunFolder, find_runs, has_runs
from contract.tables import MICROS_PER_SECOND
from contract.terms import Check
from contract.verdicts import RunVerdict, Verdict

_NOTHING: dict[str, Any] = {"verdict": RunVerdict.UNDECIDED, "checks": {}, "report": None}


@dataclass(frozen=True)
class Judged:
    """One run folder and its verdict; without one, `error` says why it can't be judged.

    exit_code: that of the error; 0 without one.
    """

    folder: RunFolder
    verdict: Verdict | None
    error: str | None = None
    exit_code: int = 0


def runs_of(path: Path, night: Night) -> list[RunFolder]:
    """The folders of a night's runs that are done and still there; none that was interrupted.

    Raises:
        RunFolderError: one of them is outside of the night's folder.
    """
    done = [path / run.folder for run in night.runs if run.folder is not None]
    if outside := [folder for folder in done if not is_below(folder, path)]:
        raise RunFolderError(
            f"{path / NIGHT_FILE} names {outside[0]}, which is outside of the night: name "
            "the run's own folder instead"
        )
    left = [folder for folder in done if has_runs(folder)]
    return [run for folder in left for run in find_runs(folder)]


def rows_of(path: Path, night: Night, judged: list[Judged]) -> list[NightRow]:
    """One row a run, in the night's order; what was never judged is undecided, never left out."""
    rows: list[NightRow] = []
    for planned in night.runs:
        mine = [run for run in judged if _belongs(path, planned, run)]
        added = [_row(path, planned, run) for run in mine]
        if not added:
            added = [_row_without_verdict(planned, _why_nothing(planned))]
        elif planned.error is not None:
            added.append(_row_without_verdict(planned, planned.error))
        elif planned.exit_code and all(row.outcome is Outcome.EXPECTED for row in added):
            why = f"ducktape ended with {planned.exit_code}: see ducktape.log for what did not run"
            added.append(_row_without_verdict(planned, why))
        rows += added
    return rows


def with_known(rows: Iterable[NightRow], morning: Morning) -> list[NightRow]:
    """Rows in which a run that fails by known findings only is known.

    A known finding that became more frequent counts as if it were not known.
    """
    found: dict[str, list[TrackedFinding]] = {}
    for finding in morning.findings:
        for sighting in finding.sightings:
            found.setdefault(sighting.run, []).append(finding)
    return [_with_known(row, found) for row in rows]


def _with_known(row: NightRow, found: dict[str, list[TrackedFinding]]) -> NightRow:
    here = found.get(str(Path(row.report or "").parent.parent), [])
    is_unexpected = row.outcome is Outcome.UNEXPECTED and row.expect is RunVerdict.PASS
    are_known = all(
        finding.state is FindingState.KNOWN and not finding.is_worse for finding in here
    )
    if not (is_unexpected and here and are_known):
        return row
    reasons = [f"{finding.check}: {finding.reason} ({finding.link})" for finding in here]
    return msgspec.structs.replace(row, outcome=Outcome.KNOWN, known=list(dict.fromkeys(reasons)))


def decide_night(rows: list[NightRow]) -> RunVerdict:
    """The worst of all: fail for what is unexpected, before undecided, before pass.

    A night that omitted a run of its suite is undecided.
    """
    outcomes = {row.outcome for row in rows}
    if Outcome.UNEXPECTED in outcomes:
        return RunVerdict.FAIL
    is_open = outcomes & {Outcome.UNDECIDED, Outcome.OMITTED}
    return RunVerdict.UNDECIDED if is_open else RunVerdict.PASS


def unexercised_checks(rows: list[NightRow]) -> list[str]:
    """The checks that no run really exercised: none had a case in which they could have failed."""
    cases: Counter[str] = Counter()
    for row in rows:
        cases.update({name: check.exercised for name, check in row.checks.items()})
    judging = (Check.VACUOUS_CHECK, Check.RESUMPTION)
    return sorted(name for name, exercised in cases.items() if not exercised if name not in judging)


def outcome_of(verdict: RunVerdict, *, expect: RunVerdict, error: str | None) -> Outcome:
    """Compare a verdict with the expected one.

    A run that ended with an error is undecided even if its verdict is the expected one: a canary
    has to finish.
    """
    if verdict is RunVerdict.UNDECIDED or (verdict is expect and error is not None):
        return Outcome.UNDECIDED
    return Outcome.EXPECTED if verdict is expect else Outcome.UNEXPECTED


def _belongs(path: Path, planned: PlannedRun, judged: Judged) -> bool:
    return planned.folder is not None and path / planned.folder in judged.folder.path.parents


def _row(path: Path, planned: PlannedRun, judged: Judged) -> NightRow:
    if judged.verdict is None:
        return _row_without_verdict(planned, judged.error or "the run was not judged")
    run = judged.folder.run()
    seconds = planned.seconds
    if run.ended_micros is not None:
        seconds = round((run.ended_micros - run.started_micros) / MICROS_PER_SECOND, 1)
    return NightRow(
        id=planned.id,
        scenario=planned.scenario,
        parameters=lasting_parameters(judged.verdict.parameters or planned.parameters),
        kafka=planned.kafka,
        build=planned.build,
        seed=planned.seed,
        repeat=planned.repeat,
        expect=planned.expect,
        verdict=judged.verdict.verdict,
        outcome=outcome_of(judged.verdict.verdict, expect=planned.expect, error=run.error),
        seconds=seconds,
        checks={
            name: CheckCount(
                verdict=result.verdict, findings=result.findings, exercised=result.exercised
            )
            for name, result in judged.verdict.checks.items()
        },
        report=str((judged.folder.report / "index.html").relative_to(path)),
        error=run.error,
        rerun=planned.rerun,
    )


def _row_without_verdict(planned: PlannedRun, error: str) -> NightRow:
    return NightRow(
        id=planned.id,
        scenario=planned.scenario,
        parameters=lasting_parameters(planned.parameters),
        kafka=planned.kafka,
        build=planned.build,
        seed=planned.seed,
        repeat=planned.repeat,
        expect=planned.expect,
        outcome=(Outcome.OMITTED if planned.status is RunStatus.OMITTED else Outcome.UNDECIDED),
        seconds=planned.seconds,
        error=error,
        rerun=planned.rerun,
        **_NOTHING,
    )


def _why_nothing(planned: PlannedRun) -> str:
    if planned.error is not None:
        return planned.error
    if planned.status is RunStatus.DONE:
        return "the run left no run folder"
    return "the run has not started: the night was interrupted"

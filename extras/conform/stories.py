"""Stories of the scenario conformance: each is carried out, judged at once, and kept."""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from contract.errors import AnalysisError, FencepostError, StorageError
from contract.files import read_described
from contract.nights import write_atomically
from contract.run_folder import Plan, RunFolder
from contract.terms import Check
from contract.verdicts import Finding, Verdict, read_violations
from extras.conform.vocabulary import (
    CONTROL,
    SCENARIO,
    Cell,
    Hazard,
    Reader,
    not_evaluable,
    readers_of,
)
from extras.conform.vocabulary import without_control as evaluable
from harness.session.series import Runs

STORIES_FILE = "stories.json"
_STEP = "could not "
_NOT_CLOSED = "could not close worker "
"""How a run's error begins that is of a step at its end, and of a client that can't be closed."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A story that was carried out.

    readers: as the parameter of the scenario has them, the control among them.
    date: on which it began, in UTC.
    versions: of the clients, as their workers reported them.
    folder: of the run, relative to that of all stories; empty if there is none.
    rerun: the command that repeats it.
    notes: why a client took no further part, and other notes of the story.
    problem: why its cells are not evaluable; empty if they are.
    """

    hazard: str
    readers: str
    seed: int
    kafka: str
    cells: list[Cell]
    date: str = ""
    versions: dict[str, str] = {}
    folder: str = ""
    rerun: str = ""
    notes: list[str] = []
    problem: str = ""
    seconds: float


class Stories(Runs):
    """Carries out stories of the scenario conformance."""

    def carry_out(self, hazard: Hazard, readers: Sequence[Reader], *, seed: int, name: str) -> Told:
        """Carry out a story of readers and the control, in an empty folder of a name.

        A story that does not come to its end is reported, and not raised: its cells are not
        evaluable.
        """
        folder = self.empty_folder(name)
        every = list(dict.fromkeys([Reader(client=CONTROL), *readers]))
        text = ",".join(map(str, every))
        told = Told(
            hazard=hazard,
            readers=text,
            seed=seed,
            kafka=self.session.kafka,
            cells=not_evaluable(hazard, every, "the story did not come to its end"),
            date=datetime.now(UTC).date().isoformat(),
            seconds=0.0,
        )
        began = time.monotonic()
        try:
            parameters = {"hazard": told.hazard, "readers": told.readers}
            run = self.run(SCENARIO, folder, seed=seed, parameters=parameters)
            told = msgspec.structs.replace(told, folder=str(run.path.relative_to(self.home)))
            told = self._with_verdict(told, run)
        except (AnalysisError, StorageError):
            raise
        except FencepostError as error:
            problem = str(error).partition("\n")[0]
            told = msgspec.structs.replace(
                told, problem=problem, cells=not_evaluable(hazard, every, problem)
            )
        return msgspec.structs.replace(told, seconds=round(time.monotonic() - began, 1))

    def _with_verdict(self, told: Told, run: RunFolder) -> Told:
        problem = self.judge.judge(run.path)
        described = run.run()
        told = msgspec.structs.replace(told, versions=described.clients, rerun=described.rerun)
        readers = readers_of(told.readers)
        if not problem:
            verdict = read_described(run.report / "verdict.json", Verdict)
            told = msgspec.structs.replace(told, notes=[note.text for note in verdict.notes])
            problem = _problem(described.error, verdict)
            ended = verdict.checks.get(Check.FAILED_CLIENT)
            found = [*read_violations(run), *([] if ended is None else ended.examples)]
            cells = with_causes(msgspec.convert(verdict.cells, list[Cell]), run.plan(), found)
            cells = evaluable(cells, CONTROL)
        if problem:
            problem = problem.partition("\n")[0]
            cells = not_evaluable(told.hazard, readers, problem)
        return msgspec.structs.replace(told, cells=cells, problem=problem)


def with_causes(cells: Iterable[Cell], plan: Plan, found: Iterable[Finding]) -> list[Cell]:
    """Return cells with the first finding of each check that is of their groups."""
    first: dict[str | None, dict[str, str]] = {}
    for finding in found:
        first.setdefault(finding.group, {}).setdefault(finding.check, finding.cause)
    causes: dict[tuple[str, ...], list[str]] = {}
    for group in plan.groups:
        key = (group.client, group.labels["meets"], group.labels["commit"], group.reset)
        of_group = first.get(group.group, {})
        causes[key] = [f"{check}: {cause}" for check, cause in of_group.items()]
    return [
        msgspec.structs.replace(
            cell, causes=causes.get((cell.client, cell.meets, cell.commit, cell.reset), [])
        )
        for cell in cells
    ]


def is_of_the_story(error: str) -> bool:
    """Whether a run's error is more than that clients hung, or broke a rule, when they were closed.

    These had been read with before, and their histories have that.
    """
    first, *further = error.split("; ")
    steps = [first, *(text for text in further if text.startswith(_STEP))]
    return any(not step.startswith(_NOT_CLOSED) for step in steps)


def _problem(error: str | None, verdict: Verdict) -> str:
    """Why the story of a run shows nothing; empty if it does."""
    missed = [fault for fault in verdict.faults if not fault.landed]
    if error is not None and is_of_the_story(error):
        return f"the story ended with an error: {error}"
    if missed:
        return f"no effect of {missed[0].fault} {missed[0].target} was observed"
    return "" if verdict.cells else "the tables of the run have no cells"


def read_told(home: Path) -> list[Told]:
    """Return the stories that are kept in a folder; none if there is no file."""
    file = home / STORIES_FILE
    return msgspec.json.decode(file.read_bytes(), type=list[Told]) if file.exists() else []


def keep_told(home: Path, stories: Sequence[Told]) -> None:
    """Replace the stories that are kept in a folder."""
    write_atomically(home / STORIES_FILE, list(stories))

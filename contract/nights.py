"""A night: a suite of runs on one pool, with a state that survives a kill.

`night.json` is the state, written by the harness and read by the analysis; `report/summary.json` is
the analysis's result, read by the harness for its exit code and by the next night for changes.
"""

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from contract.builds import Choice, with_note
from contract.described import read_described
from contract.mornings import Morning
from contract.regular_files import replace_file
from contract.verdicts import CheckVerdict, RunVerdict

NIGHT_FILE = "night.json"
RANDOM = "random"
"""The scenario whose plan its seed decides, and the suite that has it."""
SESSION_FILE = "ducktape.log"
"""Every session's folder has it."""
_LEVELS_TO_SESSION, _LEVELS_TO_NIGHT = 5, 8
_OF_ONE_NIGHT = "coverage"
"""A parameter of random runs of earlier releases: the path of a file in their own night."""
SUMMARY_FILE = "summary.json"

_T = TypeVar("_T", bound=msgspec.Struct)


class RunStatus(enum.StrEnum):
    """`running` in a night that no process holds means that the night was killed there.

    `omitted`: it never ran, since the night had no time or no disk left for it; `error` says why.
    """

    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    OMITTED = "omitted"


class Outcome(enum.StrEnum):
    """unexpected: passed where it must fail, or failed where it must pass. omitted: never ran.

    known: failed where it must pass, but by nothing that is not in known.yml.
    """

    EXPECTED = "expected"
    UNEXPECTED = "unexpected"
    KNOWN = "known"
    UNDECIDED = "undecided"
    OMITTED = "omitted"


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario to run in a night, and its outcome.

    Attributes:
        id: unique in its night; names the run's folder.
        repeat: counts runs of the same scenario, parameters and version in this night, from 0.
        expect: the expected verdict: pass, or fail for a canary.
        folder: of its runs, relative to the night's; None until it is done, or where none was
            started.
        choice: what its servers and Java clients are, if not all of `kafka`.
        build: the note of that build (`Build.note`).
        exit_code: ducktape's; None unless it ended.
        error: why there is no run to judge, or which of several are missing.
    """

    id: str
    scenario: str
    parameters: dict[str, Any]
    kafka: str
    seed: int
    repeat: int
    expect: RunVerdict
    rerun: str
    status: RunStatus = RunStatus.PLANNED
    folder: str | None = None
    exit_code: int | None = None
    error: str | None = None
    seconds: float | None = None
    choice: Choice | None = None
    build: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left to be done."""
        return self.status in (RunStatus.DONE, RunStatus.OMITTED)


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a night (`night.json`).

    Attributes:
        suite_sha256: of the suite's text, so that a changed suite is not continued.
        seed: from which the seeds of all runs were drawn.
        ended_micros: None until all runs are done and judged.
        hours: how long runs may begin, in all invocations together; None: until the suite is done.
        used_seconds: of these, with `hours`; of a killed invocation up to its last phase.
        stopped: why no further run began, for lack of room on the disk; empty otherwise.
    """

    schema: int
    suite: str
    suite_sha256: str
    description: str
    cluster: str
    seed: int
    command: str
    started_micros: int
    runs: list[PlannedRun]
    ended_micros: int | None = None
    hours: float | None = None
    used_seconds: float = 0.0
    stopped: str = ""


class CheckCount(msgspec.Struct, frozen=True, kw_only=True):
    """One check's result in one run; `exercised` as in `CheckResult`."""

    verdict: CheckVerdict
    findings: int
    exercised: int = 0


class NightRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run as judged; a planned run of a parametrized scenario has several.

    `verdict` is undecided if the run could not be judged; `error` says why. `build` is the note of
    an own build (docs/own-builds.md), else empty. `known` are the reasons of its known findings.
    """

    id: str
    scenario: str
    parameters: dict[str, Any]
    kafka: str
    seed: int
    repeat: int
    expect: RunVerdict
    verdict: RunVerdict
    outcome: Outcome
    seconds: float | None
    checks: dict[str, CheckCount]
    report: str | None
    error: str | None
    rerun: str
    build: str = ""
    known: list[str] = []

    @property
    def on(self) -> str:
        """The version of Kafka, and what differs from its release: `4.4.0, Java clients 3.9.2`."""
        return with_note(self.kafka, self.build)

    @property
    def evaluated(self) -> list[str]:
        """The checks with at least one case, by name."""
        return sorted(
            name
            for name, check in self.checks.items()
            if check.verdict is not CheckVerdict.NOT_EVALUABLE
        )

    @property
    def key(self) -> str:
        """Its name, the same in every night of its suite."""
        given = ", ".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        named = f"{self.scenario}({given})" if given else self.scenario
        return f"{named}, Kafka {self.on}" + (f", #{self.repeat + 1}" if self.repeat else "")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A difference from the previous night: `what` is a check, `verdict`, `evaluated` or `run`."""

    run: str
    what: str
    change: str


class NightSummary(msgspec.Struct, frozen=True, kw_only=True):
    """`report/summary.json` of a night.

    Attributes:
        verdict: fail if anything was unexpected, else undecided if anything was, else pass.
        compared_with: folder name of the last finished night of this suite and pool, if any.
        unexercised: checks that had no case in any run in which they could have failed.
        stopped: of the night.
        morning: what the nights before say; None if the store has no row of this one.
    """

    schema: int
    night: str
    suite: str
    cluster: str
    seed: int
    verdict: RunVerdict
    runs: list[NightRow]
    compared_with: str | None
    changes: list[Change]
    unexercised: list[str] = []
    stopped: str = ""
    morning: Morning | None = None


def lasting_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by which a run is the same one in each night: of its names and its rows."""
    return {name: value for name, value in given.items() if name != _OF_ONE_NIGHT}


def write_atomically(path: Path, content: msgspec.Struct | Sequence[msgspec.Struct]) -> None:
    """Replace a file atomically: a kill leaves the old one or the new one."""
    replace_file(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def read_night(folder: Path) -> Night | None:
    """Read the state of a night; None if the folder holds none.

    Raises:
        RunFolderError: the state is invalid.
    """
    return _read(folder / NIGHT_FILE, Night)


def read_summary(folder: Path) -> NightSummary | None:
    """Read the summary of a night; None if it was not judged.

    Raises:
        RunFolderError: the summary is invalid.
    """
    return _read(folder / "report" / SUMMARY_FILE, NightSummary)


def _read(file: Path, kind: type[_T]) -> _T | None:
    try:
        return read_described(file, kind)
    except FileNotFoundError:
        return None


def home_of(run: Path) -> Path | None:
    """The folder of the night, else of the session, that a run's folder is in; None of neither."""
    path = run.resolve()
    for mark, levels in ((NIGHT_FILE, _LEVELS_TO_NIGHT), (SESSION_FILE, _LEVELS_TO_SESSION)):
        for above in path.parents[:levels]:
            if (above / mark).is_file():
                return above
    return None

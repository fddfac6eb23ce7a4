"""A night: a suite of runs on one pool, with a state that survives being killed.

`night.json` is the state, written by the harness and read by the analysis; `report/summary.json` is
the analysis's answer, read by the harness for its exit code and by the next night to tell changes.
"""

import enum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from contract.errors import RunFolderError
from contract.regular_files import read_file, replace_file
from contract.verdicts import CheckVerdict, RunVerdict

NIGHT_FILE = "night.json"
SUMMARY_FILE = "summary.json"
SCHEMA = 1

_T = TypeVar("_T", bound=msgspec.Struct)


class RunStatus(enum.StrEnum):
    """running in the state of a night that nobody holds: it was killed there."""

    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"


class Outcome(enum.StrEnum):
    """unexpected: passed where it must fail, or failed where it must pass."""

    EXPECTED = "expected"
    UNEXPECTED = "unexpected"
    UNDECIDED = "undecided"


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario to run in a night, and what became of it.

    Attributes:
        id: unique in its night; names the run's folder.
        repeat: counts runs of the same scenario, parameters and version in this night, from 0.
        expect: the verdict that is as it should be: pass, or fail for a canary.
        folder: of its runs, relative to the night's; None until it is done, or where none came up.
        exit_code: ducktape's; None unless it ended.
        error: why there is nothing to judge.
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


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a night (`night.json`).

    Attributes:
        suite_sha256: of the suite's text, so that a changed suite is not continued.
        seed: from which the seeds of all runs were drawn.
        ended_micros: None until all runs are done and judged.
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


class CheckCount(msgspec.Struct, frozen=True, kw_only=True):
    """What one check came to in one run; `exercised` as of `CheckResult`."""

    verdict: CheckVerdict
    findings: int
    exercised: int = 0


class NightRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run as judged; a planned run of a parametrized scenario has several.

    `verdict` is undecided where nothing could be judged: `error` says why.
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

    @property
    def key(self) -> str:
        """What it is called, the same in every night of its suite."""
        given = ", ".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        named = f"{self.scenario}({given})" if given else self.scenario
        return f"{named}, Kafka {self.kafka}" + (f", #{self.repeat + 1}" if self.repeat else "")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from the night before: `what` is a check, or `verdict` or `run`."""

    run: str
    what: str
    change: str


class NightSummary(msgspec.Struct, frozen=True, kw_only=True):
    """`report/summary.json` of a night.

    Attributes:
        verdict: fail if anything was unexpected, else undecided if anything was, else pass.
        compared_with: folder name of the last finished night of this suite and pool, if any.
        unexercised: checks that had no case in any run in which they could have failed.
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


def write_atomically(path: Path, content: msgspec.Struct) -> None:
    """Replace a file as a whole, so that a kill leaves the old one or the new one."""
    replace_file(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def read_night(folder: Path) -> Night | None:
    """The state of the night in a folder; None where the folder is no night's.

    Raises:
        RunFolderError: the state does not read.
    """
    return _read(folder / NIGHT_FILE, Night)


def read_summary(folder: Path) -> NightSummary | None:
    """What the analysis made of the night in a folder; None where it was not judged.

    Raises:
        RunFolderError: the summary does not read.
    """
    return _read(folder / "report" / SUMMARY_FILE, NightSummary)


def _read(file: Path, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(read_file(file), type=kind)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise RunFolderError(f"{file} does not read as a {kind.__name__}: {error}") from error

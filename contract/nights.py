"""A night: a suite of runs on one pool, with a state that survives a kill.

`night.json` is the state, written by the harness and read by the analysis; `report/summary.json` is
the analysis's result, read by the harness for its exit code and by the next night for changes.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from contract.errors import lacking
from contract.files import read_described, replace_file
from contract.run_folder import NODES_FOLDER, PLAN_FILE, STORE_FOLDER
from contract.software import Choice, with_note
from contract.terms import Check
from contract.verdicts import CheckVerdict, RunVerdict
from contract.written import Written

# What a night shows beside the nights before it: a part of its `report/summary.json`.
#
# The rules are in `analysis.trends`, and their rates in docs/decisions/0058.


class FindingState(enum.StrEnum):
    """The state of a finding after a night.

    new: the night is the first that has it. open: the night has it, and so had each run since the
    first that could have shown it. flaky: some of these runs do not have it, and too few for
    `fixed`. fixed: it has ended, by the rule. gone: no run of the night could have shown it. known:
    an entry of known.yml is about it, and it is neither fixed nor gone.
    """

    NEW = "new"
    OPEN = "open"
    FLAKY = "flaky"
    KNOWN = "known"
    FIXED = "fixed"
    GONE = "gone"


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """A finding in a run of the night.

    Attributes:
        run: the run's folder, relative to the night's.
        number: the finding's, as `explain` takes it: the first of them.
        findings: how many there are in the run.
        cause: of the first.
    """

    run: str
    number: int
    findings: int
    cause: str


class TrackedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that no expectation covers, over the nights.

    Attributes:
        id: its name (`analysis.trends.identity`), which `finding` of known.yml takes.
        before: its state after the night before; None if it was not seen until then.
        cause: the shape of its cause.
        parameters: of the scenario, as JSON.
        plan: the hash of the random plan that its runs were given; empty where they drew one.
        kafka: the versions on which it was seen.
        first_night, last_night: that have it.
        seen, runs: of how many runs since the first sighting, that one too, how many have it.
        is_worse: whether it became more frequent, by the rule.
        sightings: in the night.
        why: of its state, in words.
        reason, link, expires: of its entry in known.yml; empty without one.
    """

    id: str
    state: FindingState
    before: FindingState | None
    check: str
    kind: str
    cause: str
    client: str | None
    scenario: str
    parameters: str
    plan: str
    kafka: list[str]
    first_night: str
    last_night: str
    seen: int
    runs: int
    is_worse: bool
    sightings: list[Sighting]
    why: str
    reason: str = ""
    link: str = ""
    expires: str = ""


class Stability(enum.StrEnum):
    """The verdict on a scenario from its runs.

    regressed: it fails more often than before, by the rule. flaky: it failed, and passed later,
    and no change is shown. undecided: its last runs failed, too few to show a change, or it has too
    few runs. steady: all of its runs came to the same, or its failures have ended, by the rule.
    """

    REGRESSED = "regressed"
    FLAKY = "flaky"
    UNDECIDED = "undecided"
    STEADY = "steady"

    @property
    def in_words(self) -> str:
        """As people read it: a run is undecided for other reasons."""
        return "too few runs" if self is Stability.UNDECIDED else str(self)


class ScenarioHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario with its parameters on a version of Kafka, over the nights.

    Attributes:
        failed, runs: of how many decided runs, how many were not as the suite expects.
        undecided: further runs, that were not decided.
        why: of the verdict, in words.
        more_runs: how many further runs that fail would show that it regressed; None if it is no
            question, or too many.
        cells: by night, what its runs came to in one word (`CELLS`).
    """

    scenario: str
    parameters: str
    kafka: str
    verdict: Stability
    failed: int
    runs: int
    undecided: int
    why: str
    more_runs: int | None
    cells: dict[str, str]


CELLS = ("new", "failed", "known", "undecided", "expected")
"""The words of a cell, the gravest first; new: with a finding that no earlier night has."""


class TrendChange(enum.StrEnum):
    """undecided: there are too few runs for any change to be shown."""

    LARGER = "larger"
    SMALLER = "smaller"
    NONE = "no change shown"
    UNDECIDED = "undecided"


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """A number of the runs of a scenario on a version of Kafka, of one client or of the cluster.

    Attributes:
        values: by run, the oldest first.
        before, last: the medians of the runs before, and of the last ones that are compared.
        p: of the difference, by the rank test.
    """

    measure: str
    scenario: str
    parameters: str
    kafka: str
    client: str
    change: TrendChange
    values: list[float]
    before: float
    last: float
    p: float


class Morning(msgspec.Struct, frozen=True, kw_only=True):
    """What the store of all nights says about a night of the same suite and pool.

    Attributes:
        nights: their names, the oldest first; the night itself is the last.
        known_file: that was read; empty without one.
        notes: entries of it that expired, or that are about nothing that was seen.
    """

    nights: list[str]
    findings: list[TrackedFinding]
    scenarios: list[ScenarioHistory]
    trends: list[Trend]
    known_file: str = ""
    notes: list[str] = []


# Findings that are known, with a reason: `known.yml`, which a user writes (docs/mornings.md).


KNOWN_FILE = "known.yml"
_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class KnownFinding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry: which findings it is about, why they are known, and until when.

    Attributes:
        check, kind, client, scenario: of the findings; an empty one is any.
        finding: the name of a single one, as a night's page has it.
        reason: why it is known.
        link: to what is known about it, such as an issue.
        expires: the last day on which it counts.
    """

    check: str
    reason: _Text
    link: _Text
    expires: date
    kind: str = ""
    client: str = ""
    scenario: str = ""
    finding: str = ""

    @property
    def named(self) -> str:
        """What it is about, in words."""
        given = (self.kind, self.client, self.scenario, self.finding)
        return ", ".join([self.check, *(word for word in given if word)])


@dataclass(frozen=True)
class Known:
    """The entries of a file; `path` is None where there is none."""

    path: Path | None
    entries: tuple[KnownFinding, ...] = ()


_KNOWN_HINTS = {
    "": "each entry begins with `- check:`",
    "expires": "it is the last day on which the entry counts, such as 2027-01-31",
    "reason": "say why it is known",
    "link": "say where more about it is",
}


def read_known(path: Path) -> Known:
    """Read the entries of a file.

    Raises:
        UsageError: it is missing or invalid; names the file, the entry and what to write.
    """
    file = Written(path, what="--known")
    entries = file.convert(list[KnownFinding], empty=[], hints=_KNOWN_HINTS)
    for at, entry in enumerate(entries):
        if entry.check not in set(Check):
            raise file.refuse(lacking("check", entry.check, Check), str(at), "check")
    return Known(path, tuple(entries))


def known_beside(results: Path) -> Known:
    """The entries of `known.yml` beside a results folder; none if there is no such file.

    Results are no part of a repository, and what is known should be: so it is not among them.

    Raises:
        UsageError: the file is invalid.
    """
    path = results.absolute().parent / KNOWN_FILE
    return read_known(path) if path.is_file() else Known(None)


NIGHT_FILE = "night.json"
RANDOM = "random"
"""The scenario whose plan its seed decides, and the suite that has it."""
SESSION_FILE = "ducktape.log"
"""Every session's folder has it."""
_LEVELS_TO_SESSION, _LEVELS_TO_NIGHT = 5, 8
_LEVELS_TO_RESULTS = _LEVELS_TO_NIGHT + 2
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


def is_made_here(path: Path, runs: Iterable[Path]) -> bool:
    """Whether a folder is a run, a session, a night or a results folder, or is in one of those.

    A results folder has the folder of nodes or of the store, and its runs where commands put them.
    """
    real = path.resolve()
    if any((real / mark).exists() for mark in (PLAN_FILE, SESSION_FILE, NIGHT_FILE)):
        return True
    marks = (NODES_FOLDER, STORE_FOLDER)
    is_of_results = any((above / mark).is_dir() for above in (real, real.parent) for mark in marks)
    levels = max(len(run.resolve().parts) for run in runs) - len(real.parts)
    return is_of_results and levels <= _LEVELS_TO_RESULTS


def home_of(run: Path) -> Path | None:
    """The folder of the night, else of the session, that a run's folder is in; None of neither."""
    path = run.resolve()
    for mark, levels in ((NIGHT_FILE, _LEVELS_TO_NIGHT), (SESSION_FILE, _LEVELS_TO_SESSION)):
        for above in path.parents[:levels]:
            if (above / mark).is_file():
                return above
    return None

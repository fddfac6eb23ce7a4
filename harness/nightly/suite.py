"""Suites of scenarios, and the runs of a night from one: all random choices are of its seed."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import msgspec

from cluster.clients.versions import require_choice
from cluster.kafka.lock import locked_versions
from cluster.kafka.own_jars import resolve
from contract.errors import DistributionError, UsageError
from contract.nights import RANDOM, PlannedRun
from contract.run_folder import SEED_BITS
from contract.software import Build, Choice
from contract.verdicts import RunVerdict
from contract.written import Written
from harness.invocation import rerun_command
from harness.session.catalog import ScenarioFile, find_scenarios, scenario_folders
from harness.story.changes import parse_change

_FOLDER = "suites"
_ANY = f"{_FOLDER}/*.yml"
_SUFFIXES = (".yml", ".yaml")
_Seed = Annotated[int, msgspec.Meta(ge=0, lt=1 << SEED_BITS)]
_HINTS = dict.fromkeys(("kafka", "client_version"), "put a version in quotes")
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scenario of a suite.

    Attributes:
        scenario: its name, or the path of its file, as of `client_jars`.
        kafka: versions to run it on, in order; empty: the command line's default.
        kafka_dir: an own build for the brokers instead, as `run --kafka-dir`.
        client_version, client_jars: of the Java clients, as the options of `run`. A path that is
            not absolute is relative to the suite's file.
        clients: versions of Python's clients, as plans name them.
        set: changes of settings, as `run --set`.
        repeat: number of runs on each version, each with its own seed.
        seeds: the seeds on each version, instead of `repeat` drawn ones.
        parameters: of the scenario's test; empty: all that it declares.
        expect: `fail` for a canary, whose pass means that losses are not detected.
    """

    scenario: str
    kafka: list[str] = []
    kafka_dir: str = ""
    client_version: str = ""
    client_jars: list[str] = []
    clients: list[str] = []
    set: list[str] = []
    repeat: Annotated[int, msgspec.Meta(ge=1)] = 1
    seeds: list[_Seed] = []
    parameters: dict[str, Any] = {}
    expect: Literal["pass", "fail"] = "pass"


class SuiteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a suite's file."""

    description: str
    runs: Annotated[list[Entry], msgspec.Meta(min_length=1)]


@dataclass(frozen=True)
class Suite:
    """A suite; its name is the stem of its file."""

    name: str
    path: Path
    sha256: str
    description: str
    entries: tuple[Entry, ...]


def suite_names() -> list[str]:
    """Return the names of the suites beside our scenarios, and beside those of the extras."""
    return sorted({path.stem for place in scenario_folders() for path in place.glob(_ANY)})


def find_suite(name_or_path: str, folder: Path | None = None) -> Suite:
    """Read a suite by its name, or by the path of its file.

    A suite of an extra that has the name of another one adds its runs to it.

    Args:
        name_or_path: a path ends with .yml, or has a `/`.
        folder: of a user's scenarios, which it may name.

    Raises:
        UsageError: there is none, or its file is invalid; names the file and the field.
    """
    if "/" in name_or_path or name_or_path.endswith(_SUFFIXES):
        return _read(Path(name_or_path), name_or_path, folder)
    files = [place / _FOLDER / f"{name_or_path}.yml" for place in scenario_folders()]
    there = [file for file in files if file.exists()] or files[:1]
    first, *more = [_read(file, name_or_path, folder) for file in there]
    return replace(
        first,
        sha256=hashlib.sha256("".join(file.sha256 for file in (first, *more)).encode()).hexdigest(),
        entries=(*first.entries, *(entry for file in more for entry in file.entries)),
    )


def _read(path: Path, name_or_path: str, folder: Path | None) -> Suite:
    if not os.path.lexists(path):
        raise UsageError(
            f"there is no suite {name_or_path} (no file {path}); there are: "
            f"{', '.join(suite_names())}; or give the path of a .yml file"
        )
    file = Written(path, what="the suite")
    parsed = file.convert(SuiteFile, hints=_HINTS)
    home = path.absolute().parent
    found = [
        _check_entry(entry, f"{path}:{file.line('runs', str(index))}: runs[{index}]", home, folder)
        for index, entry in enumerate(parsed.runs)
    ]
    return Suite(
        name=path.stem,
        path=path,
        sha256=hashlib.sha256(file.content).hexdigest(),
        description=" ".join(parsed.description.split()),
        entries=tuple(
            _in_place(entry, file, home) for entry, file in zip(parsed.runs, found, strict=True)
        ),
    )


def _in_place(entry: Entry, scenario: ScenarioFile, folder: Path) -> Entry:
    """Return an entry whose paths are not relative to its file."""
    return msgspec.structs.replace(
        entry,
        scenario=scenario.named,
        kafka_dir=str(folder / entry.kafka_dir) if entry.kafka_dir else "",
        client_jars=[str(folder / jar) for jar in entry.client_jars],
    )


def _check_entry(entry: Entry, where: str, home: Path, folder: Path | None) -> ScenarioFile:
    """Check what the types do not: names, and combinations of fields; returns the scenario."""
    is_path = ".py" in Path(entry.scenario.partition("::")[0]).suffixes
    name = str(home / entry.scenario) if is_path else entry.scenario
    try:
        (scenario,) = find_scenarios([name], folder)
    except UsageError as error:
        raise UsageError(f"{where}.scenario: {error}") from error
    try:
        scenario.require(entry.parameters)
    except UsageError as error:
        raise UsageError(f"{where}.parameters: {error}") from error
    if entry.kafka and entry.kafka_dir:
        raise UsageError(f"{where}: give kafka or kafka_dir, not both")
    client = [entry.client_version] if entry.client_version else []
    locked = locked_versions()
    for field, version in [
        *(("kafka", version) for version in entry.kafka),
        *(("client_version", version) for version in client),
    ]:
        if version not in locked:
            raise UsageError(
                f"{where}.{field}: {version} has no lock file; there are: {', '.join(locked)}; "
                f"to add one: fencepost versions lock {version}"
            )
    try:
        require_choice(entry.clients)
    except (UsageError, DistributionError) as error:
        raise UsageError(f"{where}.clients: {error}") from error
    _check_changes(entry, where)
    if entry.seeds and entry.repeat > 1:
        raise UsageError(f"{where}: give seeds or repeat, not both")
    return scenario


def _check_changes(entry: Entry, where: str) -> None:
    try:
        for change in entry.set:
            parse_change(change)
    except UsageError as error:
        raise UsageError(f"{where}.set: {error}") from error


def plan_runs(
    suite: Suite, *, seed: int, cluster: str, default_kafka: str, given: Choice | None = None
) -> list[PlannedRun]:
    """Return the runs of a night, in the suite's order; the same seed gives the same runs.

    Args:
        suite: its entries.
        seed: of the night.
        cluster: the pool.
        default_kafka: the version where neither an entry nor `given` names one.
        given: what the command line names: it replaces what an entry does not name itself, and its
            servers replace the versions of all entries.

    Raises:
        UsageError: an own build has not what it must have.
    """
    random = Random(seed)
    runs: list[PlannedRun] = []
    for entry in suite.entries:
        for choice in _choices(entry, given or Choice(), default_kafka):
            build = resolve(choice)
            drawn = [random.getrandbits(SEED_BITS) for _ in range(entry.repeat)]
            for run_seed in entry.seeds or drawn:
                runs.append(_next(runs, entry, build, cluster=cluster, seed=run_seed))
    return runs


def begun_with_both(suite: Suite) -> Suite:
    """Return a suite that begins with the canary and the baseline, whether it has them or not."""
    both = [Entry(scenario="canary", expect="fail"), Entry(scenario="baseline")]
    first = [
        entry
        for due in both
        for entry in [entry for entry in suite.entries if entry.scenario == due.scenario] or [due]
    ]
    return replace(
        suite, entries=(*first, *(entry for entry in suite.entries if entry not in first))
    )


def random_runs(
    before: Sequence[PlannedRun],
    *,
    seed: int,
    cluster: str,
    default_kafka: str,
    given: Choice | None = None,
) -> Iterator[PlannedRun]:
    """Yield runs of random plans without end, on the versions of the suite `random` in turn.

    None if there is no such suite, which is an extra's.

    The nth of a night has the nth seed that is drawn from the night's, whatever ran before, and no
    seed of a suite's run is drawn with it.
    """
    runs = list(before)
    random = Random(seed + (1 << SEED_BITS))
    builds = [
        (entry, resolve(choice))
        for entry in (find_suite(RANDOM).entries if RANDOM in suite_names() else ())
        for choice in _choices(entry, given or Choice(), default_kafka)
    ]
    for entry, build in cycle(builds):
        run_seed = random.getrandbits(SEED_BITS)
        runs.append(_next(runs, entry, build, cluster=cluster, seed=run_seed))
        yield runs[-1]


def _next(
    runs: Sequence[PlannedRun], entry: Entry, build: Build, *, cluster: str, seed: int
) -> PlannedRun:
    """Return the run that follows others."""
    what = (entry.scenario, entry.parameters, build.kafka, build.note)
    repeat = sum((run.scenario, run.parameters, run.kafka, run.build) == what for run in runs)
    name = _run_id(len(runs) + 1, entry.scenario, build.kafka)
    return plan_run(name, entry, build, cluster=cluster, seed=seed, repeat=repeat)


def plan_run(
    name: str, entry: Entry, build: Build, *, cluster: str, seed: int, repeat: int
) -> PlannedRun:
    """Return a run of an entry on a build."""
    choice = build.choice
    return PlannedRun(
        id=name,
        scenario=entry.scenario,
        parameters=entry.parameters,
        kafka=build.kafka,
        seed=seed,
        repeat=repeat,
        expect=RunVerdict(entry.expect),
        rerun=rerun_command(
            entry.scenario, entry.parameters, cluster=cluster, choice=choice, seed=seed
        ),
        choice=choice if choice.is_own else None,
        build=build.note,
    )


def choice_of(run: PlannedRun) -> Choice:
    """Return what a run's servers and Java clients are."""
    return run.choice or Choice(kafka=run.kafka)


def _choices(entry: Entry, given: Choice, default_kafka: str) -> Iterator[Choice]:
    kafka_dir = entry.kafka_dir or given.kafka_dir
    for kafka in [""] if kafka_dir else entry.kafka or [default_kafka]:
        yield msgspec.structs.replace(
            given,
            kafka=kafka,
            kafka_dir=kafka_dir,
            client_version=entry.client_version or given.client_version,
            client_jars=entry.client_jars or given.client_jars,
            clients=entry.clients,
            changes=[*entry.set, *given.changes],
        )


def _run_id(number: int, scenario: str, kafka: str) -> str:
    return f"{number:03}-{as_file_name(scenario)}-{as_file_name(kafka)}"


def as_file_name(text: str) -> str:
    """Return a text without what is odd in the name of a file or folder."""
    return _ODD.sub("-", text)

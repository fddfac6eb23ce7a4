"""Suites: the scenarios of a night, their versions, and the expected verdicts."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml

from cluster.kafka.lock import locked_versions
from contract.errors import UsageError
from contract.randomness import SEED_BITS
from contract.regular_files import read_file
from harness.session.catalog import scenarios

FOLDER = Path(__file__).resolve().parents[2] / "scenarios" / "suites"
_SUFFIXES = (".yml", ".yaml")
_Seed = Annotated[int, msgspec.Meta(ge=0, lt=1 << SEED_BITS)]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scenario of a suite.

    Attributes:
        kafka: versions to run it on, in order; empty: the command line's default.
        repeat: number of runs on each version, each with its own seed.
        seeds: the seeds on each version, instead of `repeat` drawn ones.
        parameters: of the scenario's test; empty: all that it declares.
        expect: `fail` for a canary, whose pass means that losses are not detected.
    """

    scenario: str
    kafka: list[str] = []
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
    """Return the names of the suites in scenarios/suites."""
    return sorted(path.stem for path in FOLDER.glob("*.yml"))


def find_suite(name_or_path: str) -> Suite:
    """Read a suite by its name, or by the path of its file.

    Raises:
        UsageError: there is none, or its file is invalid; names the file and the field.
    """
    is_path = "/" in name_or_path or name_or_path.endswith(_SUFFIXES)
    path = Path(name_or_path) if is_path else FOLDER / f"{name_or_path}.yml"
    try:
        content = read_file(path)
    except OSError as error:
        raise UsageError(
            f"there is no suite {name_or_path} ({error.strerror or error}: {path}); there are: "
            f"{', '.join(suite_names())}; or give the path of a .yml file"
        ) from error
    parsed = _parse(content, path)
    _check(parsed, path)
    return Suite(
        name=path.stem,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        description=" ".join(parsed.description.split()),
        entries=tuple(parsed.runs),
    )


def _parse(content: bytes, path: Path) -> SuiteFile:
    try:
        return msgspec.convert(yaml.safe_load(content), SuiteFile)
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}") from error
    except msgspec.ValidationError as error:
        problem = str(error).replace("`$.", "`").replace("Object ", "")
        hint = "; put a version in quotes" if ".kafka" in problem else ""
        raise UsageError(f"{path}: {problem}{hint} (CONTRIBUTING.md, A suite)") from error


def _check(suite: SuiteFile, path: Path) -> None:
    """Check what the types do not: names, and combinations of fields."""
    known, locked = {scenario.name: scenario for scenario in scenarios()}, locked_versions()
    for index, entry in enumerate(suite.runs):
        where = f"{path}: runs[{index}]"
        if entry.scenario not in known:
            raise UsageError(
                f"{where}.scenario: there is no {entry.scenario!r}; there are: {', '.join(known)}"
            )
        try:
            known[entry.scenario].require(entry.parameters)
        except UsageError as error:
            raise UsageError(f"{where}.parameters: {error}") from error
        for version in entry.kafka:
            if version not in locked:
                raise UsageError(
                    f"{where}.kafka: {version} has no lock file; there are: {', '.join(locked)}; "
                    f"to add one: fencepost kafka lock {version}"
                )
        if entry.seeds and entry.repeat > 1:
            raise UsageError(f"{where}: give seeds or repeat, not both")

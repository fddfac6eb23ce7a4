"""Findings that are known, with a reason: `known.yml`, which a user writes (docs/mornings.md)."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec
import yaml

from contract.checks import Check
from contract.errors import UsageError
from contract.nearest import lacking
from contract.regular_files import read_file

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
        return ", ".join([self.check, *(one for one in given if one)])


@dataclass(frozen=True)
class Known:
    """The entries of a file; `path` is None where there is none."""

    path: Path | None
    entries: tuple[KnownFinding, ...] = ()


def read_known(path: Path) -> Known:
    """Read the entries of a file.

    Raises:
        UsageError: it is missing or invalid; names the file, the entry and what to write.
    """
    try:
        content = yaml.safe_load(read_file(path))
    except OSError as error:
        raise UsageError(f"--known {path} can't be read: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError) as error:
        # PyYAML raises ValueError for a date that is none.
        raise UsageError(f"{path} is not YAML: {error}") from error
    if not isinstance(content, list | None):
        raise UsageError(f"{path} is no list of findings: each entry begins with `- check:`")
    entries = [_entry(one, f"{path}: entry {at}") for at, one in enumerate(content or (), 1)]
    return Known(path, tuple(entries))


def known_beside(results: Path) -> Known:
    """The entries of `known.yml` beside a results folder; none if there is no such file.

    Results are no part of a repository, and what is known should be: so it is not among them.

    Raises:
        UsageError: the file is invalid.
    """
    path = results.absolute().parent / KNOWN_FILE
    return read_known(path) if path.is_file() else Known(None)


def _entry(written: object, where: str) -> KnownFinding:
    try:
        entry = msgspec.convert(written, KnownFinding)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_problem(error)}") from error
    if entry.check not in set(Check):
        raise UsageError(f"{where}: {lacking('check', entry.check, Check)}")
    return entry


def _problem(error: msgspec.ValidationError) -> str:
    text = str(error).replace("`$.", "`").replace(" - at `$`", "")
    if "`expires`" in text:
        return f"`expires` is the last day on which it counts, such as 2027-01-31 ({text})"
    if "regex" in text:
        _, _, field = text.partition(" - at ")
        return f"{field} is empty: say why it is known, and where more about it is"
    return text.replace("Object ", "it ")

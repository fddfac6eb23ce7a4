"""Descriptions: what a run, a night or a comparison has as a file of JSON."""

from pathlib import Path
from typing import TypeVar

import msgspec

from contract.errors import RunFolderError
from contract.regular_files import read_file

_T = TypeVar("_T", bound=msgspec.Struct)
SCHEMA = 1
"""The form of all descriptions that name theirs."""


def read_described(file: Path, kind: type[_T], *, what: str = "") -> _T:
    """Read a description.

    Args:
        file: its path.
        kind: of it.
        what: the kind, in words.

    Raises:
        FileNotFoundError: it is missing.
        RunFolderError: it is invalid, or of a form that this release does not know.
    """
    try:
        found = msgspec.json.decode(read_file(file), type=kind)
    except FileNotFoundError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise RunFolderError(f"{file} is not a valid {what or kind.__name__}: {error}") from error
    schema = getattr(found, "schema", SCHEMA)
    if schema != SCHEMA:
        raise RunFolderError(
            f"{file} has schema {schema}, and this release knows schema {SCHEMA} only: use the "
            "release that wrote it"
        )
    return found

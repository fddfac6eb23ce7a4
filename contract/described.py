"""Descriptions: what a run, a night or a comparison has as a file of JSON."""

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from contract.errors import RunFolderError
from contract.regular_files import read_file

_T = TypeVar("_T", bound=msgspec.Struct)
SCHEMA = 1
"""The form of all descriptions that name theirs."""


def require_single_keys(content: bytes) -> None:
    """Check that no object in a JSON text has a key twice: readers differ in which one they take.

    Raises:
        msgspec.DecodeError: one has, or the text is no JSON.
    """
    try:
        # Numbers are not read: Python refuses those of very many digits.
        json.loads(content, object_pairs_hook=_object, parse_int=str, parse_float=str)
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise msgspec.DecodeError(f"the key {twice!r} is there twice")
    return found


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
        content = read_file(file)
        found = msgspec.json.decode(content, type=kind)
        require_single_keys(content)
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

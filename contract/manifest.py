"""The content of a run's folder after collection: `manifest.json`, the SHA-256 of each file.

The analysis compares it with what is there: a byte that changed later may look like a lost record.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from contract.errors import RunFolderError
from contract.regular_files import open_regular, read_file, replace_file
from contract.run_folder import PLAN_FILE, RUN_FILE, RunFolder

MANIFEST_FILE = "manifest.json"
TABLES_OF_HISTORIES = (
    "sends",
    "transactions",
    "polls",
    "commits",
    "group_events",
    "faults",
    "phases",
    "waits",
    "samples",
    "wire_calls",
    "clocks",
    "histories",
)
DECODED_AGAIN = frozenset(
    {
        *TABLES_OF_HISTORIES,
        "resets",
        "servers",
        "truncations",
        "log_start_changes",
        "leader_epoch_starts",
    }
)
"""Tables that `fencepost analyze` rebuilds from histories and logs, which are compared instead."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The SHA-256 of each file, in hexadecimal, by its path below the run's folder."""

    schema: int = 1
    files: dict[str, str]


def write_manifest(folder: RunFolder) -> None:
    """Write `manifest.json` of the files that the analysis reads, which must not change later."""
    manifest = Manifest(files={name: _sha256(path) for name, path in _files(folder)})
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    replace_file(folder.path / MANIFEST_FILE, text + b"\n")


def alterations(folder: RunFolder) -> Iterator[str]:
    """Return a sentence for each file that differs from the manifest; none without a manifest."""
    file = folder.path / MANIFEST_FILE
    if not os.path.lexists(file):
        return
    try:
        collected = msgspec.json.decode(read_file(file), type=Manifest).files
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        yield f"{MANIFEST_FILE} is invalid: {error}"
        return
    there = dict(_files(folder))
    for name in sorted(collected.keys() | there.keys()):
        if name not in there:
            yield f"{name} is missing, though it was collected"
        elif name not in collected:
            yield f"{name} was added after the run"
        elif _sha256(there[name]) != collected[name]:
            yield f"{name} was changed after the run"


def _files(folder: RunFolder) -> Iterator[tuple[str, Path]]:
    """The regular files that the analysis reads, by their paths below the run's folder."""
    parts = (folder.history, folder.clients, folder.brokers, folder.tables)
    inner = [path for part in parts for path in part.rglob("*")]
    for path in [folder.path / PLAN_FILE, folder.path / RUN_FILE, *inner]:
        is_made_again = path.parent == folder.tables and path.stem in DECODED_AGAIN
        if path.is_file() and not is_made_again:
            name = str(path.relative_to(folder.path))
            yield name.encode(errors="surrogateescape").decode(errors="backslashreplace"), path


def _sha256(path: Path) -> str:
    """The digest of a file.

    Raises:
        RunFolderError: it can't be read.
    """
    try:
        with open_regular(path) as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise RunFolderError(f"{path} can't be read: {error}") from error

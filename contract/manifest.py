"""The content of a run's folder after collection: `manifest.json`, the SHA-256 of each file.

The analysis compares it with what is there: a byte that changed later may look like a lost record.
"""

import hashlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

import msgspec

from contract.errors import RunFolderError
from contract.files import SCHEMA, Opener, open_regular, printable, read_described, replace_file
from contract.run_folder import PLAN_FILE, POOLS, RUN_FILE, RunFolder

MANIFEST_FILE = "manifest.json"
_PARTS = ("history", "clients", "brokers", "tables")
"""The folders of the files that the analysis reads."""
TABLES_OF_HISTORIES = (
    "sends",
    "transactions",
    "polls",
    "unshown_epochs",
    "poll_spans",
    "suspensions",
    "commits",
    "offset_reads",
    "group_events",
    "faults",
    "phases",
    "notes",
    "waits",
    "samples",
    "group_samples",
    "quorum_samples",
    "wire_calls",
    "clocks",
    "histories",
)
DECODED_AGAIN = frozenset(
    {
        *TABLES_OF_HISTORIES,
        "omitted_commits",
        "join_loops",
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

    schema: int
    files: dict[str, str]


def write_manifest(folder: RunFolder) -> None:
    """Write `manifest.json` of the files that the analysis reads, which must not change later."""
    files = {name: _sha256(name, file) for name, file in _files_of(folder).items()}
    manifest = Manifest(schema=SCHEMA, files=files)
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    replace_file(folder.path / MANIFEST_FILE, text + b"\n")


def alterations(folder: RunFolder) -> Iterator[str]:
    """Return a sentence for each file that differs from the manifest.

    Without a manifest, a run of ours was not collected to its end, or something removed the file.
    Runs from elsewhere and generated histories have none.
    """
    file = folder.path / MANIFEST_FILE
    if not os.path.lexists(file):
        if folder.run().cluster in POOLS:
            yield (
                f"{MANIFEST_FILE} is missing: the run was not collected to its end, or its files "
                "were changed since"
            )
        return
    try:
        collected = read_described(file, Manifest, what="manifest").files
    except RunFolderError as error:
        yield f"{MANIFEST_FILE} is invalid: {error}"
        return
    there = _files_of(folder)
    for name in sorted(collected.keys() | there.keys()):
        if name not in there:
            yield f"{name} is missing, though it was collected"
        elif name not in collected:
            yield f"{name} was added after the run"
        elif _sha256(name, there[name]) != collected[name]:
            yield f"{name} was changed after the run"


def _files_of(folder: RunFolder) -> dict[str, Opener]:
    """A run's regular files that the analysis reads and no decoding makes again, by their paths."""
    inner = [path for part in _PARTS for path in (folder.path / part).rglob("*")]
    paths = [folder.path / PLAN_FILE, folder.path / RUN_FILE, *inner]
    return {
        printable(str(name)): partial(open_regular, path)
        for path in paths
        if path.is_file() and _is_compared(name := PurePosixPath(path.relative_to(folder.path)))
    }


def _is_compared(name: PurePosixPath) -> bool:
    if len(name.parts) == 1:
        return str(name) in (PLAN_FILE, RUN_FILE)
    is_made_again = str(name.parent) == "tables" and name.stem in DECODED_AGAIN
    return name.parts[0] in _PARTS and not is_made_again


def _sha256(name: str, file: Opener) -> str:
    """The digest of a file.

    Raises:
        RunFolderError: it can't be read.
    """
    try:
        with file() as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise RunFolderError(f"{name} can't be read: {error}") from error

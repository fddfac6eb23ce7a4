"""Files and folders: the cache, URIs, whatever a path may be, and documents.

A file may be a pipe, a folder, a link to itself, or named in no UTF-8.
"""

import errno
import json
import os
import re
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter, BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname
from uuid import uuid4

import msgspec

from contract.errors import RunFolderError, StorageError, UsageError

# The folder of what is downloaded or made once for all runs of a user.


CACHE_VARIABLE = "FENCEPOST_CACHE"


def cache_folder() -> Path:
    """`$FENCEPOST_CACHE`, else `fencepost` in the user's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fencepost"


# Names of places: folders of this machine, and URIs of other file systems.


_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
"""A scheme has two characters or more. `./a:/b` and absolute paths are never URIs."""
_LOCAL = "file"
_HERE = ("", "localhost")


def place(name: str) -> Path | str:
    """A folder of this machine, also of a `file:` URI; or the URI of another file system.

    Raises:
        UsageError: it is empty, or the `file:` URI of another machine.
    """
    if not name:
        raise UsageError("an empty name was given: name a folder, a file or a URI")
    uri = _URI.match(name)
    if uri is None:
        return Path(name)
    if uri[1].lower() != _LOCAL:
        return name
    parts = urlsplit(name)
    if parts.netloc not in _HERE:
        raise UsageError(
            f"{name} names the machine {parts.netloc}: a file: URI of this machine begins with "
            "file:///"
        )
    return Path(url2pathname(parts.path))


def as_word(name: str | Path) -> str:
    """A name as one word of a shell, which no command takes for an option."""
    text = str(name)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def local_folder(name: str | Path) -> Path:
    """The folder of this machine that is named, also by a `file:` URI.

    Raises:
        UsageError: it is empty, or on another file system.
    """
    found = place(str(name))
    if isinstance(found, str):
        raise UsageError(
            f"{found} is not on this machine. Only `fencepost analyze` takes a URI: use a local "
            "folder here, and copy it from or to the URI with a tool of that file system"
        )
    return found


# Files that may be anything: a pipe, a folder, a link to itself, or named in no UTF-8.


_FREE = "free some space there"
_COPY = "copy it to a folder that this user can write"
_REMEDIES = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: "raise the limit with: ulimit -f unlimited",
    errno.EROFS: _COPY,
    errno.EACCES: _COPY,
    errno.EPERM: _COPY,
}
"""What to do about a folder that can't be written, by the number of the error."""
_REPORTED_BY_ENGINES = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
"""Those whose text says it in the errors of DuckDB and of Java."""

Opener = Callable[[], BufferedReader]
"""Opens one file for reading, wherever it is; raises OSError."""


def open_regular(path: Path) -> BufferedReader:
    """Open a file, or a link to one, for reading; never waits for a pipe's other end.

    Raises:
        OSError: it is missing, is no regular file, or can't be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return os.fdopen(descriptor, "rb")


def read_file(path: Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: it is missing, is no regular file, or can't be read.
    """
    with open_regular(path) as content:
        return content.read()


def read_regular(path: Path) -> bytes | None:
    """Return a file's content; None if it is no regular file or can't be read."""
    try:
        return read_file(path)
    except OSError:
        return None


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a log, invalid UTF-8 replaced; none if the file can't be read."""
    content = read_regular(path)
    if content is not None:
        yield from TextIOWrapper(BytesIO(content), encoding="utf-8", errors="replace")


# All that is written goes through here (tests/unit/test_tidy.py).


_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_COPIED_BYTES = 1 << 20


def require_replaceable(path: Path) -> None:
    """Check that what has the name of a file that is to be written is a file, if anything has.

    Raises:
        UsageError: it is a link, a device, a pipe or a folder.
    """
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise UsageError(
            f"{printable(str(path))} is no regular file, and would be replaced: name another file, "
            "or remove it"
        )


@contextmanager
def replacing(path: Path) -> Iterator[BufferedWriter]:
    """Write a file as a whole, beside the old one: an error in the block, or a kill, leaves that.

    Raises:
        UsageError: its name is that of a link, a device, a pipe or a folder.
        StorageError: its folder was removed meanwhile.
        OSError: it can't be written.
    """
    require_replaceable(path)
    # Not as long as its name, which may be as long as a name can be.
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            yield file
        part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, FileNotFoundError) and not path.parent.exists():
            gone = printable(str(path.parent))
            raise StorageError(f"{path.name} can't be written: {gone} was removed") from error
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole: a kill or a full disk leaves the old one or the new one.

    Raises:
        UsageError: its name is that of a link, a device, a pipe or a folder.
        StorageError: its folder was removed meanwhile.
        OSError: it can't be written.
    """
    with replacing(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def copy_file(source: str | Path, target: str | Path) -> None:
    """Copy a regular file with its mode and times, as `replacing` writes.

    Raises:
        OSError: the source is none or can't be read, or the target can't be written.
    """
    with open_regular(Path(source)) as content, replacing(Path(target)) as file:
        shutil.copyfileobj(content, file, _COPIED_BYTES)
        file.flush()
        shutil.copystat(source, file.name)


def open_to_append(path: Path) -> BufferedWriter:
    """Open a file that others read while it grows, such as a log; it is made if there is none.

    Raises:
        UsageError: its name is that of a link, a device, a pipe or a folder.
        OSError: it can't be written.
    """
    require_replaceable(path)
    descriptor = os.open(path, _APPEND, 0o666)
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "ab")


def replace_text(path: Path, text: str) -> None:
    """Write a text as `replace_file` does, in UTF-8; a name that is none is escaped."""
    replace_file(path, printable(text).encode())


def leaving_link(folder: Path) -> Path | None:
    """Return a link below a folder that leads out of it; None if there is none."""
    for inner, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(inner, name)
            if path.is_symlink() and not is_below(path, folder):
                return path
    return None


def is_below(path: Path, folder: Path) -> bool:
    """Return whether a path is at or below a folder, with all links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def printable(name: str) -> str:
    """A file's name in valid UTF-8: bytes that are none are escaped."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def is_of_storage(error: BaseException) -> bool:
    """Return whether an error says that something can't be written, whatever raised it."""
    return _number_of(error) is not None


def storage_error(error: BaseException, folder: Path | None = None) -> StorageError | None:
    """Return the error that says why a folder can't be written; None for any other reason."""
    number = _number_of(error)
    if number is None:
        return None
    where = "a file" if folder is None else printable(str(folder))
    return StorageError(
        f"{where} can't be written: {os.strerror(number)}. What was there is kept: "
        f"{_REMEDIES[number]}, and start the command again"
    )


def _number_of(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        return error.errno
    said = str(error)
    return next((number for number in _REPORTED_BY_ENGINES if os.strerror(number) in said), None)


# Descriptions: what a run, a night or a comparison has as a file of JSON.


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

"""Files that may be anything: a pipe, a folder, a link to itself, or named in no UTF-8."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path
from uuid import uuid4

from contract.errors import StorageError

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


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole: a kill or a full disk leaves the old one or the new one.

    Raises:
        OSError: it can't be written; the old one is left.
    """
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise


def replace_text(path: Path, text: str) -> None:
    """Write a text as a whole, in UTF-8 whatever the locale; a name that is none is escaped.

    Raises:
        OSError: it can't be written; the old one is left.
    """
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
    return next((one for one in _REPORTED_BY_ENGINES if os.strerror(one) in said), None)

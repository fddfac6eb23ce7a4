"""Files that may be anything: a pipe, a folder, a link to itself, or named in no UTF-8."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path

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
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with suppress(FileNotFoundError):
            part.unlink()
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise


def printable(name: str) -> str:
    """A file's name in valid UTF-8: bytes that are none are escaped."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")

"""Safe reads of a run's files, which may be a pipe, a folder, a cyclic link, or badly named."""

from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path


def is_regular(path: Path) -> bool:
    """Return whether a path is a file, or a link to one, that can be read without blocking."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_regular(path: Path) -> bytes | None:
    """Return a file's content; None if it is no regular file or can't be read."""
    if not is_regular(path):
        return None
    try:
        return path.read_bytes()
    except OSError:
        return None


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a log, with invalid UTF-8 replaced; none if it can't be read."""
    content = read_regular(path)
    if content is not None:
        yield from TextIOWrapper(BytesIO(content), encoding="utf-8", errors="replace")


def printable(name: str) -> str:
    """Return a file's name with invalid UTF-8 escaped."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")

"""Files of a run that may be anything: a pipe, a folder, a link to itself, or named in no UTF-8."""

from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path


def is_regular(path: Path) -> bool:
    """Whether a path is a file, or a link to one; False for what would block or can't be read."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_regular(path: Path) -> bytes | None:
    """What a file holds; None if it is no regular file or can't be read."""
    if not is_regular(path):
        return None
    try:
        return path.read_bytes()
    except OSError:
        return None


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a log; bytes that are no UTF-8 are replaced. None of what can't be read."""
    content = read_regular(path)
    if content is not None:
        yield from TextIOWrapper(BytesIO(content), encoding="utf-8", errors="replace")


def printable(name: str) -> str:
    """A file's name in valid UTF-8: bytes that are none are escaped."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")

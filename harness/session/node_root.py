"""The folder of a session's nodes, and the removal of those of dead sessions."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_PARENT = ".nodes"
_LOCK = "lock"


@contextmanager
def node_root(results: Path) -> Iterator[Path]:
    """A folder for one session's nodes below `results`, removed at the end.

    A session that was killed leaves its folder; the next one removes it, since nobody holds its
    lock any more.
    """
    parent = results / _PARENT
    parent.mkdir(parents=True, exist_ok=True)
    sweep(results)
    root = Path(tempfile.mkdtemp(prefix="session-", dir=parent))
    with (root / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield root
        finally:
            shutil.rmtree(root, ignore_errors=True)


def sweep(results: Path) -> int:
    """Remove the folders of sessions that ended without doing so; returns how many."""
    swept = 0
    for root in (results / _PARENT).glob("session-*"):
        try:
            with (root / _LOCK).open("w") as lock:
                if not _acquire(lock):
                    continue
                shutil.rmtree(root, ignore_errors=True)
                swept += 1
        except FileNotFoundError:
            continue
    return swept


def _acquire(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

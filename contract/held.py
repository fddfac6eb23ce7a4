"""Folders and names that a process holds by a lock until it ends.

The kernel releases the lock however the process ends. A reused process id or a changed
clock does not make a dead process look alive.
"""

import fcntl
import os
import shutil
import socket
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from uuid import uuid4

from contract.errors import WaitTimeoutError
from contract.waiting import wait_until

_ASKED_SECONDS = 0.5


class HeldFolder:
    """A new folder that belongs to this process.

    Attributes:
        path: its path; the name ends with the host's, as other hosts may share the file system.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        """Create the folder and take its lock."""
        while True:
            self.path = parent / f"{prefix}{uuid4().hex}@{socket.gethostname()}"
            self.path.mkdir()
            # Another process may remove it as unheld before the lock is taken.
            try:
                descriptor = os.open(self.path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if self.path.exists():
                break
            os.close(descriptor)
        self.remove = weakref.finalize(self, _remove, self.path, descriptor)
        """Remove the folder with its content, and end this object."""


class HeldName:
    """A name that belongs to this process, by a file that stays.

    Raises:
        BlockingIOError: another process holds it.
    """

    def __init__(self, file: Path) -> None:
        """Hold it until this object is closed or collected."""
        with suppress(OSError):
            os.close(os.open(file, os.O_RDONLY | os.O_CREAT | os.O_NONBLOCK, 0o644))
        try:
            # Who asks whether it is held holds it meanwhile.
            descriptor = wait_until(
                lambda: _locked(file), what=f"the lock of {file}", timeout_seconds=_ASKED_SECONDS
            )
        except WaitTimeoutError:
            raise BlockingIOError(f"another process holds {file}") from None
        self.release = weakref.finalize(self, os.close, descriptor)
        """Release the lock, as the end of this object does."""


def hold_first(names: Iterable[str], prefix: str) -> tuple[str, HeldName]:
    """Hold and return the first of some names that no process of this machine holds.

    Args:
        names: in the order in which they are tried.
        prefix: of the names' files, for one kind of names.

    Raises:
        BlockingIOError: other processes hold all of them.
    """
    for name in names:
        with suppress(BlockingIOError):
            return name, HeldName(Path(gettempdir()) / f"{prefix}{name}.lock")
    raise BlockingIOError(f"other processes hold all names of {prefix}*.lock")


def remove_unheld(parent: Path, prefix: str) -> int:
    """Remove a prefix's folders of this host whose processes have ended; returns their number."""
    removed = 0
    for folder in parent.glob(f"{prefix}*@{socket.gethostname()}"):
        if (descriptor := _locked(folder)) is not None:
            _remove(folder, descriptor)
            removed += 1
    return removed


def is_held(path: Path) -> bool:
    """Whether a process holds a folder or file; one that can't be opened counts as held."""
    if not path.exists():
        return False
    if (descriptor := _locked(path)) is None:
        return True
    os.close(descriptor)
    return False


def _remove(folder: Path, descriptor: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(descriptor)


def _locked(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor

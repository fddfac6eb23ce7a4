"""Folders and names that a process holds by a lock until it ends.

The kernel releases the lock however the process ends. A reused process id or a changed
clock does not make a dead process look alive.
"""

import fcntl
import os
import shutil
import socket
import weakref
from contextlib import suppress
from pathlib import Path
from uuid import uuid4


class HeldFolder:
    """A new folder that belongs to this process.

    Attributes:
        path: where it is. Its name ends with the host's, as other hosts may share the file system.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        """Make the folder, and hold it."""
        while True:
            self.path = parent / f"{prefix}{uuid4().hex}@{socket.gethostname()}"
            self.path.mkdir()
            descriptor = os.open(self.path, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if self.path.exists():
                break
            # Another process took it for one that nobody holds, before the lock was there.
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
            os.close(os.open(file, os.O_RDONLY | os.O_CREAT, 0o644))
        descriptor = _locked(file)
        if descriptor is None:
            raise BlockingIOError(f"another process holds {file}")
        weakref.finalize(self, os.close, descriptor)


def remove_unheld(parent: Path, prefix: str) -> None:
    """Remove the folders of a prefix whose processes, of this host, have ended."""
    for folder in parent.glob(f"{prefix}*@{socket.gethostname()}"):
        if (descriptor := _locked(folder)) is not None:
            _remove(folder, descriptor)


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
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor

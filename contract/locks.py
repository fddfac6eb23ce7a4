"""Folders and names that a process holds by a lock until it ends.

The kernel releases the lock however the process ends. A reused process id or a changed
clock does not make a dead process look alive. A lock file is no link, and its content stays.
"""

import errno
import os
import re
import shutil
import socket
import stat
import subprocess
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Self
from uuid import uuid4

import psutil
from filelock import FileLock, Timeout, lock_descriptor

from contract.errors import PrerequisiteError, WaitTimeoutError
from contract.files import printable
from contract.waiting import wait_until

_ASKED_SECONDS = 0.5
_KILLED_SECONDS = 5.0
_WRITER_SECONDS = 3600.0
"""To judge a large run takes many minutes."""
_LOCKS = Path("/proc/locks")
_LOCKED_FILE = 5
"""Of Linux: the locks of all processes; in a line, the process and then the file it holds."""
_MODE = 0o600
_HOST_CHARACTERS = 30
TEMPORARY = "fencepost-"
"""How the names of folders among temporary files begin."""
_MOUNTS = Path("/proc/self/mounts")
"""Of Linux: in a line, a device and where it is mounted; what would divide words is octal."""
_OCTAL = re.compile(r"\\([0-7]{3})")
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Swept:
    """What a sweep removed.

    Attributes:
        removed: the number of folders, or containers.
        kept: what could not be removed: a line each, with the reason and what to do.
    """

    removed: int = 0
    kept: tuple[str, ...] = ()

    def __add__(self, other: "Swept") -> "Swept":
        """Add what another sweep removed."""
        return Swept(self.removed + other.removed, self.kept + other.kept)


class HeldFolder:
    """A new folder that belongs to this process.

    Attributes:
        path: its path; the name ends with the host's, as other hosts may share the file system.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        """Create the folder and take its lock."""
        while True:
            self.path = parent / f"{prefix}{uuid4().hex[:12]}@{_host()}"
            self.path.mkdir()
            # Another process may remove it as unheld before the lock is taken.
            try:
                descriptor = os.open(self.path, _READ)
            except FileNotFoundError:
                continue
            # One that has it would remove it, and may be stopped before it does.
            if lock_descriptor(descriptor, blocking=False) and self.path.exists():
                break
            os.close(descriptor)
        self.remove = weakref.finalize(self, _remove, self.path, descriptor)
        """Remove the folder with its content, and end this object."""


@contextmanager
def temporary_folder(what: str, *, parent: Path | None = None) -> Iterator[Path]:
    """A folder among temporary files that only this user can read, removed at the end.

    `fencepost clean` removes that of a killed process (`remove_temporary`), unless another
    `parent` was given.
    """
    held = HeldFolder(parent or Path(gettempdir()), f"{TEMPORARY}{what}-")
    held.path.chmod(0o700)
    try:
        yield held.path
    finally:
        held.remove()


def remove_temporary() -> Swept:
    """Remove the temporary folders of this host whose processes have ended.

    The programs that were started for one, and name it in their command, end with it: a JVM that
    can't write where it listens would stay.
    """
    parent = Path(gettempdir())
    end_programs_of_unheld(parent, TEMPORARY)
    return remove_unheld(parent, TEMPORARY)


def end_programs_of_unheld(parent: Path, prefix: str) -> None:
    """Kill the programs of this user whose command names a folder whose process has ended.

    With what they started, as a package's programs of apt.
    """
    names = [str(folder) for folder in _of_this_host(parent, prefix) if not is_held(folder)]
    killed: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "uids"]) if names else ():
        words = process.info["cmdline"] or ()
        is_own = process.info["uids"] and process.info["uids"].real == os.getuid()
        if is_own and any(name in word for name in names for word in words):
            with suppress(psutil.Error):
                killed += [*process.children(recursive=True), process]
    for process in killed:
        with suppress(psutil.Error):
            process.kill()
    with suppress(WaitTimeoutError):
        wait_until(
            lambda: all(map(_is_over, killed)),
            what="the end of what was killed",
            timeout_seconds=_KILLED_SECONDS,
        )


def _is_over(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


class HeldName:
    """A name that belongs to this process, by a file that stays, and that is no link.

    Raises:
        BlockingIOError: another process holds it.
    """

    def __init__(self, file: Path, *, content: bytes = b"") -> None:
        """Hold it until this object is closed or collected; content replaces that of the file."""
        lock = _file_lock(file, content)
        try:
            # Who asks whether it is held holds it meanwhile.
            lock.acquire(timeout=_ASKED_SECONDS)
            release: Callable[[], None] = lock.release
        except OSError:
            # A folder in its place is damage. It is held as a file is.
            descriptor = _try_lock(file) if file.is_dir() and not file.is_symlink() else None
            if descriptor is None:
                raise BlockingIOError(f"another process holds {file}") from None
            release = partial(os.close, descriptor)
        self.release = weakref.finalize(self, release)
        """Release the lock, as the end of this object does."""

    def __enter__(self) -> Self:
        """Hold it during a block."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Release it."""
        self.release()


@contextmanager
def alone_by(file: Path, *, what: str, timeout_seconds: float) -> Iterator[None]:
    """Hold a lock file, which is made if there is none, when no other process does any more.

    Args:
        file: stays as it is.
        what: is awaited, in words.
        timeout_seconds: the limit; a stopped process holds a lock until it goes on or ends.

    Raises:
        WaitTimeoutError: another process has it for longer; says which.
        PrerequisiteError: it can't be opened, or is a link.
    """
    lock = _file_lock(file)
    try:
        _take(lambda: _is_acquired(lock), file, what=what, timeout_seconds=timeout_seconds)
    except OSError as error:
        raise PrerequisiteError(
            f"{file} can't be a lock ({error.strerror}): it has to be a file that this user can "
            "write into, and no link"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder that stays. All who write into it do so, and wait for each other.

    Raises:
        WaitTimeoutError: another process holds it for too long.
        OSError: it can't be opened.
    """
    descriptor = os.open(folder, _READ & ~os.O_NOFOLLOW)
    try:
        _take(
            lambda: lock_descriptor(descriptor, blocking=False),
            folder,
            what=f"the end of what another process writes into {folder}",
            timeout_seconds=_WRITER_SECONDS,
        )
        yield
    finally:
        os.close(descriptor)


def _take(is_taken: Callable[[], bool], path: Path, *, what: str, timeout_seconds: float) -> None:
    wait_until(
        is_taken,
        what=what,
        timeout_seconds=timeout_seconds,
        last_seen=lambda: f"{_holder(path)} holds the lock.",
        hint="wait for that process, or end it; then start the command again",
    )


def _file_lock(file: Path, content: bytes = b"") -> FileLock:
    """A lock by a file. One that other users could write into, or have linked, gets no content."""

    def write(descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, content)

    return FileLock(
        file,
        mode=_MODE,
        thread_local=False,
        fallback_to_soft=False,
        on_acquired=write if content else None,
    )


def _is_acquired(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def hold_first(names: Iterable[str], prefix: str) -> tuple[str, HeldName]:
    """Hold and return the first of some names that no process of this user holds.

    Args:
        names: in the order in which they are tried; none names a folder.
        prefix: of the names' files, for one kind of names.

    Raises:
        BlockingIOError: other processes hold all of them.
        PrerequisiteError: a name, or the folder of locks, can't be used.
    """
    folder = _folder_of_locks()
    for name in names:
        file = f"{prefix}{name}.lock"
        if Path(file).name != file:
            raise PrerequisiteError(f"{name!r} can't be a name here: it has a slash")
        with suppress(BlockingIOError):
            return name, HeldName(folder / file)
    raise BlockingIOError(f"other processes hold all names of {prefix}*.lock")


def _folder_of_locks() -> Path:
    """The folder of this user's locks, which no other user can write into.

    Raises:
        PrerequisiteError: something else has its name.
    """
    folder = Path(gettempdir()) / f"fencepost-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_own or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PrerequisiteError(
            f"{folder} is no folder that only this user can write into: remove it, or set TMPDIR "
            "to a folder of your own"
        )
    return folder


def remove_unheld(parent: Path, prefix: str) -> Swept:
    """Remove a prefix's folders of this host whose processes have ended."""
    swept = Swept()
    for folder in _of_this_host(parent, prefix):
        if (descriptor := _try_lock(folder)) is not None:
            problem = _remove(folder, descriptor)
            swept += Swept(removed=1) if problem is None else Swept(kept=(_kept(folder, problem),))
    return swept


def _kept(folder: Path, problem: OSError) -> str:
    why = problem.strerror
    if problem.filename is not None:
        why = f"{why}: {printable(os.fsdecode(problem.filename))}"
    return (
        f"{printable(str(folder))} of a killed command can't be removed ({why}): allow that, e.g. "
        "by `umount`, `chattr -i` or `mount -o remount,rw`, or remove it as its owner; then start "
        "the command again"
    )


def _host() -> str:
    """The end of this host's name, which differs most; a socket's path has 107 characters."""
    return socket.gethostname()[-_HOST_CHARACTERS:]


def _of_this_host(parent: Path, prefix: str) -> Iterator[Path]:
    return parent.glob(f"{prefix}*@{_host()}")


def is_held(path: Path) -> bool:
    """Whether a process holds a folder or file; one that can't be opened counts as held."""
    if not path.exists():
        return False
    if (descriptor := _try_lock(path)) is None:
        return True
    os.close(descriptor)
    return False


def _remove(folder: Path, descriptor: int) -> OSError | None:
    """Remove a folder as far as possible, and release it; returns why something stays."""
    problem = None
    try:
        _unmount_below(folder)
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.lexists(folder):
            shutil.rmtree(folder)
    except OSError as error:
        problem = error
    finally:
        os.close(descriptor)
    return problem if os.path.lexists(folder) else None


def _unmount_below(folder: Path) -> None:
    """Unmount what a killed mmdebstrap left mounted, of this machine, in the system it made.

    Raises:
        OSError: something stays mounted, which is not to be removed.
    """
    for place in reversed(_mounted_below(folder)):
        with suppress(OSError):
            subprocess.run(["umount", "--", place], check=False, capture_output=True)
    for place in _mounted_below(folder):
        raise OSError(errno.EBUSY, "something is mounted there", str(place))


def _mounted_below(folder: Path) -> list[Path]:
    """The places below a folder where something is mounted, the outer ones first."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return []
    places = (
        Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), os.fsdecode(line.split(b" ")[1])))
        for line in lines
    )
    above = folder.resolve()
    return [place for place in places if place.is_relative_to(above)]


def _try_lock(path: Path) -> int | None:
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        return None
    with suppress(OSError):
        if lock_descriptor(descriptor, blocking=False):
            return descriptor
    os.close(descriptor)
    return None


def _holder(path: Path) -> str:
    """The process that has the lock of a file or folder, where this system reports it."""
    found = path.stat()
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    with suppress(OSError, psutil.Error):
        for line in _LOCKS.read_text().splitlines():
            words = line.split()
            if words[1] == "FLOCK" and words[_LOCKED_FILE] == file:
                process = psutil.Process(int(words[_LOCKED_FILE - 1]))
                if process.status() != psutil.STATUS_STOPPED:
                    return f"process {process.pid}"
                return f"process {process.pid}, which is stopped (kill -CONT lets it go on),"
    return "another process"

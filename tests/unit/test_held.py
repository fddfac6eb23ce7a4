"""Folders and names that belong to a process as long as it lives."""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from contract import held as held_module
from contract.errors import WaitTimeoutError
from contract.held import HeldFolder, HeldName, alone_in, is_held, remove_unheld
from contract.waiting import limited, wait_until
from harness.nightly.state import hold_night
from harness.session.names import reserve_session
from tests.unit.test_nightly_state import wanted

HOLDER = (
    "import sys; from pathlib import Path; from contract.held import HeldFolder; "
    "held = HeldFolder(Path(sys.argv[1]), 'x-'); print(held.path, flush=True); sys.stdin.read()"
)

STOPPED = (
    "import fcntl, os, signal, sys; lock = os.open(sys.argv[1], os.O_RDONLY); "
    "fcntl.flock(lock, fcntl.LOCK_EX); os.kill(os.getpid(), signal.SIGSTOP)"
)


@contextmanager
def stopped_with_the_lock_of(path: Path) -> Iterator[int]:
    """A process that holds the lock of a file or folder, and is stopped."""
    holder = subprocess.Popen([sys.executable, "-c", STOPPED, str(path)])
    try:
        seen = psutil.Process(holder.pid)
        wait_until(
            lambda: seen.status() == psutil.STATUS_STOPPED, what="its stop", timeout_seconds=30
        )
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system lists no locks")
def test_a_wait_for_a_stopped_process_ends_and_names_it(tmp_path: Path) -> None:
    nights, names = tmp_path / "nights", tmp_path / "nodes" / "names.lock"
    root = names.parent / "root"
    for folder in (nights, root):
        folder.mkdir(parents=True)
    for lock in (nights / ".lock", names):
        lock.touch()
    waits = {
        tmp_path: lambda: alone_in(tmp_path).__enter__(),
        names: lambda: reserve_session(tmp_path / "results", root),
        nights / ".lock": lambda: hold_night(nights, wanted(), is_fresh=False).__enter__(),
    }
    for lock, wait in waits.items():
        with stopped_with_the_lock_of(lock) as holder, limited(0.1):
            told = rf"process {holder}, which is stopped \(kill -CONT lets it go on\)"
            with pytest.raises(WaitTimeoutError, match=told):
                wait()


def test_a_holder_that_the_system_does_not_name_is_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_module, "_LOCKS", tmp_path / "none")
    with (
        alone_in(tmp_path),
        limited(0),
        pytest.raises(WaitTimeoutError, match="another process holds the lock"),
        alone_in(tmp_path),
    ):
        pass


def test_a_new_folder_does_not_wait_for_who_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who sweeps may be stopped between the lock and the end of a folder."""
    swept: list[int] = []
    mkdir = Path.mkdir

    def held_once(path: Path) -> None:
        mkdir(path)
        if not swept:
            swept.append(os.open(path, os.O_RDONLY))
            fcntl.flock(swept[0], fcntl.LOCK_EX | fcntl.LOCK_NB)

    monkeypatch.setattr(Path, "mkdir", held_once)
    held = HeldFolder(tmp_path, "x-")
    assert len(list(tmp_path.iterdir())) == 2
    os.close(swept[0])
    assert remove_unheld(tmp_path, "x-") == 1
    assert held.path.exists()


def test_a_folder_is_held_until_its_process_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    (folder / "file").touch()
    assert is_held(folder)
    remove_unheld(tmp_path, "x-")
    assert folder.exists()
    holder.kill()
    holder.communicate()
    assert not is_held(folder)
    remove_unheld(tmp_path, "y-")
    assert folder.exists()
    remove_unheld(tmp_path, "x-")
    assert not folder.exists()


def test_a_folder_goes_with_its_object_and_another_hosts_stays(tmp_path: Path) -> None:
    held = HeldFolder(tmp_path, "x-")
    folder = held.path
    assert folder.is_dir()
    del held
    assert not folder.exists()
    other = tmp_path / "x-1@another-host"
    other.mkdir()
    remove_unheld(tmp_path, "x-")
    assert other.exists()


def test_a_name_has_one_holder(tmp_path: Path) -> None:
    first = HeldName(tmp_path / "name")
    with pytest.raises(BlockingIOError):
        HeldName(tmp_path / "name")
    assert is_held(tmp_path / "name")
    del first
    HeldName(tmp_path / "name")
    assert not is_held(tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


def test_who_asks_does_not_keep_a_name_from_its_holder(tmp_path: Path) -> None:
    """`is_held` holds a name for an instant; a holder that begins in it waits."""
    name = tmp_path / "name"
    asker = HeldName(name)
    threading.Timer(0.1, asker.release).start()
    HeldName(name)


def test_a_folder_that_is_swept_before_it_is_held_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    mkdir = Path.mkdir

    def swept_once(path: Path) -> None:
        mkdir(path)
        made.append(path)
        if len(made) == 1:
            path.rmdir()

    monkeypatch.setattr(Path, "mkdir", swept_once)
    held = HeldFolder(tmp_path, "x-")
    assert made == [made[0], held.path]
    assert is_held(held.path)

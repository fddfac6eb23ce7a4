"""Folders and names that belong to a process as long as it lives."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from contract.held import HeldFolder, HeldName, is_held, remove_unheld

HOLDER = (
    "import sys; from pathlib import Path; from contract.held import HeldFolder; "
    "held = HeldFolder(Path(sys.argv[1]), 'x-'); print(held.path, flush=True); sys.stdin.read()"
)


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

"""A playground is known by its lock; what a killed one left in its files counts for nothing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.nodes.pool import PoolKind
from contract.errors import NodeError, UsageError
from contract.held import HeldName, is_held
from harness.commands import playground as commands
from harness.commands.playground import _start, playground
from harness.leftovers import end_playground
from harness.playground.state import (
    FILE,
    FOLDER,
    KEEPER,
    Playground,
    find,
    forget,
    forget_ended,
    keeper,
    write_down,
)

pytestmark = pytest.mark.timeout(30)

PLAYGROUND = Playground(
    cluster="embedded",
    kafka="4.4.0",
    topic="orders",
    bootstrap="",
    jars="",
    servers=[],
    socket="/nonexistent",
)
HOLDER = (
    "import sys; from pathlib import Path; from contract.held import HeldName\n"
    "held = HeldName(Path(sys.argv[2])); print('held', flush=True); sys.stdin.read()"
)
GARBAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(b'{"cluster": "embed'),
    "binary": lambda path: path.write_bytes(b"\xff\x00\xfe"),
    "number": lambda path: path.write_text("99999999"),
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "loop": lambda path: path.symlink_to(path),
}


@pytest.fixture(params=sorted(GARBAGE))
def garbage(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A results folder whose playground files are damaged."""
    (tmp_path / FOLDER).mkdir()
    GARBAGE[request.param](tmp_path / FILE)
    return tmp_path


@pytest.fixture
def held(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds the lock of a playground, and looks like what keeps one up."""
    (tmp_path / FOLDER).mkdir(exist_ok=True)
    words = ["harness.playground.keep", str(tmp_path / KEEPER), str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_none_runs_by_files_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no playground runs here"):
        find(tmp_path)
    write_down(PLAYGROUND, tmp_path)
    with pytest.raises(UsageError, match="has ended"):
        find(tmp_path)
    assert keeper(tmp_path) is None


def test_garbage_of_a_dead_one_is_none_and_is_removed(garbage: Path) -> None:
    with pytest.raises(UsageError, match="has ended"):
        find(garbage)
    end_playground(garbage)
    assert not os.path.lexists(garbage / FILE)
    forget(garbage)


def test_a_damaged_lock_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    for name, make in GARBAGE.items():
        if name == "loop":
            continue
        make(tmp_path / KEEPER)
        assert not is_held(tmp_path / KEEPER)
        HeldName(tmp_path / KEEPER).release()
        end_playground(tmp_path)
        if (tmp_path / KEEPER).is_dir():
            (tmp_path / KEEPER).rmdir()
        else:
            (tmp_path / KEEPER).unlink()


def test_of_two_that_start_at_once_the_second_shows_the_first(
    tmp_path: Path, held: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    assert held.poll() is None
    write_down(PLAYGROUND, tmp_path)
    refused = subprocess.Popen([sys.executable, "-c", "raise SystemExit('one runs already')"])
    refused.wait()
    monkeypatch.setattr(commands.subprocess, "Popen", lambda *_, **__: refused)
    assert _start(PoolKind.EMBEDDED, "4.4.0", tmp_path) == PLAYGROUND


def test_one_that_does_not_come_up_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_down(PLAYGROUND, tmp_path)
    forget_ended(tmp_path)
    assert not (tmp_path / FILE).exists()
    refused = subprocess.Popen([sys.executable, "-c", "raise SystemExit('no')"])
    refused.wait()
    monkeypatch.setattr(commands.subprocess, "Popen", lambda *_, **__: refused)
    with pytest.raises(NodeError, match="did not come up"):
        _start(PoolKind.EMBEDDED, "4.4.0", tmp_path)


def test_garbage_of_a_living_one_names_the_mend(
    garbage: Path, held: "subprocess.Popen[str]"
) -> None:
    with pytest.raises(NodeError, match="make clean"):
        find(garbage)
    found = keeper(garbage)
    assert found is not None
    assert found.pid == held.pid


def test_a_living_one_is_found_and_ended(tmp_path: Path, held: "subprocess.Popen[str]") -> None:
    with pytest.raises(UsageError, match="not up yet"):
        find(tmp_path)
    with pytest.raises(UsageError, match="make clean"):
        playground(results=tmp_path, stop=True)
    write_down(PLAYGROUND, tmp_path)
    forget_ended(tmp_path)
    assert find(tmp_path) == PLAYGROUND
    end_playground(tmp_path)
    assert held.poll() is not None
    with pytest.raises(UsageError, match="no playground runs here"):
        find(tmp_path)

"""Ctrl-C: children end, one line is told, and what was collected is kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from contract.run_folder import RunFolder
from harness.session.salvage import salvage
from tests.descriptions import description_of, plan_of

WHY = "the run was interrupted before it had collected all"
OF_CHILD = (
    "import os, sys; from contract.child import run_child\n"
    "script = 'import os, time; print(os.getpid(), os.getsid(0), flush=True); time.sleep(60)'\n"
    "run_child([sys.executable, '-c', script], what='it')"
)
STARTED = 1_790_000_000_000_000


def test_an_interrupt_ends_a_child_that_no_terminal_interrupts() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", OF_CHILD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    child, session = map(int, parent.stdout.readline().split())
    assert session == child
    parent.send_signal(signal.SIGINT)
    _, said = parent.communicate(timeout=30)
    assert said.rstrip().endswith("KeyboardInterrupt")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


INTERRUPTED_WHILE_STARTING = """
import os, signal, subprocess
from contract import child
class Slow(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGINT)
        print(self.pid, flush=True)
subprocess.Popen = Slow
child.run_child(["sleep", "60"], what="it")
"""


def test_an_interrupt_while_a_child_starts_ends_it_too() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_STARTING],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")
    with pytest.raises(ProcessLookupError):
        os.kill(int(ended.stdout), 0)


def test_an_interrupt_while_the_command_line_is_loaded_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "typer.py"
    broken.write_text("raise KeyboardInterrupt\n")
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-m", "harness"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "error: interrupted\n")


def described(folder: RunFolder, *, ended_micros: int | None) -> None:
    folder.write_plan(plan_of(question=""))
    folder.write_run(description_of(started_micros=STARTED, ended_micros=ended_micros))


def test_a_run_that_was_broken_off_keeps_its_histories_and_says_why(tmp_path: Path) -> None:
    folder, root = RunFolder(tmp_path / "run"), tmp_path / "nodes"
    described(folder, ended_micros=None)
    worker = root / "node-1" / "workers" / "clients"
    worker.mkdir(parents=True)
    (worker / "history.jsonl").write_bytes(b'{"seq":0')
    salvage(folder, root, why=WHY)
    assert folder.run().error == WHY
    assert folder.run().ended_micros is not None
    assert (folder.history / "clients.jsonl").read_bytes() == b'{"seq":0'
    assert (folder.tables / "histories.parquet").exists()


def test_a_run_that_was_ended_or_never_described_is_left_as_it_is(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    described(folder, ended_micros=STARTED + 1)
    before = msgspec.json.encode(folder.run())
    salvage(folder, tmp_path, why=WHY)
    assert msgspec.json.encode(folder.run()) == before
    (folder.path / "run.json").write_bytes(b"{")
    salvage(folder, tmp_path, why=WHY)
    assert (folder.path / "run.json").read_bytes() == b"{"

"""Ctrl-C: children end, one line is told, and what was collected is kept."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import psutil
import pytest

from contract import child as child_module
from contract.child import run_child
from contract.errors import AnalysisError
from contract.run_folder import RunFolder
from contract.waiting import wait_until
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


LEFT = (
    "import os, signal, subprocess, sys, time\n"
    "one = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    "one.send_signal(signal.SIGSTOP); print(one.pid, flush=True)\n"
)
KILLED, WAITS = "os.kill(os.getpid(), signal.SIGKILL)", "time.sleep(60)"


@pytest.mark.parametrize("then", [KILLED, WAITS])
def test_what_a_child_started_ends_with_it_though_it_is_stopped(
    then: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spark's JVM ends when the analysis does, but not if it can't notice that."""
    monkeypatch.setattr(child_module, "_GROUP_SECONDS", 0.5)
    if then == WAITS:
        threading.Timer(3, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises((KeyboardInterrupt, AnalysisError)):
        run_child([sys.executable, "-c", LEFT + then], what="it")
    stopped = int(capfd.readouterr().out)
    wait_until(lambda: is_over(stopped), what="its end", timeout_seconds=30)


def is_over(process: int) -> bool:
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("script", ["", "trap '' INT; "])
def test_what_asks_the_command_line_to_end_is_an_interrupt(
    number: signal.Signals, script: str, tmp_path: Path
) -> None:
    """Also where a script's background ignores Ctrl-C."""
    waits = tmp_path / "typer.py"
    waits.write_text("import time\nprint('there', flush=True)\ntime.sleep(60)\n")
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        ["sh", "-c", f"{script}exec {sys.executable} -m harness"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "error: interrupted\n")


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

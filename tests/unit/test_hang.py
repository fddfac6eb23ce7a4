"""A phase that takes too long ends the session, with the stacks of its processes."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.nodes import stacks
from cluster.nodes.stacks import stacks_of
from contract.errors import WaitTimeoutError
from contract.terms import BY_HAND, HUNG_AFTER, PHASE_LIMIT_SECONDS, Stage
from contract.waiting import wait_until
from harness.clients.history import HistoryWriter
from harness.session import hang
from harness.session.hang import HangWatch, Hung
from harness.story import phases as of_phases
from harness.story.phases import Phases

WAITING = """
import faulthandler, signal
faulthandler.register(signal.SIGQUIT)
print("ready", flush=True)
while True:
    signal.pause()
"""
SILENT = """
import signal
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
"""


@contextmanager
def worker(
    folder: Path, program: str, plan: str = "node-3/workers/fake/plan.json"
) -> Iterator[int]:
    """A process that looks like a worker, once it has printed that it is ready."""
    log = folder / "output.log"
    words = [sys.executable, "-c", program, "harness.clients.fake_worker", plan]
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: log.stat().st_size > 0, what="its start", timeout_seconds=30)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_worker_prints_its_stacks_and_is_named_by_its_node(tmp_path: Path) -> None:
    with worker(tmp_path, WAITING) as pid:
        ((name, text),) = stacks_of([pid]).items()
    assert name == f"node-3-fake-{pid}"
    assert text.startswith("Current thread")
    assert "ready" not in text


def test_what_is_no_worker_is_not_asked(tmp_path: Path) -> None:
    with worker(tmp_path, WAITING, plan="other.json") as pid:
        assert stacks_of([pid, 1 << 30]) == {}
    assert "thread" not in (tmp_path / "output.log").read_text()


def test_a_stopped_worker_and_a_silent_one_have_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "PRINT_SECONDS", 0.2)
    with worker(tmp_path, SILENT) as pid:
        assert list(stacks_of([pid]).values()) == ["The process printed no stacks within 0.2 s.\n"]
        subprocess.run(["kill", f"-{signal.SIGSTOP}", str(pid)], check=True)
        wait_until(
            lambda: (
                list(stacks_of([pid]).values())
                == ["The process is stopped (SIGSTOP), so it prints no stacks.\n"]
            ),
            what="its stop",
            timeout_seconds=10,
        )


def test_a_phase_that_takes_too_long_is_stopped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hang, "limit_of", lambda phase: 0.05 if phase == "slow" else 60)
    stopped = threading.Event()
    watch = HangWatch(lambda: {"node-1": "stack"}, stopped.set)
    watch.phase("quick")
    watch.phase("slow")
    assert stopped.wait(30)
    watch.end()
    assert watch.hung == Hung("slow", HUNG_AFTER * 0.05, {"node-1": "stack"})


def test_phases_in_time_and_the_end_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hang, "limit_of", lambda _: 60)
    watch = HangWatch(dict, lambda: pytest.fail("stopped"))
    for phase in ("a", "b"):
        watch.phase(phase)
    watch.end()
    assert watch.hung is None


def test_stacks_that_fail_still_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hang, "limit_of", lambda _: 0.01)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def fail() -> dict[str, str]:
        raise OSError

    stopped = threading.Event()
    watch = HangWatch(fail, stopped.set)
    watch.phase("slow")
    assert stopped.wait(30)
    watch.end()
    assert watch.hung is not None


def test_a_limit_is_twice_that_of_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    class Timer(threading.Timer):
        def __init__(self, seconds: float, *rest: object) -> None:
            given.append(seconds)
            super().__init__(seconds, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(threading, "Timer", Timer)
    watch = HangWatch(dict, lambda: None)
    watch.phase("held: a cut")
    watch.phase("starting ducktape")
    watch.end()
    assert given == [2 * PHASE_LIMIT_SECONDS[Stage.HELD], 2 * PHASE_LIMIT_SECONDS[Stage.COLLECTING]]


def seen_at_second_look() -> bool:
    looks = iter((False, True))
    try:
        return wait_until(lambda: next(looks), what="a state", timeout_seconds=60)
    except WaitTimeoutError:
        return False


def test_a_wait_ends_before_its_phase_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait that has no time left looks once."""
    hangs = HUNG_AFTER * PHASE_LIMIT_SECONDS[Stage.STEADY]
    history = HistoryWriter(tmp_path / "driver.jsonl")
    phases = Phases(history)
    try:
        phases.enter(Stage.STEADY, "writing and reading")
        assert seen_at_second_look()
        monkeypatch.setattr(of_phases, "_END_SECONDS", hangs)
        phases.enter(Stage.STEADY, "writing for too long")
        assert not seen_at_second_look()
        phases.enter(Stage.STEADY, BY_HAND)
        assert seen_at_second_look(), "a person may take longer"
        phases.enter(Stage.STEADY, "writing for too long")
        assert not seen_at_second_look()
    finally:
        phases.end()
        history.close()
    assert seen_at_second_look()


def test_stacks_are_files_of_the_run(tmp_path: Path) -> None:
    hung = Hung("held: a cut", 360.0, {"node-1-kafka-7": "stack"})
    hung.write(tmp_path / "run")
    assert (tmp_path / "run" / "stacks" / "node-1-kafka-7.txt").read_text() == "stack"
    assert hung.why.startswith("the run hung and was stopped: 'held: a cut' took longer than 360 s")

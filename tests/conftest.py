"""For all tests: the program, no timed asserts, hypothesis's deadline among them; who runs what."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Else each process that a test starts compiles all modules of the project again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As of what a script starts in the background. What tests start would ignore it too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

Fencepost = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).resolve().parents[1]
SPARK, DOCKER = "spark", "docker"
EXAM = "tests/unit/test_exam.py"
FIRST = (
    EXAM,
    SPARK,
    DOCKER,
    "tests/live/test_demo.py",
    "tests/live/test_nightly.py",
    "tests/live/test_faults.py",
    "tests/live/test_scenarios.py",
    "tests/live/test_playground.py",
    "tests/live/test_hung_worker.py",
    "tests/live/test_users_files.py",
    "tests/live/test_tampered_wire.py",
    "tests/live/test_held_messages.py",
    "tests/live/test_committed_offsets.py",
)
"""What takes longest. It begins before all else, so that both workers end at about one time."""


def unit_of(nodeid: str) -> str:
    """The tests that one worker runs in turn.

    A worker has one cluster at a time, and one session of Spark; Docker has one worker's.
    """
    file = nodeid.partition("::")[0]
    return DOCKER if file.startswith("tests/live/test_docker") else file


@cache
def starts_spark(file: str) -> bool:
    return file.startswith("tests/unit/") and "SparkContext" in (ROOT / file).read_text()


def place_of(nodeid: str) -> int:
    unit = unit_of(nodeid)
    unit = SPARK if unit != EXAM and starts_spark(unit) else unit
    return FIRST.index(unit) if unit in FIRST else len(FIRST)


class InUnits(LoadScopeScheduling):
    """A worker that has nothing to do gets the next unit."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> InUnits:
    """Of pytest-xdist: who runs what, in the order in which it is collected."""
    config.option.loadscopereorder = False
    return InUnits(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: place_of(item.nodeid))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The command of each test that failed."""
    stats = terminalreporter.stats
    for report in {
        report.nodeid: report for kind in ("failed", "error") for report in stats.get(kind, [])
    }.values():
        mark = "-m long " if "long" in getattr(report, "keywords", ()) else ""
        terminalreporter.write_line(
            f"run again: .venv/bin/pytest {mark}{shlex.quote(report.nodeid)}"
        )


@pytest.fixture
def fencepost(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Fencepost:
    """The program, called in this process: to load it for each test would take minutes."""
    from harness.__main__ import main  # noqa: PLC0415 - few tests call it

    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> "subprocess.CompletedProcess[str]":
        monkeypatch.setattr(sys, "argv", ["fencepost", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, *capfd.readouterr())

    return call

"""The process of the analysis starts before its runs are collected, and never stays."""

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from analysis import early
from contract.waiting import wait_until
from harness.commands import judging
from harness.commands.judging import EarlyAnalysis, count_stories, options_of
from harness.session.catalog import ScenarioFile

EARLY, ORDINARY = 3, 4
ANALYSIS = """
import json, os, sys
from contract.child import report_end
log, *options = sys.argv[1:]
is_early = options[-1:] == ["--early"]
del options[-1 if is_early else -2:]
assert options in ([], ["--verbose", "--json"])
assert is_early or sys.argv[-2] == "--"
with open(log, "a") as file:
    print(os.getpid(), file=file)
folder = json.loads(sys.stdin.readline()) if is_early else sys.argv[-1]
report_end()
sys.exit((3 if is_early else 4) if folder == "results/a\\nb" else 5)
"""
FOLDER = Path("results/a\nb")
SETTLING, FINAL, COLLECTING = "settling: x", "final read: x", "collecting: x"
HELD, STARTING = "held: kill follower:orders-0", "starting: servers and clients"


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Waits until so many processes of the analysis have started, and returns their ids."""
    log = tmp_path / "log"
    monkeypatch.setattr(judging, "_COMMAND", (sys.executable, "-c", ANALYSIS, str(log)))

    def ids() -> list[int]:
        return [int(line) for line in log.read_text().split()] if log.exists() else []

    def wait(count: int) -> list[int]:
        what = f"{count} processes of the analysis"
        wait_until(lambda: len(ids()) >= count, what=what, timeout_seconds=30)
        return ids()

    return wait


@pytest.mark.parametrize(
    ("stories", "phases", "judged"),
    [
        (1, ["starting ducktape", STARTING, HELD], ORDINARY),
        (1, [STARTING, HELD, SETTLING], EARLY),
        (1, [STARTING, "healed: x", FINAL], EARLY),
        (1, [HELD, COLLECTING], EARLY),
        (1, [HELD, SETTLING, FINAL, COLLECTING], EARLY),
        (1, [HELD, SETTLING, HELD], ORDINARY),
        (1, [HELD, SETTLING, HELD, SETTLING], EARLY),
        (2, [HELD, SETTLING, COLLECTING], ORDINARY),
        (2, [HELD, SETTLING, COLLECTING, STARTING, HELD, SETTLING, COLLECTING], EARLY),
        (1, [SETTLING, COLLECTING, STARTING, HELD], ORDINARY),
    ],
)
def test_it_starts_when_no_fault_follows(
    started: Callable[[int], list[int]], stories: int, phases: list[str], judged: int
) -> None:
    with EarlyAnalysis(stories=stories) as analysis:
        for phase in phases:
            analysis.phase(phase)
        assert analysis.judge(FOLDER) == judged
    assert len(started(1)) >= 1


@pytest.mark.parametrize(("phases", "judged"), [([SETTLING], EARLY), ([], ORDINARY)])
def test_it_is_given_the_options_of_the_command(
    started: Callable[[int], list[int]], phases: list[str], judged: int
) -> None:
    options = options_of(is_verbose=True, as_json=True)
    assert options == ("--verbose", "--json")
    with EarlyAnalysis(stories=1, options=options) as analysis:
        for phase in phases:
            analysis.phase(phase)
        assert analysis.judge(FOLDER) == judged
    assert len(started(1)) == 1
    assert options_of(is_verbose=False, as_json=False) == ()


def test_one_that_ended_before_it_was_asked_is_replaced(
    started: Callable[[int], list[int]],
) -> None:
    with EarlyAnalysis(stories=1) as analysis:
        analysis.phase(SETTLING)
        (process,) = started(1)
        os.kill(process, 9)
        wait_until(
            lambda: psutil.Process(process).status() == psutil.STATUS_ZOMBIE,
            what="its end",
            timeout_seconds=30,
        )
        assert analysis.judge(FOLDER) == ORDINARY
    assert len(started(2)) == 2


def test_one_that_is_not_asked_ends_with_the_command(started: Callable[[int], list[int]]) -> None:
    def interrupted(block: AbstractContextManager[EarlyAnalysis]) -> None:
        with block as analysis:
            analysis.phase(SETTLING)
            started(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted(EarlyAnalysis(stories=1))
    (process,) = started(1)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_stories_are_the_declared_sets_of_parameters() -> None:
    matrix = ScenarioFile("a", Path("a"), "?", ({"x": 1}, {"x": 2}))
    unknown = ScenarioFile("b", Path("b"), "?", None)
    assert count_stories([matrix, unknown], {}) == 3
    assert count_stories([matrix], {"x": 2}) == 1


class ReplacedError(Exception):
    """Raised in the place of replacing the process."""


@pytest.mark.parametrize(("rows_max", "problem"), [(-1, None), (10, OSError())])
def test_it_starts_again_for_many_rows_and_without_spark(
    rows_max: int, problem: OSError | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(**_: Any) -> str:
        if problem is not None:
            raise problem
        return "session"

    def replace(_: str, argv: list[str]) -> None:
        raise ReplacedError(*argv[1:])

    (tmp_path / "plan.json").write_text("{}")
    monkeypatch.setattr(early, "open_session", opened)
    monkeypatch.setattr(early, "warm_up", lambda _: None)
    monkeypatch.setattr(early, "lower_priority", lambda: lambda: None)
    monkeypatch.setattr(early, "ROWS_OF_A_TASK", rows_max)
    monkeypatch.setattr(os, "execv", replace)
    monkeypatch.setattr(sys, "argv", ["analysis", "--json", "--early"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(str(tmp_path)) + "\n"))
    with pytest.raises(ReplacedError) as ended:
        early.ready_for_folder()
    assert ended.value.args == ("-P", "-m", "analysis", "--json", "--", str(tmp_path))

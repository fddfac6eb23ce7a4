"""A night on a real cluster: killed in the middle of a run, continued, judged in one page."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import psutil
import pytest
from command import POOL, fencepost
from damages import DAMAGES, copy_run, damage, wrong

from analysis.tasks import Share, judge_here
from contract.manifest import write_manifest
from contract.nights import NIGHT_FILE
from contract.run_folder import RunFolder, find_runs
from contract.terms import Check
from contract.verdicts import RunVerdict
from contract.waiting import wait_until
from harness.commands.run import decode_again

SUITE = """
description: the harness is neither blind nor sees what is not there
runs:
  - scenario: baseline
  - scenario: canary
    expect: fail
"""

pytestmark = [pytest.mark.live, pytest.mark.timeout(1200)]
PLANTED = 7
EVALUATED_MIN = 60
OF_THE_MACHINE = {"clock_skew", "commit_unavailable", "fetch_unavailable", "produce_unavailable"}
"""Checks that permit what a busy machine does: waits, and clocks that are read late."""


def nightly(folder: Path, *options: str, content: str = SUITE) -> subprocess.Popen[str]:
    suite = folder / "tiny.yml"
    suite.write_text(content)
    words = ("nightly", "--suite", str(suite), "--cluster", POOL.value, "--results", str(folder))
    return fencepost(*words, *options)


def night_folders(folder: Path) -> list[Path]:
    return [file.parent for file in folder.glob(f"nightly/*/{NIGHT_FILE}")]


def state(folder: Path) -> dict[str, Any]:
    (night,) = night_folders(folder)
    content: dict[str, Any] = json.loads((night / NIGHT_FILE).read_text())
    return content


def statuses(folder: Path) -> list[str]:
    return [run["status"] for run in state(folder)["runs"]] if night_folders(folder) else []


def plans(folder: Path, *, run: int) -> list[Path]:
    """Where the run's scenario began, which is before its brokers do."""
    return list(folder.glob(f"nightly/*/runs/{run:03}-*/**/plan.json"))


def processes_below(folder: Path, word: str = "") -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in part for part in process.info["cmdline"] or [])
        and word in " ".join(process.info["cmdline"])
    ]


def identity(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_ino, found.st_mtime_ns


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a night that was killed in its second run, and continued."""
    folder = tmp_path_factory.mktemp("night")
    killed = nightly(folder, "--seed", "19902")
    wait_until(
        lambda: bool(plans(folder, run=2) and processes_below(folder, "kafka.Kafka")),
        what="brokers of the second run",
        timeout_seconds=120,
        last_seen=lambda: statuses(folder),
    )
    second = nightly(folder)
    said, _ = second.communicate()
    assert second.returncode == 64, said
    assert f"is running already, in process {killed.pid}" in said

    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    wait_until(lambda: not processes_below(folder), what="their end", timeout_seconds=30)
    before = state(folder)
    assert [run["status"] for run in before["runs"]] == ["done", "running"]
    (kept,) = plans(folder, run=1)
    (half,) = plans(folder, run=2)
    identities = identity(kept), identity(half)

    continued = nightly(folder)
    said, _ = continued.communicate()
    assert continued.returncode == 0, said
    after = state(folder)
    assert after["runs"][0] == before["runs"][0]
    assert after["seed"] == 19902
    assert [run["seed"] for run in after["runs"]] == [run["seed"] for run in before["runs"]]
    assert identity(kept) == identities[0]
    (redone,) = plans(folder, run=2)
    assert identity(redone) != identities[1]
    (night,) = night_folders(folder)
    assert str(night / "report" / "index.html") in said
    return folder


@pytest.fixture(scope="module")
def run_of(home: Path) -> Callable[[str], RunFolder]:
    """The run of a scenario."""
    return {run.run().scenario: run for run in find_runs(home)}.__getitem__


def test_a_killed_night_goes_on_where_it_was(home: Path) -> None:
    (night,) = night_folders(home)
    summary = json.loads((night / "report" / "summary.json").read_text())
    assert [(run["scenario"], run["verdict"], run["outcome"]) for run in summary["runs"]] == [
        ("baseline", "pass", "expected"),
        ("canary", "fail", "expected"),
    ]
    page = (night / "report" / "index.html").read_text()
    for run in summary["runs"]:
        assert f'href="../{run["report"]}"' in page
        assert (night / run["report"]).exists()
    assert not list((home / ".nodes").glob("session-*"))
    assert processes_below(home) == []


def test_baseline_holds_in_all_that_it_can_judge(run_of: Callable[[str], RunFolder]) -> None:
    verdict = verdict_of(run_of("baseline"))
    reported = {name: check["verdict"] for name, check in verdict["checks"].items()}
    assert set(reported) == set(Check)
    assert {reported[name] for name in verdict["must_judge"]} == {"holds"}
    permitted = {name for name, found in reported.items() if found == "permitted"}
    assert permitted <= OF_THE_MACHINE
    assert set(reported.values()) - {"permitted"} == {"holds", "not_evaluable"}
    evaluated = [name for name, check in verdict["checks"].items() if check["evaluated"]]
    assert len(evaluated) >= EVALUATED_MIN


def test_the_canarys_loss_is_found_with_its_exact_count(
    run_of: Callable[[str], RunFolder],
) -> None:
    lost = verdict_of(run_of("canary"))["checks"]["lost_record"]
    assert lost["verdict"] == "violated"
    assert sum(finding["evidence"]["records"] for finding in lost["examples"]) == PLANTED


def test_a_damaged_run_never_passes_and_accuses_nobody(
    run_of: Callable[[str], RunFolder], tmp_path: Path
) -> None:
    for number in range(2):
        copy, dice = RunFolder(tmp_path / str(number)), Random(19902 + number)
        copy_run(run_of("baseline"), copy)
        damaged = damage(copy, dice.choice(sorted(DAMAGES)), dice)
        assert decode_again(copy), damaged
        judged = judge_here(Share(at_once=1), copy)
        assert wrong(copy, judged.verdict) == "", damaged


@pytest.mark.parametrize("seconds", [-3600, pytest.param(5, marks=pytest.mark.long)])
def test_a_clock_that_was_set_accuses_nobody(
    run_of: Callable[[str], RunFolder], tmp_path: Path, seconds: int
) -> None:
    """All wall clock times of one history are shifted from the middle on."""
    copy = RunFolder(tmp_path / "copy")
    copy_run(run_of("baseline"), copy)
    history = max(copy.history.glob("*.jsonl"), key=lambda file: file.stat().st_size)
    events = [msgspec.json.decode(line) for line in history.read_bytes().splitlines()]
    for event in events[len(events) // 2 :]:
        for name in ("wall_micros", "began_micros", "asked_micros"):
            if event.get(name) is not None:
                event[name] += seconds * 1_000_000
    history.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    write_manifest(copy)
    assert decode_again(copy)
    judged = judge_here(Share(at_once=1), copy)
    assert judged.verdict is not None, judged.error
    assert judged.verdict.verdict is not RunVerdict.FAIL


def verdict_of(run: RunFolder) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run.report / "verdict.json").read_text())
    return content


@pytest.mark.long
def test_two_nights_at_once_keep_apart(tmp_path: Path) -> None:
    """On one pool, in one results folder: both begin before either ends."""
    suite = "{description: d, runs: [{scenario: baseline}]}"
    both = [nightly(tmp_path, "--fresh", content=suite) for _ in range(2)]
    wait_until(
        lambda: (
            len({path.relative_to(tmp_path).parts[1] for path in plans(tmp_path, run=1)})
            == len(both)
        ),
        what="both stories",
        timeout_seconds=200,
    )
    assert [night.poll() for night in both] == [None, None]
    said = [night.communicate()[0] for night in both]
    assert [night.returncode for night in both] == [0, 0], said
    for night in night_folders(tmp_path):
        summary = json.loads((night / "report" / "summary.json").read_text())
        assert [(run["verdict"], run["outcome"]) for run in summary["runs"]] == [
            ("pass", "expected")
        ]
    assert not list((tmp_path / ".nodes").glob("session-*"))
    assert processes_below(tmp_path) == []

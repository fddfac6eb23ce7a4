"""The scenarios on a real cluster, from the command line to the verdict."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import POOL, ROOT, fencepost, finished, ran, records_in

from bench.torture import copies
from bench.torture.attempt import Setting
from cluster.nodes.pool import PoolKind
from contract.checks import Check
from contract.run_folder import find_runs
from contract.waiting import wait_until
from harness.session.catalog import find_scenarios

PLANTED = 7
EVALUATED_MIN = 60
SEED = 19902
READERS = ("restart", "live")

pytestmark = [pytest.mark.live, pytest.mark.timeout(500)]

Verdicts = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str]:
    results = tmp_path_factory.mktemp("results")
    options = ("--cluster", POOL.value, "--seed", "19902", "--results", str(results))
    code, said = finished("run", "baseline", "canary", "truncation_detection", *options)
    return results / "latest", code, said


@pytest.fixture(scope="module")
def verdict_of(session: tuple[Path, int, str]) -> Verdicts:
    verdicts = [json.loads(path.read_text()) for path in session[0].rglob("verdict.json")]
    by_scenario = {verdict["scenario"]: verdict for verdict in verdicts}
    assert by_scenario, session[2]
    return by_scenario.__getitem__


def test_the_session_tells_all_and_fails_for_the_canary(session: tuple[Path, int, str]) -> None:
    folder, code, said = session
    assert code == 1, said
    summary = json.loads((folder / "report" / "summary.json").read_text())
    assert {run["scenario"]: run["verdict"] for run in summary["runs"]} == {
        "baseline": "pass",
        "canary": "fail",
        "truncation_detection": "pass",
    }
    page = (folder / "report" / "index.html").read_text()
    for run in summary["runs"]:
        assert run["report"] in page
        assert (folder / "report" / run["report"]).exists()
    assert "seed 19902" in said


def test_baseline_holds_in_all_that_it_can_judge(verdict_of: Verdicts) -> None:
    verdict = verdict_of("baseline")
    reported = {name: check["verdict"] for name, check in verdict["checks"].items()}
    assert set(reported) == set(Check)
    assert {reported[name] for name in verdict["must_judge"]} == {"holds"}
    assert set(reported.values()) == {"holds", "not_evaluable"}
    evaluated = [name for name, check in verdict["checks"].items() if check["evaluated"]]
    assert len(evaluated) >= EVALUATED_MIN


def test_the_canarys_loss_is_found_with_its_exact_count(verdict_of: Verdicts) -> None:
    lost = verdict_of("canary")["checks"]["lost_record"]
    assert lost["verdict"] == "violated"
    assert sum(finding["evidence"]["records"] for finding in lost["examples"]) == PLANTED


def test_each_client_goes_on_as_reported_after_a_truncation(verdict_of: Verdicts) -> None:
    """(resumed at, never delivered), or the exception; see docs/truncation-detection.md."""
    divergence = " (divergent offset 100)"
    raised = {
        "java": f"LogTruncationException{divergence}",
        "java-consumer": f"LogTruncationException{divergence}",
        "librdkafka": "_AUTO_OFFSET_RESET",
        "kafka-python": f"LogTruncationError{divergence}",
    }
    expected: dict[str, object] = {}
    for client, reset, reader in product(raised, ("earliest", "latest", "none"), READERS):
        if reader == "restart" and client in ("librdkafka", "kafka-python"):
            reported: object = (200, 100)
        else:
            reported = raised[client] if reset == "none" else (100, 0)
        expected[f"{client}.{reset}.{reader}"] = reported
    verdict = verdict_of("truncation_detection")
    found = {
        row["group"]: row["exception"] or (row["resumed_at"], row["never_delivered"])
        for row in verdict["resumption"]
    }
    assert found == expected
    assert set(verdict["clients"]) == set(raised)
    commits = {(row["committed_offset"], row["committed_epoch"]) for row in verdict["resumption"]}
    assert commits == {(200, 0)}


@pytest.mark.long
@pytest.mark.parametrize("hazard", ["newer_epoch", "truncation"])
def test_each_client_commits_as_reported_behind_another(tmp_path: Path, hazard: str) -> None:
    """All that librdkafka withholds, and nothing else; see docs/mixed-languages.md."""
    options = ("--cluster", POOL.value, "--seed", "19902", "--results", str(tmp_path))
    parameters = json.dumps({"hazard": hazard})
    code, said = finished("run", "mixed_languages", "--parameters", parameters, *options)
    assert code == 0, said
    (page,) = (tmp_path / "latest").rglob("verdict.json")
    withheld = json.loads(page.read_text())["checks"]["withheld_commit"]
    assert withheld["verdict"] == "violated"


def test_a_damaged_run_never_passes_and_accuses_nobody(
    session: tuple[Path, int, str], tmp_path: Path
) -> None:
    (plan,) = session[0].glob("Baseline*/**/plan.json")
    setting = Setting(tmp_path, seed=SEED, hours=2 / 60, run=plan.parent, kept=tmp_path)
    made = list(copies.DAMAGED_RUNS.attempts(setting))
    assert len(made) == 2
    assert {one.tried: one.problem for one in made} == {one.tried: "" for one in made}


@pytest.mark.skipif(POOL is PoolKind.LOOPBACK, reason="all other tests here run on it already")
def test_the_loopback_pool_does_without_namespaces(tmp_path: Path) -> None:
    (baseline,) = find_scenarios(["baseline"])
    (run,) = find_runs(ran(baseline, tmp_path, PoolKind.LOOPBACK))
    assert run.run().error is None
    rows = records_in(run)
    # Each value is on three replicas, and two groups read it.
    assert rows["sends"] > 0
    assert (rows["replica_records"], rows["polls"]) == (3 * rows["sends"], 2 * rows["sends"])


def brokers_below(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if "kafka.Kafka" in (process.info["cmdline"] or [])
        and any(str(folder) in word for word in process.info["cmdline"])
    ]


def started(folder: Path, pool: PoolKind) -> subprocess.Popen[str]:
    """A run that has come so far as to have three brokers, and that can be interrupted."""
    # A shell lets what it starts in the background ignore interrupts, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        harness = fencepost("run", "baseline", "--cluster", pool.value, "--results", str(folder))
    finally:
        signal.signal(signal.SIGINT, before)
    wait_until(lambda: len(brokers_below(folder)) == 3, what="three brokers", timeout_seconds=60)
    return harness


@pytest.mark.long
def test_versions_of_a_client_are_told_apart_by_the_verdict(tmp_path: Path) -> None:
    event = json.dumps({"event": "election"})
    options = ("--cluster", POOL.value, "--results", str(tmp_path), "--parameters", event)
    code, said = finished("run", "client_versions", *options)
    assert code == 0, said
    (folder,) = find_runs(tmp_path / "latest")
    named = {group.client for group in folder.plan().groups}
    reported = folder.run().clients
    assert set(reported) == {*named, "java"}
    for client in named:
        assert client.partition("@")[2] in reported[client]
    verdict = json.loads((folder.report / "verdict.json").read_text())
    stuck = verdict["checks"]["stuck_consumer"]["examples"]
    assert {one["client"] for one in stuck} == {"kafka-python@3.0.5"}


@pytest.mark.parametrize("pool", sorted({POOL, PoolKind.LOOPBACK}))
def test_an_interrupted_run_ends_at_once_and_leaves_nothing(tmp_path: Path, pool: PoolKind) -> None:
    harness = started(tmp_path, pool)
    harness.send_signal(signal.SIGINT)
    harness.communicate(timeout=30)
    assert harness.returncode == 130
    wait_until(lambda: not brokers_below(tmp_path), what="the brokers' end", timeout_seconds=30)
    assert not list((tmp_path / ".nodes").glob("session-*"))


def test_a_killed_run_leaves_no_process_and_the_next_sweeps_its_folder(tmp_path: Path) -> None:
    harness = started(tmp_path, POOL)
    harness.send_signal(signal.SIGKILL)
    harness.communicate()
    wait_until(lambda: not brokers_below(tmp_path), what="the brokers' end", timeout_seconds=30)
    assert list((tmp_path / ".nodes").glob("session-*"))
    swept = [sys.executable, "-m", "harness", "clean", "--results", str(tmp_path)]
    subprocess.run(swept, cwd=ROOT, check=True)
    assert not list((tmp_path / ".nodes").glob("session-*"))

"""The scenarios on a real cluster, from the command line to the verdict."""

import json
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import psutil
import pytest
from command import POOL, ROOT, fencepost, records_in, run_to_end
from listening import Listening, run_and_look

from cluster.nodes.pool import PoolKind
from contract.run_folder import find_runs
from contract.waiting import wait_until

SEED = 19902
READERS = ("restart", "live")

pytestmark = [pytest.mark.live, pytest.mark.timeout(500)]


@pytest.fixture(scope="module")
def truncation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Listening]:
    results = tmp_path_factory.mktemp("results")
    return results / "latest", run_and_look(POOL, results, "truncation_detection", seed=SEED)


def test_a_session_has_a_page_and_no_socket_that_is_open_to_other_machines(
    truncation: tuple[Path, Listening],
) -> None:
    """Servers in namespaces of their own listen in none of this machine's."""
    folder, seen = truncation
    assert seen.code == 0, seen.said
    assert f"seed {SEED}" in seen.said
    (run,) = json.loads((folder / "report" / "summary.json").read_text())["runs"]
    assert (run["scenario"], run["verdict"]) == ("truncation_detection", "pass")
    assert run["report"] in (folder / "report" / "index.html").read_text()
    assert (folder / "report" / run["report"]).exists()
    assert seen.is_known == (POOL is PoolKind.LOOPBACK)
    assert seen.elsewhere == set()


def test_each_client_goes_on_as_reported_after_a_truncation(
    truncation: tuple[Path, Listening],
) -> None:
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
    (found_at,) = truncation[0].rglob("verdict.json")
    verdict = json.loads(found_at.read_text())
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
    code, said = run_to_end("run", "mixed_languages", "--parameters", parameters, *options)
    assert code == 0, said
    (page,) = (tmp_path / "latest").rglob("verdict.json")
    withheld = json.loads(page.read_text())["checks"]["withheld_commit"]
    assert withheld["verdict"] == "violated"


@pytest.mark.skipif(POOL is PoolKind.LOOPBACK, reason="all other tests here run on it already")
def test_the_loopback_pool_does_without_namespaces(tmp_path: Path) -> None:
    seen = run_and_look(PoolKind.LOOPBACK, tmp_path, "baseline")
    assert seen.code == 0, seen.said
    assert seen.is_known
    assert seen.elsewhere == set()
    (run,) = find_runs(tmp_path / "latest")
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


def start_run(folder: Path) -> subprocess.Popen[str]:
    """A run that has come so far as to have three brokers, and that can be interrupted."""
    # A shell lets what it starts in the background ignore interrupts, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        harness = fencepost("run", "baseline", "--cluster", POOL.value, "--results", str(folder))
    finally:
        signal.signal(signal.SIGINT, before)
    wait_until(lambda: len(brokers_below(folder)) == 3, what="three brokers", timeout_seconds=60)
    return harness


@pytest.mark.long
def test_versions_of_a_client_are_told_apart_by_the_verdict(tmp_path: Path) -> None:
    event = json.dumps({"event": "election"})
    options = ("--cluster", POOL.value, "--results", str(tmp_path), "--parameters", event)
    code, said = run_to_end("run", "client_versions", *options)
    assert code == 0, said
    (folder,) = find_runs(tmp_path / "latest")
    named = {group.client for group in folder.plan().groups}
    reported = folder.run().clients
    assert set(reported) == {*named, "java"}
    for client in named:
        assert client.partition("@")[2] in reported[client]
    verdict = json.loads((folder.report / "verdict.json").read_text())
    stuck = verdict["checks"]["stuck_consumer"]["examples"]
    assert {finding["client"] for finding in stuck} == {"kafka-python@3.0.5"}


def test_an_interrupted_run_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    harness = start_run(tmp_path)
    harness.send_signal(signal.SIGINT)
    harness.communicate(timeout=30)
    assert harness.returncode == 130
    wait_until(lambda: not brokers_below(tmp_path), what="the brokers' end", timeout_seconds=30)
    assert not list((tmp_path / ".nodes").glob("session-*"))


def test_a_killed_run_leaves_no_process_and_the_next_sweeps_its_folder(tmp_path: Path) -> None:
    harness = start_run(tmp_path)
    harness.send_signal(signal.SIGKILL)
    harness.communicate()
    wait_until(lambda: not brokers_below(tmp_path), what="the brokers' end", timeout_seconds=30)
    assert list((tmp_path / ".nodes").glob("session-*"))
    swept = [sys.executable, "-m", "harness", "clean", "--results", str(tmp_path)]
    subprocess.run(swept, cwd=ROOT, check=True)
    assert not list((tmp_path / ".nodes").glob("session-*"))

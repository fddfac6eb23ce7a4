"""A worker that hangs, and a scenario's process that is killed, cost only what they hold."""

from pathlib import Path

import psutil
import pytest
from command import POOL, fencepost, finished, ran, records_in

from contract.manifest import MANIFEST_FILE
from contract.run_folder import find_runs
from contract.waiting import wait_until
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

PROGRAM = "harness.session.ducktape_program"
SCENARIO = Path(__file__).with_name("hung_worker_test.py")


def test_all_else_is_collected_and_the_run_is_undecided(tmp_path: Path) -> None:
    (run,) = find_runs(ran(read_scenario(SCENARIO), tmp_path, POOL))
    error = run.run().error or ""
    assert "could not close worker kafka-python: WaitTimeoutError" in error
    rows = records_in(run)
    assert (rows["sends"], rows["replica_records"]) == (100, 100)
    assert {path.stem for path in run.history.glob("*.jsonl")} == {
        "clients",
        "driver",
        "kafka-python",
        "observer",
    }
    assert (run.path / MANIFEST_FILE).exists()
    code, said = finished("analyze", str(run.path))
    assert code == 2, said
    assert "history of kafka-python: its end is missing" in said


def test_a_killed_scenario_ends_the_run_and_its_histories_are_kept(tmp_path: Path) -> None:
    harness = fencepost("run", "baseline", "--cluster", POOL.value, "--results", str(tmp_path))
    histories = "**/workers/observer/history.jsonl"
    wait_until(lambda: list(tmp_path.glob(histories)), what="an observer", timeout_seconds=120)
    scenario = wait_until(
        lambda: scenario_below(tmp_path), what="a broker of the scenario", timeout_seconds=60
    )
    scenario.kill()
    said, _ = harness.communicate(timeout=200)
    assert harness.returncode == 2, said
    (run,) = find_runs(tmp_path)
    assert "process was killed" in (run.run().error or "")
    assert {"driver.jsonl", "observer.jsonl"} <= {path.name for path in run.history.iterdir()}


def scenario_below(folder: Path) -> psutil.Process | None:
    """The process that runs a scenario: the nearest one of ducktape's above its brokers."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "kafka.Kafka" in words and any(str(folder) in word for word in words):
            above = [one for one in process.parents() if PROGRAM in one.cmdline()[:3]]
            return above[0] if above else None
    return None

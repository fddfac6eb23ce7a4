"""A worker that hangs, and a scenario's process that is killed, cost only what they hold."""

from pathlib import Path

import msgspec
import psutil
import pyarrow.parquet as pq
import pytest
from command import POOL, fencepost, ran, run_to_end

from contract.manifest import MANIFEST_FILE
from contract.packages import python
from contract.run_folder import RunFolder, find_runs
from contract.tables import MICROS_PER_SECOND
from contract.terms import PHASE_LIMIT_SECONDS, Stage
from contract.waiting import wait_until
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(600)]

PROGRAM = python("harness.session.ducktape_program")[1:]
SCENARIO = Path(__file__).with_name("hung_worker_test.py")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """By the worker that hung."""
    folder = ran(read_scenario(SCENARIO), tmp_path_factory.mktemp("results"), POOL)
    return {str(run.plan().parameters["hung"]): run for run in find_runs(folder)}


@pytest.mark.parametrize("hung", ["kafka-python", "observer"])
def test_all_else_is_collected_and_the_run_is_undecided(
    hung: str, runs: dict[str, RunFolder]
) -> None:
    run = runs[hung]
    error = run.run().error or ""
    what = "the observer" if hung == "observer" else f"worker {hung}"
    assert f"could not close {what}: WaitTimeoutError" in error
    assert pq.read_table(run.tables / "sends.parquet").num_rows > 0
    assert (run.tables / "replica_records.parquet").exists() == (hung != "observer")
    assert {path.stem for path in run.history.glob("*.jsonl")} == {
        "clients",
        "driver",
        "kafka-python",
        "observer",
    }
    assert (run.path / MANIFEST_FILE).exists()
    code, said = run_to_end("analyze", str(run.path))
    assert code == 2, said
    lacking = "could not decode the replicas" if hung == "observer" else "its end is missing"
    assert lacking in said


@pytest.mark.parametrize("hung", ["kafka-python", "observer"])
def test_collecting_ends_in_its_time(hung: str, runs: dict[str, RunFolder]) -> None:
    run = runs[hung]
    lines = (run.history / "driver.jsonl").read_bytes().splitlines()
    began = next(
        event["wall_micros"]
        for event in map(msgspec.json.decode, lines)
        if event.get("stage") == Stage.COLLECTING
    )
    took_micros = (run.run().ended_micros or 0) - began
    assert took_micros < PHASE_LIMIT_SECONDS[Stage.COLLECTING] * MICROS_PER_SECOND


def test_a_killed_scenario_ends_the_run_and_its_histories_are_kept(tmp_path: Path) -> None:
    harness = fencepost("run", "baseline", "--cluster", POOL.value, "--results", str(tmp_path))
    histories = "**/workers/observer/history.jsonl"
    wait_until(lambda: any(tmp_path.glob(histories)), what="an observer", timeout_seconds=120)
    scenario = wait_until(
        lambda: scenario_below(tmp_path), what="a broker of the scenario", timeout_seconds=60
    )
    scenario.kill()
    said, _ = harness.communicate(timeout=200)
    assert harness.returncode == 2, said
    (run,) = find_runs(tmp_path)
    assert "process was killed by signal 9" in (run.run().error or "")
    assert {"driver.jsonl", "observer.jsonl"} <= {path.name for path in run.history.iterdir()}


def scenario_below(folder: Path) -> psutil.Process | None:
    """The process that runs a scenario: the nearest one of ducktape's above its brokers."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "kafka.Kafka" in words and any(str(folder) in word for word in words):
            above = [parent for parent in process.parents() if parent.cmdline()[1:4] == PROGRAM]
            return above[0] if above else None
    return None

"""A worker that hangs at the end costs its own history's end, and nothing else."""

from pathlib import Path

import pytest
from command import POOL, finished, ran

from analysis.load import count_rows
from harness.catalog import read_scenario
from harness.contract.manifest import MANIFEST_FILE
from harness.contract.run_folder import find_runs

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

SCENARIO = Path(__file__).with_name("hung_worker_test.py")


def test_all_else_is_collected_and_the_run_is_undecided(tmp_path: Path) -> None:
    (run,) = find_runs(ran(read_scenario(SCENARIO), tmp_path, POOL))
    error = run.run().error or ""
    assert "could not close worker kafka-python: WaitTimeoutError" in error
    rows = count_rows(run)
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

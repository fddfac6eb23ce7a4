"""A fault that was made ineffective leaves its run undecided."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT, ran

from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from harness.catalog import read_scenario
from harness.contract.run_folder import find_runs

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)

SCENARIO = Path(__file__).with_name("blunt_fault_test.py")


def test_a_fault_that_does_not_bite_leaves_the_run_undecided(tmp_path: Path) -> None:
    folder = ran(read_scenario(SCENARIO), tmp_path, PoolKind.EMBEDDED)
    judged = subprocess.run(
        [sys.executable, "-m", "analysis", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 2, judged.stdout + judged.stderr
    (run,) = find_runs(folder)
    verdict = json.loads((run.report / "verdict.json").read_text())
    assert verdict["verdict"] == "undecided"
    assert [fault["landed"] for fault in verdict["faults"]] == [False]
    assert {check["verdict"] for check in verdict["checks"].values()} == {"holds"}

"""A fault that was made ineffective is recorded as not landed, whatever its verb."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import blunt_data_test
import blunt_servers_test
import pytest
from command import ROOT, ran

from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from contract.run_folder import find_runs
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)

SCENARIOS = {
    "blunt_servers_test.py": blunt_servers_test.STORIES,
    "blunt_data_test.py": blunt_data_test.STORIES,
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_fault_without_an_effect_has_landed(scenario: str, tmp_path: Path) -> None:
    verdict = judged(scenario, tmp_path)
    problems = json.loads((tmp_path / "seen.json").read_text())
    assert problems == dict.fromkeys(SCENARIOS[scenario])
    landed = [fault["landed"] for fault in verdict["faults"]]
    assert dict(zip(SCENARIOS[scenario], landed, strict=True)) == dict.fromkeys(problems, False)
    assert verdict["verdict"] == "undecided"


def judged(scenario: str, results: Path) -> Any:
    """The verdict of a run that came to its end."""
    folder = ran(read_scenario(Path(__file__).with_name(scenario)), results, PoolKind.EMBEDDED)
    subprocess.run([sys.executable, "-m", "analysis", str(folder)], cwd=ROOT, check=False)
    (run,) = find_runs(folder)
    assert run.run().error is None
    return json.loads((run.report / "verdict.json").read_text())

"""A fault that was made ineffective is recorded as not landed, whatever its verb."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ineffective_data_test
import ineffective_servers_test
import pytest
from command import ROOT, ran

from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from contract.run_folder import find_runs
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(900)]
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)

SCENARIOS = {
    "ineffective_servers_test.py": ineffective_servers_test.STORIES,
    "ineffective_data_test.py": ineffective_data_test.STORIES,
}


Results = Callable[[str], Path]


@pytest.fixture(scope="module")
def results_of(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results of each scenario, judged together: Spark starts once."""
    results = {scenario: tmp_path_factory.mktemp(Path(scenario).stem) for scenario in SCENARIOS}
    sessions = [
        ran(read_scenario(Path(__file__).with_name(scenario)), folder, PoolKind.EMBEDDED)
        for scenario, folder in results.items()
    ]
    analysis = [sys.executable, "-m", "analysis", *map(str, sessions)]
    subprocess.run(analysis, cwd=ROOT, check=False)
    return results.__getitem__


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_fault_without_an_effect_has_landed(scenario: str, results_of: Results) -> None:
    (run,) = find_runs(results_of(scenario))
    assert run.run().error is None
    problems = json.loads((results_of(scenario) / "seen.json").read_text())
    assert problems == dict.fromkeys(SCENARIOS[scenario])
    verdict = json.loads((run.report / "verdict.json").read_text())
    landed = [fault["landed"] for fault in verdict["faults"]]
    assert dict(zip(SCENARIOS[scenario], landed, strict=True)) == dict.fromkeys(problems, False)
    assert verdict["verdict"] == "undecided"

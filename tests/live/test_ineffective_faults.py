"""A fault that was made ineffective is recorded as not landed, whatever its verb."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT, ran, telling
from ineffective_test import REPORTED_FILE, STORIES

from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from contract.run_folder import find_runs
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(900)]
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)

SCENARIO = Path(__file__).with_name("ineffective_test.py")
Told = dict[str, tuple[str | None, bool]]
"""Of each story: its problem, and whether its fault has landed."""


@pytest.fixture(scope="module")
def told_faults(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    results = tmp_path_factory.mktemp("ineffective")
    with telling(request):
        session = ran(read_scenario(SCENARIO), results, PoolKind.EMBEDDED)
    subprocess.run([sys.executable, "-m", "analysis", str(session)], cwd=ROOT, check=False)
    (run,) = find_runs(results)
    assert run.run().error is None
    problems = json.loads((results / REPORTED_FILE).read_text())
    verdict = json.loads((run.report / "verdict.json").read_text())
    assert verdict["verdict"] == "undecided"
    landed = [fault["landed"] for fault in verdict["faults"]]
    return dict(zip(problems, zip(problems.values(), landed, strict=True), strict=True))


@pytest.mark.parametrize("story", STORIES)
def test_no_fault_without_an_effect_has_landed(story: str, told_faults: Told) -> None:
    """`-k "[kill]"` tells one story only."""
    assert told_faults[story] == (None, False)

"""A response is held, or an error takes its place, and only what had its effect has landed."""

import json
from pathlib import Path

import pytest
from command import POOL, ran, run_to_end
from held_messages_test import LANDED, NOT_LANDED

from contract.run_folder import find_runs
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

SCENARIO = Path(__file__).with_name("held_messages_test.py")


def test_a_response_is_held_and_one_is_refused(tmp_path: Path) -> None:
    (run,) = find_runs(ran(read_scenario(SCENARIO), tmp_path, POOL))
    assert run.run().error is None
    _, said = run_to_end("analyze", str(run.path))
    verdict = json.loads((run.report / "verdict.json").read_text())
    landed = [fault["landed"] for fault in verdict["faults"]]
    stories = (*LANDED, *NOT_LANDED)
    assert dict(zip(stories, landed, strict=True)) == {
        story: story in LANDED for story in stories
    }, said
    violated = {
        name for name, result in verdict["checks"].items() if result["verdict"] == "violated"
    }
    assert violated == set()

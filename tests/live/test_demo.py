"""The demo, `make demo`: a real cluster, from the command line to the page of its run.

`make test` has no other live cluster.
"""

import json
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from command import POOL, run_to_end
from resumption import unexpected_resumptions

from analysis.report.run_facts import RunFacts
from analysis.tasks import Share, judge_here
from contract.run_folder import RunFolder, find_runs
from contract.terms import Check
from contract.verdicts import CheckVerdict, RunVerdict
from harness.commands.run import decode_again

SEED = 19902
SECTIONS = ("log", "timeline", "findings", "holds", "not-evaluable", "groups", "run")

pytestmark = [pytest.mark.live, pytest.mark.timeout(500)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, str]:
    """Its run, and what the command printed."""
    results = tmp_path_factory.mktemp("results")
    options = ("--cluster", POOL.value, "--seed", str(SEED), "--results", str(results))
    code, said = run_to_end("run", "commit_epoch", *options)
    assert code == 0, said
    (run,) = find_runs(results)
    return run, said


@pytest.fixture(scope="module")
def verdict(demo: tuple[RunFolder, str]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((demo[0].report / "verdict.json").read_text())
    return content


def test_it_passes_and_says_what_came_out(
    demo: tuple[RunFolder, str], verdict: dict[str, Any]
) -> None:
    run, said = demo
    assert verdict["verdict"] == "pass"
    assert f"seed {SEED}" in said
    assert verdict["answer"] in said
    assert verdict["follows"]["sentence"] in said
    assert f"report: {run.report / 'index.html'}" in said


def test_its_page_has_the_answer_every_section_and_every_check(
    demo: tuple[RunFolder, str], verdict: dict[str, Any]
) -> None:
    page = (demo[0].report / "index.html").read_text()
    assert verdict["answer"] in unescape(page)
    assert verdict["follows"]["sentence"] in unescape(page)
    assert [name for name in SECTIONS if f'<section id="{name}"' not in page] == []
    assert [check for check in verdict["checks"] if check not in page] == []
    assert set(verdict["checks"]) == set(Check)
    assert 'src="http' not in page


def test_the_resumption_table_of_commit_epoch(verdict: dict[str, Any]) -> None:
    assert unexpected_resumptions(verdict) == {}


def test_each_commit_style_committed_what_it_is_named_for(verdict: dict[str, Any]) -> None:
    """Record epoch 1, leader epoch 3 at the commit; the client's metadata may have either."""
    committed: dict[str, set[int]] = {}
    for row in verdict["styles"]:
        committed.setdefault(row["style"], set()).add(row["committed_epoch"])
    assert committed.pop("metadata") <= {1, 2, 3}
    as_record = {key: {1} for key in ("record", "application", "position", "max")}
    assert committed == as_record | {"forced": {3}, "none": {-1}, "stale": {0}}
    epochs = {(row["position_epoch"], row["cluster_epoch"]) for row in verdict["resumption"]}
    assert epochs == {(1, 3)}


def test_a_story_begins_where_the_group_resumed(
    demo: tuple[RunFolder, str], verdict: dict[str, Any]
) -> None:
    facts = RunFacts(demo[0])
    reported = facts.rows("select * from moments_of_groups order by at_micros, seq")
    resets = facts.rows("select * from client_resets")
    resumed = [row for row in verdict["resumption"] if row["resumed_at"] is not None]
    assert resumed
    for row in resumed:
        of_group = [moment for moment in reported if moment["group"] == row["group"]]
        begun = [moment["offset"] for moment in of_group if moment["what"].startswith("assigned")][
            -1
        ]
        # A position that is beyond the log may be reset before or after the member reports it, or
        # while it asks for it: then it has none to report.
        led = {
            reset["to_offset"]
            for reset in resets
            if reset["group"] == row["group"] and begun in (None, reset["from_offset"])
        }
        assert row["resumed_at"] in {begun, *led}, row["group"]


def test_all_faults_of_commit_epoch_landed(verdict: dict[str, Any]) -> None:
    moved = ["reassign", "elect preferred"] * 2
    assert [fault["fault"] for fault in verdict["faults"]] == [*moved, "kill", "kill"]
    assert all(fault["landed"] for fault in verdict["faults"])


def test_without_its_history_a_run_can_not_be_judged(
    demo: tuple[RunFolder, str], tmp_path: Path
) -> None:
    run = RunFolder(shutil.copytree(demo[0].path, tmp_path / "run"))
    (run.history / "clients.jsonl").unlink()
    assert decode_again(run)
    verdict = judge_here(Share(at_once=1), run).verdict
    assert verdict is not None
    assert verdict.verdict is RunVerdict.UNDECIDED
    assert verdict.checks["skipped_record"].verdict is CheckVerdict.UNDECIDED
    assert verdict.resumption == []

"""Bugs that are planted into random plans: what is replaced, and what counts as found."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.checks import Check
from contract.clients import INSTALLED
from contract.findings import FINDINGS, FINDINGS_FILE
from contract.run_folder import RunFolder
from harness.plans.draw import draw
from harness.plans.plan import Do, When, read_plan, written
from studies.planted.planting import found_in, planted, unexplained, with_planted

PLANS = [draw(seed, list(INSTALLED)) for seed in range(100)]


def test_what_is_planted_is_of_groups_and_checks_that_exist() -> None:
    groups = {one.group for one in planted().groups}
    assert planted().asked in groups
    for bug in planted().bugs:
        assert bug.checks
        assert set(bug.groups) <= groups


def test_planting_leaves_the_steps_as_they_are_but_for_groups(tmp_path: Path) -> None:
    names = [one.group for one in planted().groups]
    for plan in PLANS:
        changed = with_planted(plan)
        assert [group.group for group in changed.groups] == names
        assert (changed.topic.replication, changed.topic.min_insync) == (2, 1)
        assert not changed.topic.unclean_election
        assert [one.do for one in changed.steps] == [one.do for one in plan.steps]
        for mine, drawn in zip(changed.steps, plan.steps, strict=True):
            # Not each of two members has one of fewer partitions.
            few = drawn.when is When.ASSIGNED and plan.topic.partitions < 2
            assert mine.when is drawn.when or (few and mine.when is When.PROVED)
        for step in changed.steps:
            assert step.do is not Do.REOPEN or step.group in names
            if "coordinator:" in step.fault and "transaction" not in step.fault:
                assert step.fault.partition(":")[2] in names
        file = tmp_path / "random.json"
        file.write_bytes(written(changed))
        assert read_plan(file) == changed


def test_each_planted_group_is_opened_again_in_some_plan() -> None:
    steps = [step for plan in PLANS for step in with_planted(plan).steps]
    assert {step.group for step in steps} - {""} == {one.group for one in planted().groups}


def run_with(folder: Path, *findings: dict[str, Any]) -> RunFolder:
    """A judged run with these findings."""
    run = RunFolder(folder)
    run.report.mkdir(parents=True)
    blank: dict[str, Any] = dict.fromkeys(FINDINGS.names)
    rows = [
        {**blank, "kind": "k", "cause": "c", "verdict": "violation", "evidence": "{}", **one}
        for one in findings
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=FINDINGS), run.report / FINDINGS_FILE)
    return run


def test_a_bug_is_found_by_a_finding_of_its_check_and_group(tmp_path: Path) -> None:
    stuck = str(Check.STUCK_CONSUMER)
    run = run_with(
        tmp_path,
        {"check": stuck, "group": "kafka-python-3.0.5", "verdict": "permitted"},
        {"check": stuck, "group": "kafka-python-3.0.5"},
        {"check": stuck, "group": "kafka-python-3.0.8", "verdict": "undecided"},
        {"check": stuck, "group": "asked"},
    )
    (found,) = found_in(run)
    assert (found.bug, found.verdict) == ("kafka-python 3.0.5", "violation")
    assert unexplained(run) == ["stuck_consumer (k) asked"]


def test_a_permitted_finding_counts_where_the_history_names_the_bug(tmp_path: Path) -> None:
    permitted = {"verdict": "permitted"}
    run = run_with(
        tmp_path,
        {"check": str(Check.COMMITTED_EPOCH_STALE), "group": "stale", **permitted},
        {"check": str(Check.STALE_FETCHED_COMMIT), "group": "asked", **permitted},
    )
    assert [one.bug for one in found_in(run)] == ["stale epoch"]


def test_a_loss_is_of_the_bug_if_it_was_acknowledged_by_all_in_sync(tmp_path: Path) -> None:
    lost = {"check": str(Check.LOST_RECORD)}
    one, all_in_sync = (msgspec.json.encode({"acks": acks}).decode() for acks in ("1", "all"))
    assert found_in(run_with(tmp_path / "1", {**lost, "evidence": one})) == []
    (found,) = found_in(run_with(tmp_path / "all", {**lost, "evidence": all_in_sync}))
    assert found.bug == "acks=all loses"

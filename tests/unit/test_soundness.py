"""Mistakes of a scenario are refused before its cluster starts, with file and line."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from contract.errors import UsageError
from contract.run_folder import Expectation, GroupPlan, Plan
from harness.session.catalog import scenarios
from harness.story.soundness import require_sound
from harness.story.topics import durable_topic

STORY = '''"""A question?"""
from harness.faults.pause import Pause
from harness.faults.rebalance import Rebalance
from harness.faults.targets import CoordinatorOf, LeaderOf
from harness.story.topics import durable_topic
from harness.story.workload import reader

ORDERS = durable_topic("orders", partitions=1)
GROUPS = (reader("readers", "orders"),)


def story(run):
    run.inject(Pause(LeaderOf("orders", 0)))
    run.inject(Rebalance("readers"))
    run.leader_epoch("orders", 0)
    run.await_leader(topic="orders", partition=0, broker=1)
    LeaderOf("__consumer_offsets", 0)
'''
READERS = GroupPlan(
    group="readers", client="java", topic="orders", commit_epoch="record", reset="earliest"
)
PLAN = Plan(
    scenario="own",
    question="A question?",
    parameters={},
    topics=[durable_topic("orders", partitions=1)],
    groups=[READERS],
    must_judge=["lost_record"],
    expects=[Expectation(check="lost_record", groups=["readers"], verdict="permitted")],
)


def written(folder: Path, text: str) -> ModuleType:
    path = folder / "own_test.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("own_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def other(**changed: Any) -> GroupPlan:
    return msgspec.structs.replace(READERS, **changed)


def test_a_sound_scenario_is_taken(tmp_path: Path) -> None:
    require_sound(PLAN, written(tmp_path, STORY))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('LeaderOf("orders", 0)', 'LeaderOf("order", 0)', "13: there is no topic order; there are"),
        ('Rebalance("readers")', 'Rebalance("reader")', "14: there is no group reader; there are"),
        ('epoch("orders"', 'epoch("orderz"', "15: there is no topic orderz; there are: orders"),
        ('topic="orders"', 'topic="orderz"', "16: there is no topic orderz; there are: orders"),
    ],
)
def test_a_name_that_the_story_misspells_is_refused(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:{told}"):
        require_sound(PLAN, written(tmp_path, STORY.replace(old, new)))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"groups": [other(topic="orderz")]}, "1: group readers: there is no topic orderz"),
        ({"groups": [READERS, READERS]}, "14: 2 groups are named readers"),
        ({"topics": [*PLAN.topics, *PLAN.topics]}, "16: 2 topics are named orders"),
        ({"must_judge": ["lost_recrod"]}, "1: there is no check lost_recrod; there are: lost_r"),
        (
            {"answer": "{sends.recrods}"},
            "1: answer: sends: there is no measure recrods; there are: rows, records",
        ),
        ({"answer": "{sends.rows ack=all}"}, "1: answer: sends: there is no column ack; there are"),
        ({"answer": "{lost_recrod.rows}"}, "1: answer: lost_recrod.rows: lost_recrod is neither"),
        ({"answer": "{polls.rows end=above}"}, "1: answer: polls: there is no column end"),
        ({"expects": [Expectation(check="lost")]}, "1: there is no check lost; there are: lost_r"),
        (
            {"expects": [Expectation(check="lost_record", verdict="ok")]},
            "1: there is no verdict ok; there are: violation",
        ),
        (
            {"expects": [Expectation(check="lost_record", groups=["r"])]},
            "1: there is no group r; there are: readers",
        ),
        ({"groups": [other(commit_epoch="recrd")]}, "1: group readers: there is no commit style"),
        ({"groups": [other(reset="first")]}, "1: group readers: there is no reset policy first"),
        (
            {"groups": [other(client="librdkafka", manner="revoked")]},
            "1: group readers: manner revoked needs a Java client",
        ),
        (
            {"groups": [other(client="kafka-python", commit_epoch="metadata")]},
            "1: group readers: style metadata needs a Java client",
        ),
    ],
)
def test_a_plan_that_names_what_there_is_not_is_refused(
    tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:{told}"):
        require_sound(msgspec.structs.replace(PLAN, **changed), written(tmp_path, STORY))


def test_an_answer_may_count_by_the_labels_of_its_groups(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(
        PLAN, groups=[other(labels={"end": "above"})], answer="{polls.rows end=above client=java}"
    )
    require_sound(plan, written(tmp_path, STORY))


def test_any_client_may_commit_by_itself(tmp_path: Path) -> None:
    group = other(client="librdkafka", manner="auto")
    require_sound(msgspec.structs.replace(PLAN, groups=[group]), written(tmp_path, STORY))


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda one: one.name)
def test_the_stories_of_all_scenarios_are_sound(scenario: Any) -> None:
    spec = importlib.util.spec_from_file_location(scenario.path.stem, scenario.path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    nothing = {"topics": [], "groups": [], "expects": []}
    require_sound(msgspec.structs.replace(PLAN, **nothing), module)

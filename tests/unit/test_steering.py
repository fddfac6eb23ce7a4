"""Plans are drawn towards what no run reached, by the seed, the release and the snapshot alone."""

import logging
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ducktape.tests import loader as ducktape_loader
from ducktape.tests.session import SessionContext

from contract.clients import INSTALLED
from contract.coverage import Coverage, Reached, State, hash_of, write_coverage
from contract.described import SCHEMA
from contract.errors import UsageError
from harness.plans.draw import draw
from harness.plans.plan import Do, RandomPlan, written
from harness.plans.steering import UNIFORM, goals_of, may_reach, snapshot_at, steered
from scenarios import random_test
from tests.states import STATE

CLIENTS = list(INSTALLED)
SEEDS = range(150)
PARENTS = [draw(seed, CLIENTS) for seed in range(1000, 1010)]


def snapshot(*states: State, parents: list[RandomPlan] = PARENTS) -> Coverage:
    """All parents reached these states."""
    plans = {hash_of(written(plan)): msgspec.json.decode(written(plan)) for plan in parents}
    return Coverage(
        schema=SCHEMA,
        runs=len(parents),
        without=[],
        states=[
            Reached(state=one, events=9, runs=["r"], plans=sorted(plans)) for one in sorted(states)
        ],
        plans=plans,
    )


SNAPSHOT = snapshot(STATE, msgspec.structs.replace(STATE, members="more"))


@cache
def drawn() -> list[RandomPlan]:
    """The plans of all seeds, drawn once, by the process whose tests read them."""
    return [steered(seed, CLIENTS, SNAPSHOT) for seed in SEEDS]


def mutated() -> list[RandomPlan]:
    return [plan for plan in drawn() if plan.origin is not None]


def test_without_a_snapshot_a_plan_is_drawn_as_ever() -> None:
    for seed in SEEDS:
        assert written(steered(seed, CLIENTS, None)) == written(draw(seed, CLIENTS))


def test_the_same_seed_and_snapshot_give_the_same_bytes() -> None:
    again = msgspec.json.decode(msgspec.json.encode(SNAPSHOT), type=Coverage)
    for seed, plan in zip(SEEDS, drawn(), strict=True):
        assert written(steered(seed, CLIENTS[::-1], again)) == written(plan)


def test_a_part_is_drawn_as_without_a_snapshot() -> None:
    uniform = [plan for plan in drawn() if plan.origin is None]
    assert abs(len(uniform) / len(drawn()) - UNIFORM) < 0.1
    for plan in uniform:
        assert plan == draw(plan.seed, CLIENTS)


def test_a_mutation_names_its_parent_and_is_drawn_again_from_its_origin() -> None:
    assert len(mutated()) > 50
    for plan in mutated():
        assert plan.origin is not None
        assert plan.origin.parent in SNAPSHOT.plans
        assert draw(plan.seed, CLIENTS, origin=plan.origin) == plan
        assert msgspec.json.decode(written(plan), type=RandomPlan) == plan


def test_a_mutation_has_much_of_its_parent_and_differs_from_it() -> None:
    by_hash = {hash_of(written(plan)): plan for plan in PARENTS}
    same_topic = 0
    for plan in mutated():
        assert plan.origin is not None
        parent = by_hash[plan.origin.parent]
        assert (plan.topic, plan.groups, plan.steps) != (parent.topic, parent.groups, parent.steps)
        same_topic += plan.topic == parent.topic
    assert same_topic > len(mutated()) / 2


def test_a_mutated_plan_may_be_a_parent() -> None:
    children = snapshot(STATE, parents=mutated()[:5])
    plans = [steered(seed, CLIENTS, children) for seed in range(30)]
    grandchildren = [plan.origin for plan in plans if plan.origin is not None]
    assert {len(origin.seeds) for origin in grandchildren} == {3}


def test_plans_of_another_release_are_no_parents() -> None:
    changed = {name: {**plan, "seed": 1} for name, plan in SNAPSHOT.plans.items()}
    unknown: dict[str, dict[str, Any]] = {name: {"other": 1} for name in SNAPSHOT.plans}
    for plans in (changed, unknown):
        of_another = msgspec.structs.replace(SNAPSHOT, plans=plans)
        for seed in range(20):
            assert steered(seed, CLIENTS, of_another) == draw(seed, CLIENTS)


def test_goals_differ_in_one_value_from_a_state_that_was_reached() -> None:
    goals = goals_of(SNAPSHOT)
    reached = {one.state for one in SNAPSHOT.states}
    wanted = {goal.wanted for goal in goals}
    assert not reached & {goal.state for goal in goals}
    assert {("coordinator", "moved"), ("members", "0"), ("leader", "two")} <= wanted
    assert ("gap", "no commit") not in wanted  # impossible beside an offset
    for goal in goals:
        near = [one for one in reached if one.values.items() ^ goal.state.values.items()]
        assert near
        name, value = goal.wanted
        assert goal.state.values[name] == value


def has_coordinator(plan: RandomPlan) -> bool:
    return any("coordinator:" in step.fault for step in plan.steps if step.do is Do.INJECT)


def test_what_is_missing_is_drawn_more_often() -> None:
    """Of all states next to the one that was reached, only that of a moved coordinator is left."""
    others = [
        goal.state for goal in goals_of(snapshot(STATE)) if goal.wanted != ("coordinator", "moved")
    ]
    rest = [state for state in others if state.coordinator != "moved"]
    only = snapshot(STATE)
    only = msgspec.structs.replace(
        only,
        states=[*only.states, *(Reached(state=one, events=1, runs=[], plans=[]) for one in rest)],
    )
    assert [goal.wanted for goal in goals_of(only)] == [("coordinator", "moved")]
    plans = [steered(seed, CLIENTS, only) for seed in SEEDS]
    share = sum(map(has_coordinator, plans)) / len(plans)
    uniform = sum(has_coordinator(draw(seed, CLIENTS)) for seed in SEEDS) / len(SEEDS)
    assert share > uniform + 0.1
    for plan in plans:
        assert plan.origin is None or may_reach(plan, "coordinator", "moved")


def test_what_no_plan_has_is_never_wanted() -> None:
    assert not any(may_reach(plan, "gap", "ahead") for plan in drawn())


@pytest.mark.parametrize("value", ["lower", "higher"])
def test_a_commit_has_another_epoch_than_the_record_where_elections_are_unclean(value: str) -> None:
    reaching = [plan for plan in drawn() if may_reach(plan, "record", value)]
    assert 0 < len(reaching) < len(drawn())
    assert all(plan.topic.unclean_election for plan in reaching)


def test_the_bytes_of_steered_plans_are_kept() -> None:
    text = b"".join(written(plan) for plan in drawn()[:20])
    assert sha256(text).hexdigest()[:16] == "ca34f614b9bae3eb"


def test_what_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    write_coverage(tmp_path / "coverage.json", SNAPSHOT)
    assert snapshot_at(tmp_path / "coverage.json") == SNAPSHOT
    (tmp_path / "other.json").write_text("{}")
    for name in ("other.json", "missing.json"):
        with pytest.raises(UsageError, match="is no coverage of a series"):
            snapshot_at(tmp_path / name)


@pytest.mark.parametrize("given", [{"plan": "/kept.json"}, {"coverage": "/coverage.json"}, {}])
def test_ducktape_gives_the_scenario_what_a_command_names_and_runs_nothing_else(
    given: dict[str, str],
) -> None:
    session = SessionContext(session_id="s", results_dir="unused", cluster=None, globals={})
    loader = ducktape_loader.TestLoader(
        session, logging.getLogger("s"), injected_args=given or None
    )
    (only,) = loader.load([str(Path(random_test.__file__))])
    assert only.injected_args == given

"""The search for the smallest plan, on synthetic finders; and its trials, through a kill."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from contract.errors import UsageError
from contract.software import INSTALLED
from contract.verdicts import RunVerdict
from extras.plans.draw import draw
from extras.plans.plan import Do, RandomPlan, When, require_possible
from extras.plans.series import Carried, Found
from extras.plans.shrink import (
    actions_of,
    is_possible,
    smallest,
    smallest_part,
    with_actions,
    with_groups,
)
from extras.plans.trials import Finding, Rule, State, Trial, Trials, name_of_plan, state_of

CLIENTS = list(INSTALLED)
FINDING = Finding(check="lost_record")
SEEN = Found(check="lost_record", kind="gap", group="g", client="java")


@given(size=st.integers(1, 24), data=st.data())
def test_the_smallest_part_is_what_a_monotone_finder_needs(size: int, data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.integers(0, size - 1)))
    assert smallest_part(range(size), lambda part: needed <= set(part)) == sorted(needed)


@given(size=st.integers(1, 10), data=st.data())
def test_of_any_finder_no_element_can_be_left_out(size: int, data: st.DataObject) -> None:
    whole = list(range(size))
    subsets = st.frozensets(st.integers(0, size - 1))
    failing = {*data.draw(st.sets(subsets)), frozenset(whole)}
    asked: list[frozenset[int]] = []

    def fails(part: list[int]) -> bool:
        asked.append(frozenset(part))
        return frozenset(part) in failing

    found = smallest_part(whole, fails)
    assert frozenset(found) in failing
    assert found == whole or frozenset(found) in asked
    assert found == sorted(found)
    for other in found:
        assert frozenset(found) - {other} not in failing


def needs(kept: set[str], groups: set[str]) -> Callable[[RandomPlan], bool]:
    def fails(plan: RandomPlan) -> bool:
        require_possible(plan)  # What can't be carried out is never tried.
        return kept <= {step.fault for step in plan.steps} and groups <= {
            group.group for group in plan.groups
        }

    return fails


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), data=st.data())
def test_the_smallest_plan_has_only_what_the_finding_needs(seed: int, data: st.DataObject) -> None:
    plan = draw(seed, CLIENTS)
    faults = sorted({step.fault for step in plan.steps if step.do is Do.INJECT})
    kept = data.draw(st.sets(st.sampled_from(faults), max_size=2))
    one = data.draw(st.sampled_from(plan.groups)).group
    fails = needs(kept, {one})
    found = smallest(plan, fails)
    assert fails(found)
    in_targets = {name for fault in kept for name in [fault.partition(":")[2]]}
    assert {group.group for group in found.groups} == {one} | (
        {group.group for group in plan.groups} & in_targets
    )
    assert sorted(step.fault for step in found.steps if step.do is Do.INJECT) == sorted(kept)
    assert {step.when for step in found.steps} <= {When.PROVED}
    assert all(group.members == 1 for group in found.groups)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), salt=st.integers(0, 2**31 - 1))
def test_no_plan_is_returned_that_did_not_fail(seed: int, salt: int) -> None:
    plan = draw(seed, CLIENTS)
    asked: dict[str, bool] = {name_of_plan(plan): True}

    def fails(candidate: RandomPlan) -> bool:
        assert name_of_plan(candidate) not in asked  # Each plan is asked for once.
        asked[name_of_plan(candidate)] = hash((name_of_plan(candidate), salt)) % 3 == 0
        return asked[name_of_plan(candidate)]

    assert asked[name_of_plan(smallest(plan, fails))]


def test_a_plan_of_which_nothing_can_be_left_out_is_returned() -> None:
    plan = draw(7, CLIENTS)
    assert smallest(plan, lambda _: False) == plan


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), data=st.data())
def test_what_is_left_of_a_plan_can_be_carried_out(seed: int, data: st.DataObject) -> None:
    plan = draw(seed, CLIENTS)
    kept = data.draw(st.sets(st.sampled_from(actions_of(plan))))
    part = with_actions(plan, kept)
    assert is_possible(part)
    assert len(actions_of(part)) == len(kept)
    groups = data.draw(st.lists(st.sampled_from(plan.groups), min_size=1, unique_by=id))
    assert is_possible(with_groups(plan, groups))


def test_a_step_without_its_fault_awaits_nothing_of_it() -> None:
    plan = next(
        drawn
        for drawn in (draw(seed, CLIENTS) for seed in range(1000))
        if any(step.when is When.EPOCH and step.do is Do.INJECT for step in drawn.steps)
    )
    at = next(
        at for at, step in enumerate(plan.steps) if step.when is When.EPOCH and step.do is Do.INJECT
    )
    (alone,) = [step for step in with_actions(plan, [at]).steps if step.do is Do.INJECT]
    assert (alone.when, alone.fault) == (When.PROVED, plan.steps[at].fault)


@pytest.mark.parametrize(
    ("rule", "runs", "decided"),
    [
        (Rule(shown=1, runs=3), "", None),
        (Rule(shown=1, runs=3), "x", True),
        (Rule(shown=1, runs=3), "..", None),
        (Rule(shown=1, runs=3), "...", False),
        (Rule(shown=2, runs=3), "..", False),
        (Rule(shown=2, runs=3), "x.", None),
        (Rule(shown=2, runs=3), "x.x", True),
    ],
)
def test_a_plan_is_run_until_it_is_decided(rule: Rule, runs: str, *, decided: bool | None) -> None:
    assert rule.decide(runs.count("x"), len(runs)) is decided


class Cluster:
    """Shows the finding in all runs of plans that a function chooses; counts the runs."""

    def __init__(self, fails: Callable[[RandomPlan], bool], *, killed_after: int = 10**9) -> None:
        self.fails, self.left, self.runs = fails, killed_after, 0

    def carry_out(self, plan: RandomPlan, name: str) -> Carried:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.runs += 1
        found = [SEEN] if self.fails(plan) else []
        verdict = RunVerdict.FAIL if found else RunVerdict.PASS
        return Carried(folder=name, verdict=verdict, found=found, seconds=1.0)


def trials(home: Path, plan: RandomPlan, cluster: Cluster) -> Trials:
    state = state_of(home, plan, FINDING, Rule(shown=1, runs=2))
    home.mkdir(exist_ok=True)
    return Trials(home, state, cluster.carry_out, lambda _plan, _trial: None)


def test_a_search_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    plan = draw(7, CLIENTS)
    fault = next(step.fault for step in plan.steps if step.fault)
    fails = needs({fault}, set())
    whole = Cluster(fails)
    found = smallest(plan, trials(tmp_path / "whole", plan, whole).shows)
    runs = 0
    for killed_after in (2, 1, 1):
        cluster = Cluster(fails, killed_after=killed_after)
        with pytest.raises(KeyboardInterrupt):
            smallest(plan, trials(tmp_path / "killed", plan, cluster).shows)
        runs += cluster.runs
    last = Cluster(fails)
    assert smallest(plan, trials(tmp_path / "killed", plan, last).shows) == found
    assert runs + last.runs == whole.runs
    kept = state_of(tmp_path / "killed", plan, FINDING, Rule(shown=1, runs=2)).trials
    assert sum(len(trial.runs) for trial in kept) == whole.runs
    for trial in kept:
        assert (tmp_path / "killed" / "plans" / f"{trial.plan}.json").is_file()


def test_a_folder_has_one_search(tmp_path: Path) -> None:
    plan = draw(7, CLIENTS)
    search = trials(tmp_path, plan, Cluster(lambda _: True))
    assert search.shows(plan)
    with pytest.raises(UsageError, match="a search for another"):
        state_of(tmp_path, draw(8, CLIENTS), FINDING, Rule(shown=1, runs=2))
    with pytest.raises(UsageError, match="a search for another"):
        state_of(tmp_path, plan, FINDING, Rule(shown=2, runs=2))


def test_a_plan_without_the_group_of_the_finding_is_not_carried_out(tmp_path: Path) -> None:
    plan = draw(7, CLIENTS)
    (group, *others) = plan.groups
    named = Finding(check="lost_record", group=group.group)
    state = state_of(tmp_path, plan, named, Rule(shown=1, runs=1))
    cluster = Cluster(lambda _: True)
    search = Trials(tmp_path, state, cluster.carry_out, lambda _plan, _trial: None)
    assert not search.shows(with_groups(plan, others))
    assert cluster.runs == 0


def test_only_the_finding_counts(tmp_path: Path) -> None:
    assert FINDING.is_of(SEEN)
    of_group = Finding(check="lost_record", group="g")
    assert of_group.is_of(SEEN)
    assert not of_group.is_of(replace(SEEN, group="h"))
    assert not FINDING.is_of(replace(SEEN, check="reset"))
    assert isinstance(state_of(tmp_path, draw(1, CLIENTS), FINDING, Rule(shown=1, runs=1)), State)
    assert Trial(plan="x", runs=[]).runs == []

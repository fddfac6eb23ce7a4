"""Plans of the scenario random follow from the seed, and ask nothing that can not come."""

import json
import logging
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from itertools import islice, pairwise
from pathlib import Path

import msgspec
import pytest
from ducktape.tests import loader as ducktape_loader
from ducktape.tests.session import SessionContext
from msgspec.structs import replace

from contract.errors import UsageError
from contract.software import INSTALLED, Client, clients_of
from contract.terms import CommitEpoch, Manner
from extras.plans.draw import WEIGHTS, draw
from extras.plans.plan import (
    HOLDS,
    Do,
    RandomPlan,
    Step,
    When,
    is_over,
    plan_as_json,
    read_plan,
    require_possible,
)
from extras.plans.scenarios import random_test
from harness.session.series import seeds

CLIENTS = list(INSTALLED)
FENCING = {"kill", "stop", "pause", "cut", "cut-in", "cut-out", "cut-controllers"}
UNREACHED = {"cut-clients", "cut-replication"}
"""While one of these holds, no value need be acknowledged."""
PROPERTIES = {"reopen", "away", "slow", "transactions", "acks=1", "unclean"}
KEPT = {
    1: "fd546a6a71154f8a",
    2: "162e56885b8f63da",
    7: "d2953512f0c0ddea",
    19902: "6b43f70eac5092da",
    2**31 - 1: "1bc0dfff922c7ab8",
}


@cache
def plans() -> list[RandomPlan]:
    return [draw(seed, CLIENTS) for seed in range(1500)]


def verb(step: Step) -> str:
    return step.fault.partition(" ")[0]


def holding(plan: RandomPlan) -> list[tuple[Step, list[str]]]:
    """Each step, and the faults that hold before it."""
    held: dict[int, str] = {}
    injected, found = 0, []
    for step in plan.steps:
        found.append((step, list(held.values())))
        if step.do is Do.INJECT:
            if not is_over(step.fault):
                held[injected] = step.fault
            injected += 1
        elif step.do is Do.HEAL:
            del held[step.number]  # each fault once, and while it holds
    assert held == {}
    return found


def verbs(held: list[str]) -> set[str]:
    return {fault.partition(" ")[0] for fault in held}


def behind(plan: RandomPlan) -> Iterator[tuple[Step, list[str], int]]:
    """Each step, what holds before it, and the replicas that may be out of sync by then."""
    lost = 0
    for step, held in holding(plan):
        lost = 0 if step.when is When.IN_SYNC else lost
        yield step, held, lost
        lost += {**dict.fromkeys(FENCING, 1), "bounce": 1, "cut-replication": 3}.get(verb(step), 0)


@pytest.mark.parametrize(("seed", "digest"), KEPT.items())
def test_a_seed_is_a_plan_byte_for_byte(seed: int, digest: str) -> None:
    assert sha256(plan_as_json(draw(seed, CLIENTS))).hexdigest()[:16] == digest


def test_a_series_has_the_seeds_of_its_seed() -> None:
    assert list(islice(seeds(7), 3)) == list(islice(seeds(7), 3)) != list(islice(seeds(8), 3))
    assert len(set(islice(seeds(7), 1000))) == 1000


def test_the_order_of_clients_decides_nothing() -> None:
    assert draw(7, CLIENTS) == draw(7, CLIENTS[::-1])


def test_all_that_is_injected_is_healed_and_two_hold_at_most() -> None:
    for plan in plans():
        most = 3 if plan.topic.unclean_election else 2
        assert max(len(held) for _, held in holding(plan)) <= most
        assert 2 <= sum(step.do is Do.INJECT for step in plan.steps) <= 4


def test_a_third_fault_is_a_disaster_that_the_topic_declares() -> None:
    third = [
        (plan, step, held)
        for plan in plans()
        for step, held in holding(plan)
        if step.do is Do.INJECT and len(held) == 2
    ]
    assert len(third) >= 3
    for plan, step, held in third:
        assert plan.topic.unclean_election
        assert {verb(step), *verbs(held)} <= {"kill", "stop"}


def test_a_step_waits_for_nothing_that_the_faults_prevent() -> None:
    for plan in plans():
        for step, held, lost in behind(plan):
            if verbs(held) & UNREACHED:
                assert step.when is When.PROVED
            if verbs(held) & FENCING and lost > 3 - plan.topic.min_insync:
                assert step.when is When.PROVED
            if plan.topic.min_insync == 2:
                assert sum(fault.partition(" ")[0] in FENCING for fault in held) <= 1
            if step.when in (When.COMMITTED, When.ASSIGNED, When.IN_SYNC, When.TRANSACTION):
                assert not held


def test_a_state_is_awaited_that_the_last_fault_leads_to() -> None:
    for plan in plans():
        last = ""
        for step in plan.steps:
            if step.when is When.EPOCH:
                assert last.endswith(f"leader:orders-{step.partition}")
            if step.when is When.COORDINATOR:
                assert last.partition(" ")[2] == f"coordinator:{step.awaited}"
            if step.when in (When.ISR, When.COORDINATOR):
                assert last.partition(" ")[0] in ("kill", "stop", "pause")
            if step.do is Do.INJECT:
                last = step.fault


def test_groups_are_closed_and_opened_while_faults_hold() -> None:
    returned = kept = changed = 0
    for plan in plans():
        require_possible(plan)  # It asks nothing of a closed group.
        closed = set[str]()
        for step, held in holding(plan):
            if verb(step) == "rebalance":
                assert step.fault.partition(":")[2] not in closed
            if step.do is Do.CLOSE:
                assert step.group not in closed
                assert len(held) < 3
                closed.add(step.group)
            returned += step.do is Do.REOPEN and step.group in closed
            closed -= {step.group} if step.do is Do.REOPEN else set()
            changed += bool(closed) and verb(step) in FENCING and ":orders-" in step.fault
        kept += bool(closed)
    assert min(returned, kept, changed) > 50


def test_a_held_response_is_released_before_another_fault_begins_or_ends() -> None:
    seen = 0
    for plan in plans():
        steps = holding(plan)
        for (step, _), (_, held) in pairwise(steps):
            if step.do is Do.INJECT and verb(step) in HOLDS:
                assert verbs(held) == {verb(step)}
                seen += 1
        for step, held in steps:
            if verbs(held) & {*HOLDS}:
                assert len(held) <= 2
                assert step.do is not Do.REOPEN
                assert plan.is_proxied
    assert seen > 100


def test_faults_overlap_and_every_kind_and_state_is_drawn() -> None:
    steps = [(step, held) for plan in plans() for step, held in holding(plan)]
    assert sum(step.do is Do.INJECT and bool(held) for step, held in steps) > 300
    assert {verb(step) for step, _ in steps} - {""} == {*WEIGHTS} - PROPERTIES
    assert {step.when for step, _ in steps} == set(When)
    assert {step.do for step, _ in steps} == set(Do)
    assert {plan.producer.acks for plan in plans()} == {"all", "1"}
    assert {plan.topic.unclean_election for plan in plans()} == {True, False}
    assert 0 < sum(plan.producer.transactions is not None for plan in plans()) < len(plans())
    assert {plan.processing_ms for plan in plans()} == {0, 200}
    assert {step.is_rolling for step, held in steps if not held} == {True, False}
    assert not any(step.is_rolling for step, held in steps if held)


def test_each_seed_leaves_kinds_out() -> None:
    drawn = [{verb(step) for step in plan.steps} for plan in plans()]
    cuts = {"cut-clients"}
    assert not any(cuts & of and {*HOLDS} & of for of in drawn)
    assert sum("kill" in of for of in drawn) < len(drawn) / 2


def test_groups_have_what_their_clients_can() -> None:
    groups = [group for plan in plans() for group in plan.groups]
    python = [group for group in groups if group.client in ("librdkafka", "kafka-python")]
    assert {group.manner for group in python} == {Manner.SYNC}
    assert CommitEpoch.APPLICATION not in {group.commit_epoch for group in python}
    assert {group.client for group in groups} == {*CLIENTS}
    older = draw(3, [Client(client) for client in clients_of("3.9.2", java="3.9.2")])
    assert Client.JAVA_CONSUMER not in {group.client for group in older.groups}
    for plan in plans():
        of_java = {group.group for group in plan.groups if group.client.startswith("java")}
        for step in plan.steps:
            if verb(step) == "rebalance":
                assert (step.when, step.awaited in of_java) == (When.ASSIGNED, True)


def read_again(folder: Path, plan: RandomPlan) -> RandomPlan:
    file = folder / "random.json"
    file.write_bytes(plan_as_json(plan))
    return read_plan(file)


def test_a_kept_plan_is_read_again(tmp_path: Path) -> None:
    for plan in plans()[:100]:
        assert read_again(tmp_path, plan) == plan


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step(when=When.PROVED, do=Do.INJECT, fault="pause"), "no verb and target"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="smash leader:orders-0"), "'?smash'?"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="elect partition:x"), "no target of elect"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="kill leader:orders-9"), "no partition orders"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="kill leader:other-0"), "no topic other"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="kill coordinator:x"), "there is no group x"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="kill broker:4"), "no broker 4"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="fence transactional.id:x"), "no producer of"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="expire topic:other"), "no target of expire"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="expire topic:orders"), "topic that `deletes`"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="hold-fetch group:g"), "with is_proxied"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="hold-fetch topic:g"), "no target of hold"),
        (Step(when=When.PROVED, do=Do.HEAL, number=1), "heals fault 1, and 0 were injected"),
        (Step(when=When.PROVED, do=Do.REOPEN, group="g"), "the groups are "),
        (Step(when=When.PROVED, do=Do.CLOSE, group="g"), "is about group 'g'; the groups are "),
        (Step(when=When.ASSIGNED, awaited="g", do=Do.HEAL), "waits for group 'g'"),
        (Step(when=When.EPOCH, partition=7, do=Do.HEAL), "no partition orders-7"),
        (Step(when=When.ACKNOWLEDGED, do=Do.HEAL), "waits for 0 values"),
        (Step(when=When.TRANSACTION, do=Do.HEAL), "and the producer has none"),
    ],
)
def test_a_plan_that_is_impossible_is_refused(step: Step, message: str, tmp_path: Path) -> None:
    plain = next(
        plan
        for plan in plans()
        if not plan.topic.deletes and not plan.is_proxied and plan.producer.transactions is None
    )
    with pytest.raises(UsageError, match=message):
        read_again(tmp_path, replace(plain, steps=(step,)))


def test_a_fault_is_healed_once(tmp_path: Path) -> None:
    plan = next(drawn for drawn in plans() if drawn.steps[-1].do is Do.HEAL)
    with pytest.raises(UsageError, match="of which none hold"):
        read_again(tmp_path, replace(plan, steps=(*plan.steps, plan.steps[-1])))


@pytest.mark.parametrize("does", ["assigned", "hold-commit", "hold-offsets"])
def test_nothing_is_asked_of_a_closed_group(does: str, tmp_path: Path) -> None:
    plan = next(drawn for drawn in plans() if drawn.is_proxied)
    group = plan.groups[0].group
    closing = Step(when=When.PROVED, do=Do.CLOSE, group=group)
    asking = (
        Step(when=When.ASSIGNED, awaited=group, do=Do.CLOSE, group=group)
        if does == "assigned"
        else Step(when=When.PROVED, do=Do.INJECT, fault=f"{does} group:{group}")
    )
    opening = replace(closing, do=Do.REOPEN)
    read_again(tmp_path, replace(plan, steps=(closing, opening, asking)))
    with pytest.raises(UsageError, match=f"step 2 of the plan needs members of group {group}"):
        read_again(tmp_path, replace(plan, steps=(closing, asking, opening)))


def test_each_member_of_an_awaited_group_has_a_partition(tmp_path: Path) -> None:
    plan = next(
        drawn for drawn in plans() if any(step.when is When.ASSIGNED for step in drawn.steps)
    )
    larger = tuple(replace(group, members=9) for group in plan.groups)
    with pytest.raises(UsageError, match="it has 9 members, and the topic"):
        read_again(tmp_path, replace(plan, groups=larger))


def test_a_plan_of_a_release_that_steered_is_read(tmp_path: Path) -> None:
    plan = draw(7, CLIENTS)
    origin = {"parent": "fd546a6a71154f8a", "seeds": [1, 2]}
    file = tmp_path / "random.json"
    file.write_text(json.dumps({**json.loads(plan_as_json(plan)), "origin": origin}))
    assert read_plan(file) == plan


@pytest.mark.parametrize("given", [{"plan": "/kept.json"}, {}])
def test_ducktape_gives_the_scenario_only_what_a_command_names(given: dict[str, str]) -> None:
    session = SessionContext(session_id="s", results_dir="unused", cluster=None, globals={})
    loader = ducktape_loader.TestLoader(
        session, logging.getLogger("s"), injected_args=given or None
    )
    (only,) = loader.load([str(Path(random_test.__file__))])
    assert only.injected_args == given


def test_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "random.json").write_text('{"seed": 1}')
    for name in ("random.json", "missing.json"):
        with pytest.raises(UsageError, match="is no plan"):
            read_plan(tmp_path / name)


def test_a_plan_of_an_earlier_release_has_no_proxy(tmp_path: Path) -> None:
    plan = next(drawn for drawn in plans() if not drawn.is_proxied)
    assert "is_proxied" not in msgspec.to_builtins(plan)
    file = tmp_path / "random.json"
    file.write_bytes(msgspec.json.encode(plan))
    assert read_plan(file) == plan

"""Plans of the scenario random follow from the seed, and ask nothing that can not come."""

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from contract.clients import Client, clients_of
from contract.errors import UsageError
from contract.outcomes import CommitEpoch, Manner
from harness.plans.draw import draw
from harness.plans.plan import Do, RandomPlan, Step, When, read_plan, written

CLIENTS = list(Client)
PLANS = [draw(seed, CLIENTS) for seed in range(1000)]
FENCING = {"kill", "stop", "pause", "cut", "cut-in", "cut-out", "cut-controllers"}
UNREACHED = {"cut-clients", "cut-replication"}
"""While one of these holds, no value need be acknowledged."""
KEPT = {
    1: "69e2136c416661c6",
    2: "c24d9eddd027dee7",
    7: "ce8b7e114b51b1a7",
    19902: "9756d7ed5c9bb654",
    2**31 - 1: "44987e7dbdd8b0a2",
}


def verb(step: Step) -> str:
    return step.fault.partition(" ")[0]


def holding(plan: RandomPlan) -> list[tuple[Step, set[str]]]:
    """Each step, and the verbs of the faults that hold before it."""
    held: dict[int, str] = {}
    injected, found = 0, []
    for step in plan.steps:
        found.append((step, set(held.values())))
        if step.do is Do.INJECT:
            if verb(step) != "bounce":
                held[injected] = verb(step)
            injected += 1
        elif step.do is Do.HEAL:
            del held[step.number]  # each fault once, and while it holds
    assert held == {}
    return found


@pytest.mark.parametrize(("seed", "digest"), KEPT.items())
def test_a_seed_is_a_plan_byte_for_byte(seed: int, digest: str) -> None:
    assert sha256(written(draw(seed, CLIENTS))).hexdigest()[:16] == digest


def test_the_order_of_clients_decides_nothing() -> None:
    assert draw(7, CLIENTS) == draw(7, CLIENTS[::-1])


def test_all_that_is_injected_is_healed_and_two_hold_at_most() -> None:
    for plan in PLANS:
        assert max(len(held) for _, held in holding(plan)) <= 2
        assert 2 <= sum(step.do is Do.INJECT for step in plan.steps) <= 4


def test_a_step_waits_for_nothing_that_the_faults_prevent() -> None:
    for plan in PLANS:
        for step, held in holding(plan):
            if held & UNREACHED:
                assert step.when is When.PROVED
            if plan.topic.min_insync == 2:
                assert len(held & FENCING) <= 1
            assert step.when is not When.COMMITTED or not held


def test_faults_overlap_and_every_verb_and_state_is_drawn() -> None:
    steps = [(step, held) for plan in PLANS for step, held in holding(plan)]
    assert sum(step.do is Do.INJECT and bool(held) for step, held in steps) > 200
    assert {verb(step) for step, _ in steps} - {""} == FENCING | UNREACHED | {"bounce"}
    assert {step.when for step, _ in steps} == set(When)
    assert {step.do for step, _ in steps} == set(Do)


def test_groups_have_what_their_clients_can() -> None:
    groups = [group for plan in PLANS for group in plan.groups]
    python = [group for group in groups if group.client in ("librdkafka", "kafka-python")]
    assert {group.manner for group in python} == {Manner.SYNC}
    assert CommitEpoch.APPLICATION not in {group.commit_epoch for group in python}
    assert {group.client for group in groups} == {*CLIENTS}
    older = draw(3, [Client(one) for one in clients_of("3.9.2", java="3.9.2")])
    assert Client.JAVA_CONSUMER not in {group.client for group in older.groups}


def test_a_kept_plan_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "random.json"
    file.write_bytes(written(PLANS[0]))
    assert read_plan(file) == PLANS[0]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step(when=When.PROVED, do=Do.INJECT, fault="pause"), "no verb and target"),
        (Step(when=When.PROVED, do=Do.INJECT, fault="smash leader:orders-0"), "no verb smash"),
        (Step(when=When.PROVED, do=Do.HEAL, number=1), "heals fault 1, and 0 were injected"),
        (Step(when=When.PROVED, do=Do.REOPEN, group="g"), "the groups are "),
    ],
)
def test_a_plan_that_can_not_be_carried_out_is_refused(
    step: Step, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "random.json"
    file.write_bytes(written(msgspec.structs.replace(PLANS[0], steps=(step,))))
    with pytest.raises(UsageError, match=message):
        read_plan(file)


def test_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "random.json").write_text('{"seed": 1}')
    for name in ("random.json", "missing.json"):
        with pytest.raises(UsageError, match="is no plan"):
            read_plan(tmp_path / name)

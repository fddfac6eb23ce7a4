"""Draws plans towards states of the protocol that no run reached, by mutation of near plans.

A plan came near a state if its run reached one that differs in a single value. A mutation repeats
the draws of such a plan, but for some of them. So it is a plan that `draw` may give, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from contract.clients import Client
from contract.coverage import (
    VALUES,
    Coverage,
    State,
    is_possible,
    pairs_of,
    read_coverage,
)
from contract.errors import RunFolderError, UsageError
from contract.outcomes import CommitEpoch
from contract.randomness import SEED_BITS, generator
from harness.plans.draw import FENCING, draw
from harness.plans.plan import Do, Origin, RandomPlan

UNIFORM = 1 / 3
"""The share of plans that are drawn as without a snapshot."""
_GOALS, _MUTATIONS = 20, 40
"""How many are tried for a plan."""


class Goal(NamedTuple):
    """A state that no run reached.

    wanted: the dimension in which a state that was reached differs from it, and the goal's value.
    plans: whose runs reached that state.
    """

    state: State
    wanted: tuple[str, str]
    plans: tuple[str, ...]


def steered(seed: int, clients: Sequence[Client], snapshot: Coverage | None) -> RandomPlan:
    """Draw the plan of a seed towards what the runs of a snapshot have not reached.

    It depends on the seed, the release and the snapshot alone. Without a snapshot it is the plan
    that `draw` gives, as it is where this release draws no plan of the snapshot again.
    """
    random = generator(seed)
    if snapshot is not None and random.random() >= UNIFORM:
        parents = _parents(snapshot, clients)
        goals = [one for one in goals_of(snapshot) if not parents.keys().isdisjoint(one.plans)]
        never = set(snapshot.pairs_never_seen)
        weights = [1 + len(never.intersection(pairs_of(one.state))) for one in goals]
        for goal in random.choices(goals, weights, k=_GOALS) if goals else ():
            name = random.choice([one for one in goal.plans if one in parents])
            changes = [random.getrandbits(SEED_BITS) for _ in range(_MUTATIONS)]
            for plan in _mutations(name, parents[name], seed, changes, clients):
                if may_reach(plan, *goal.wanted):
                    return plan
    return draw(seed, clients)


def snapshot_at(file: Path) -> Coverage:
    """Read a snapshot, as `fencepost coverage` writes it.

    Raises:
        UsageError: it can't be read.
    """
    try:
        return read_coverage(file)
    except (OSError, RunFolderError) as error:
        raise UsageError(f"{file} is no coverage of a series: {error}") from None


def goals_of(snapshot: Coverage) -> list[Goal]:
    """The states that no run reached, though one with a single other value; in order."""
    reached = {one.state for one in snapshot.known}
    return [
        Goal(state, (name, value), tuple(one.plans))
        for one in snapshot.known
        for name, values in VALUES.items()
        for value in values
        if one.plans
        and (state := replace(one.state, **{name: value})) not in reached
        and is_possible(state)
    ]


def _parents(snapshot: Coverage, clients: Sequence[Client]) -> dict[str, RandomPlan]:
    """The plans of a snapshot that this release draws again, by their hashes."""
    found = {}
    for name, content in snapshot.plans.items():
        try:
            plan = msgspec.convert(content, RandomPlan)
        except msgspec.ValidationError:
            continue
        if draw(plan.seed, clients, origin=plan.origin) == plan:
            found[name] = plan
    return found


def _mutations(
    name: str, parent: RandomPlan, seed: int, changes: Sequence[int], clients: Sequence[Client]
) -> Iterator[RandomPlan]:
    """Plans that have most draws of another one, and differ from it."""
    seeds = (parent.seed,) if parent.origin is None else parent.origin.seeds
    for one in changes:
        plan = draw(seed, clients, origin=Origin(parent=name, seeds=(*seeds, one)))
        if replace(plan, seed=parent.seed, origin=parent.origin) != parent:
            yield plan


def may_reach(plan: RandomPlan, name: str, value: str) -> bool:
    """Whether a plan has what a value of a dimension needs; true where nothing is known of that."""
    return _NEEDS.get((name, value), _nothing)(plan)


def _nothing(_: RandomPlan) -> bool:
    return True


def _never(_: RandomPlan) -> bool:
    """What no plan has: a faulty client."""
    return False


def _faults(plan: RandomPlan, verbs: Sequence[str], target: str = "") -> int:
    injected = [step.fault.split(" ", 1) for step in plan.steps if step.do is Do.INJECT]
    return sum(verb in verbs and on.startswith(target) for verb, on in injected)


def _are_two_fenced(plan: RandomPlan) -> bool:
    """Whether two brokers are fenced at a time."""
    held: set[int] = set()
    injected = most = 0
    for step in plan.steps:
        if step.do is Do.INJECT:
            held |= {injected} if step.fault.split(" ", 1)[0] in FENCING else set()
            injected += 1
        elif step.do is Do.HEAL:
            held.discard(step.number)
        most = max(most, len(held))
    return most > 1


def _may_truncate(plan: RandomPlan) -> bool:
    """Whether an unclean election may leave a commit on another branch than the log."""
    return plan.topic.unclean_election and _are_two_fenced(plan)


_STILL_LEADS = tuple(verb for verb in FENCING if verb not in ("kill", "stop"))
_BY_GROUPS = {
    "none": lambda one: one.commit_epoch == CommitEpoch.NONE or one.client == Client.KAFKA_PYTHON,
}
_NEEDS: Mapping[tuple[str, str], Callable[[RandomPlan], bool]] = {
    ("leader", "none"): _are_two_fenced,
    ("leader", "two"): lambda plan: _faults(plan, _STILL_LEADS, "leader:") > 0,
    ("isr", "shrunk"): lambda plan: _faults(plan, FENCING) > 0,
    ("isr", "one"): lambda plan: plan.topic.min_insync == 1,
    ("isr", "below"): lambda plan: (
        plan.topic.min_insync > 1 and _faults(plan, ["cut-replication"], "leader:") > 0
    ),
    ("gap", "1"): lambda plan: _faults(plan, FENCING, "leader:") > 0,
    ("gap", "more"): lambda plan: _faults(plan, FENCING, "leader:") > 1,
    ("gap", "ahead"): _never,
    ("record", "lower"): _may_truncate,
    ("record", "higher"): _may_truncate,
    ("log_start", "at"): lambda plan: plan.topic.deletes,
    ("log_start", "after"): lambda plan: plan.topic.deletes,
    ("coordinator", "moved"): lambda plan: _faults(plan, FENCING, "coordinator:") > 0,
    ("coordinator", "none"): _are_two_fenced,
    ("members", "0"): lambda plan: any(step.do in (Do.CLOSE, Do.REOPEN) for step in plan.steps),
    ("members", "more"): lambda plan: any(group.members > 1 for group in plan.groups),
    ("transaction", "open"): lambda plan: plan.producer.transactions is not None,
}
"""What a plan has, if its run may reach a value."""

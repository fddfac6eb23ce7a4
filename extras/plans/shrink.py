"""The search for the smallest plan that still shows a finding, apart from how plans are tried.

Delta debugging (Zeller and Hildebrandt, 2002, ddmin) over the groups of a plan, and over its faults
and reopenings; then what is left becomes simpler, one thing at a time. All is repeated until
nothing more can be left out, so that the result is 1-minimal: no single part of it can be removed.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from contract.errors import UsageError
from contract.run_folder import GroupPlan
from contract.terms import Manner
from extras.plans.plan import (
    Do,
    RandomPlan,
    Step,
    When,
    group_of,
    plan_as_json,
    require_possible,
    waiting_for,
)

T = TypeVar("T")
_VALUES_MIN = 100
_OF_THE_LAST_FAULT = (When.EPOCH, When.ISR, When.COORDINATOR)


def smallest_part(parts: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Return a part of a sequence that fails, of which nothing can be left out (ddmin).

    Args:
        parts: known to fail as a whole.
        fails: whether a part fails, in the same order. What it returns for a part must not change.
    """
    kept, chunks = list(parts), 2
    while len(kept) > 1:
        chunks = min(chunks, len(kept))
        size = -(-len(kept) // chunks)
        pieces = [kept[start : start + size] for start in range(0, len(kept), size)]
        rests = [
            [item for other in pieces[:at] + pieces[at + 1 :] for item in other]
            for at in range(len(pieces))
        ]
        smaller = next((piece for piece in pieces if fails(piece)), None)
        if smaller is not None:
            kept, chunks = smaller, 2
            continue
        smaller = next((rest for rest in rests if fails(rest)), None)
        if smaller is not None:
            kept, chunks = smaller, max(chunks - 1, 2)
        elif chunks == len(kept):
            break
        else:
            chunks = min(2 * chunks, len(kept))
    return [] if kept and fails([]) else kept


def smallest(plan: RandomPlan, fails: Callable[[RandomPlan], bool]) -> RandomPlan:
    """Return the smallest plan that fails, of those that the search tries.

    Args:
        plan: known to fail; it is returned if no smaller one does.
        fails: whether a plan shows the finding; it is asked once for each plan.
    """
    asked = {plan_as_json(plan): True}

    def has_failed(candidate: RandomPlan) -> bool:
        key = plan_as_json(candidate)
        if key not in asked:
            asked[key] = is_possible(candidate) and fails(candidate)
        return asked[key]

    while True:
        # A plan of fewer groups takes less time, as do all plans that are made of it.
        smaller = _of_fewer_steps(_of_fewer_groups(plan, has_failed), has_failed)
        while (simpler := next(filter(has_failed, _simpler(smaller)), None)) is not None:
            smaller = simpler
        if smaller == plan:
            return plan
        plan = smaller


def is_possible(plan: RandomPlan) -> bool:
    """Whether a plan can be carried out."""
    try:
        require_possible(plan)
    except UsageError:
        return False
    return True


def actions_of(plan: RandomPlan) -> list[int]:
    """The parts of a plan's story: the steps that inject a fault, or close or open a group.

    The heal of a fault goes with its injection, and the opening of a closed group with its closing.
    """
    return [at for at, of in enumerate(_parts_of(plan)) if at == of]


def _parts_of(plan: RandomPlan) -> list[int]:
    """Of each step, the action with which it stays or goes."""
    injections, closings, found = list[int](), dict[str, int](), list[int]()
    for at, step in enumerate(plan.steps):
        of = at
        if step.do is Do.INJECT:
            injections.append(at)
        elif step.do is Do.HEAL:
            of = injections[step.number]
        elif step.do is Do.CLOSE:
            of = closings.setdefault(step.group, at)
        else:
            of = closings.pop(step.group, at)
        found.append(of)
    return found


def with_actions(plan: RandomPlan, kept: Collection[int]) -> RandomPlan:
    """Return a plan with only some of its actions, and what goes with them.

    A step that waits for what a removed fault led to waits for its predecessor only.
    """
    injections = [at for at, step in enumerate(plan.steps) if step.do is Do.INJECT]
    numbers = {old: new for new, old in enumerate(at for at in injections if at in kept)}
    steps = list[Step]()
    is_last_kept = True
    for at, (step, of) in enumerate(zip(plan.steps, _parts_of(plan), strict=True)):
        if of in kept:
            is_lost = not is_last_kept and step.when in _OF_THE_LAST_FAULT
            when = When.PROVED if is_lost else step.when
            number = numbers[of] if step.do is Do.HEAL else 0
            steps.append(waiting_for(replace(step, number=number), when))
        if step.do is Do.INJECT:
            is_last_kept = at in kept
    return replace(plan, steps=tuple(steps))


def with_groups(plan: RandomPlan, kept: Sequence[GroupPlan]) -> RandomPlan:
    """Return a plan with only some of its groups, without the steps that are about the others."""
    names = {group.group for group in kept}
    gone = {group.group for group in plan.groups} - names
    actions = [
        at
        for at in actions_of(plan)
        if plan.steps[at].group not in gone and group_of(plan.steps[at].fault) not in gone
    ]
    steps = (
        waiting_for(step, When.PROVED) if step.awaited in gone else step
        for step in with_actions(plan, actions).steps
    )
    return replace(plan, groups=tuple(kept), steps=tuple(steps))


def _of_fewer_steps(plan: RandomPlan, fails: Callable[[RandomPlan], bool]) -> RandomPlan:
    kept = smallest_part(actions_of(plan), lambda part: fails(with_actions(plan, part)))
    return with_actions(plan, kept)


def _of_fewer_groups(plan: RandomPlan, fails: Callable[[RandomPlan], bool]) -> RandomPlan:
    kept = smallest_part(plan.groups, lambda part: bool(part) and fails(with_groups(plan, part)))
    return with_groups(plan, kept)


def _simpler(plan: RandomPlan) -> Iterator[RandomPlan]:
    """Plans that differ from one in a single, simpler thing."""
    topic = plan.topic
    if topic.partitions > 1:
        half = topic.partitions // 2
        for fewer in dict.fromkeys((1, half, topic.partitions - 1)):
            groups = (replace(group, members=min(group.members, fewer)) for group in plan.groups)
            yield replace(plan, topic=replace(topic, partitions=fewer), groups=tuple(groups))
    for at, group in enumerate(plan.groups):
        for simpler in _simpler_groups(group):
            others = (*plan.groups[:at], simpler, *plan.groups[at + 1 :])
            yield replace(plan, groups=others)
    yield from _without_properties(plan)
    for at, step in enumerate(plan.steps):
        for earlier in _earlier(step):
            yield replace(plan, steps=(*plan.steps[:at], earlier, *plan.steps[at + 1 :]))


def _without_properties(plan: RandomPlan) -> Iterator[RandomPlan]:
    """Plans without transactions, proxy, deletions or a time of the application."""
    if plan.producer.transactions is not None:
        yield replace(plan, producer=replace(plan.producer, transactions=None))
    if plan.is_proxied:
        yield replace(plan, is_proxied=False)
    if plan.topic.deletes:
        yield replace(plan, topic=replace(plan.topic, deletes=False))
    if plan.processing_ms:
        yield replace(plan, processing_ms=0)


def _simpler_groups(group: GroupPlan) -> Iterator[GroupPlan]:
    if group.members > 1:
        yield replace(group, members=1)
    if group.isolation is not None:
        yield replace(group, isolation=None)
    if group.manner != Manner.SYNC:
        yield replace(group, manner=Manner.SYNC)


def _earlier(step: Step) -> Iterator[Step]:
    """Steps that wait for less."""
    if step.is_rolling:
        yield replace(step, is_rolling=False)
    if step.when is not When.PROVED:
        yield waiting_for(step, When.PROVED)
    if step.values > _VALUES_MIN:
        yield replace(step, values=max(_VALUES_MIN, step.values // 2))

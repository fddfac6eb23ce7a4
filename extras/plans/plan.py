"""What a random run does, as data: a topic, a producer, groups, and steps.

Each step waits for a state of the cluster, and then injects a fault, heals one, or opens a group's
members again.
"""

import enum
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import replace

from contract.errors import UsageError
from contract.run_folder import GroupPlan, ProducerPlan, TopicPlan
from contract.terms import Check
from contract.written import Written
from harness.faults import By, Expire, Fault, Hold
from harness.faults.language import is_instant, parse_fault

PLAN_FILE = "random.json"
"""Of a random run's folder."""
TOPIC = "orders"
BROKERS = 3
REOPENED = "OFFSET_FETCH"
"""A member sends it when it joins: its group is opened again once the proxy looks for it."""
HOLDS = {"hold-fetch": "FETCH", "hold-commit": "OFFSET_COMMIT", "hold-offsets": REOPENED}
"""The verbs of plans that hold a response to a member of a group, with its API."""
MUST_JUDGE = (
    Check.LOST_RECORD,
    Check.SKIPPED_RECORD,
    Check.UNJUSTIFIED_RESET,
    Check.LOST_COMMIT,
    Check.COMMIT_REGRESSED,
    Check.HISTORY_COMPLETE,
)
"""The checks that every plan is about."""
EXPIRE = "expire"
"""The verb of plans with which records of the topic are deleted by DeleteRecords."""


_PARTITIONS_MAX = 100
_MEMBERS_MAX = 50
"""Of all groups; each has a node."""
_VALUES_MAX = 1_000_000
_STEPS_MAX = 1_000
_OPENING = next(verb for verb, api in HOLDS.items() if api == REOPENED)


class Do(enum.StrEnum):
    """What a step does.

    close: the group's members are closed, until a step opens them, or until the last read.
    reopen: the group's members are closed, if they are open, and opened again.
    """

    INJECT = "inject"
    HEAL = "heal"
    CLOSE = "close"
    REOPEN = "reopen"


class When(enum.StrEnum):
    """The state that a step waits for, counted from the step before.

    proved: that step was taken, and its fault, if it injected one, is proved: a response is held,
        the log start has moved, an extra member has joined and left.
    acknowledged: a number of further values.
    committed: a commit of each group that is open.
    epoch: the partition is led under a newer epoch than when the last fault was injected.
    isr: the partition has fewer replicas in sync than it is assigned to.
    in_sync: every replica of the topic is in sync.
    coordinator: the group has another coordinator than the broker of the last fault.
    assigned: the group is stable, and each of its members has partitions.
    transaction: the producer has an open transaction.

    What a fault that was left out would have led to is not awaited.
    """

    PROVED = "proved"
    ACKNOWLEDGED = "acknowledged"
    COMMITTED = "committed"
    EPOCH = "epoch"
    ISR = "isr"
    IN_SYNC = "in_sync"
    COORDINATOR = "coordinator"
    ASSIGNED = "assigned"
    TRANSACTION = "transaction"


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A state, and what happens then.

    values: that are to be acknowledged, with `acknowledged`.
    partition: of `epoch` and `isr`.
    awaited: the group of `coordinator` and `assigned`.
    fault: to inject: a verb and a target, as `fencepost play fault` takes them, or a verb of plans.
    number: of the fault to heal, from 0 in the order in which they are injected.
    group: whose members are closed, or opened again.
    is_rolling: the members are opened one by one, each of which commits before the next step.
    """

    when: When
    values: int = 0
    partition: int = 0
    awaited: str = ""
    do: Do
    fault: str = ""
    number: int = 0
    group: str = ""
    is_rolling: bool = False


class RandomPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a run of the scenario `random` does.

    is_proxied: clients reach the brokers through a proxy, which can hold responses.
    processing_ms: how long the application takes for the records of a poll.
    """

    seed: int
    topic: TopicPlan
    producer: ProducerPlan
    groups: tuple[GroupPlan, ...]
    steps: tuple[Step, ...]
    is_proxied: bool = False
    processing_ms: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0


def plan_as_json(plan: RandomPlan) -> bytes:
    """A plan as JSON, the same bytes for the same plan."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def read_plan(file: Path) -> RandomPlan:
    """Read a plan, as a run keeps it, from an absolute path: a scenario has no current folder.

    Raises:
        UsageError: it can't be read, is no plan, or has a step that can't be taken.
    """
    try:
        plan = Written(file, what="the plan", is_json=True).convert(RandomPlan)
    except UsageError as error:
        raise UsageError(f"it is no plan of the scenario random: {error}") from None
    try:
        require_possible(plan)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
    return plan


def require_possible(plan: RandomPlan) -> None:
    """Check that a plan can be carried out.

    Raises:
        UsageError: it has a step that can't be taken, or what no run of the scenario has.
    """
    _require_shape(plan)
    held, closed = list[int](), set[str]()
    injected = 0
    for index, step in enumerate(plan.steps):
        where = f"step {index + 1} of the plan"
        _require_state(plan, step, where)
        _require_open(step, closed, where)
        if step.do is Do.INJECT:
            _require_fault(plan, step.fault, where)
            if not is_over(step.fault):
                held.append(injected)
            injected += 1
        elif step.do is Do.HEAL and step.number not in held:
            there = f"{injected} were injected, of which {_in_words(held)} hold"
            raise UsageError(f"{where} heals fault {step.number}, and {there}")
        elif step.do is Do.HEAL:
            held.remove(step.number)
        elif step.group not in _groups(plan):
            raise UsageError(f"{where} is about group {step.group!r}; {_there(plan)}")
        elif step.do is Do.CLOSE:
            closed.add(step.group)
        else:
            closed.discard(step.group)


def _require_open(step: Step, closed: AbstractSet[str], where: str) -> None:
    """Refuse what no member of a closed group does."""
    verb, _, target = step.fault.partition(" ")
    asked = group_of(step.fault) if target.startswith("group:") and verb in HOLDS else ""
    for group in {step.awaited if step.when is When.ASSIGNED else "", asked} & closed:
        raise UsageError(f"{where} needs members of group {group}, which is closed: open it before")


def _require_shape(plan: RandomPlan) -> None:
    topic, writer = plan.topic, plan.producer
    if topic.topic != TOPIC or not 1 <= topic.replication <= BROKERS:
        raise UsageError(f"the topic of a plan is {TOPIC}, with at most {BROKERS} replicas")
    if not topic.partitions:
        raise UsageError("the topic of a plan has at least one partition")
    if not plan.groups:
        raise UsageError("a plan has at least one group")
    _require_bounds(plan)
    for named in (writer.topic, *(group.topic for group in plan.groups)):
        if named != TOPIC:
            raise UsageError(f"{named!r} is no topic of the plan; its topic is {TOPIC}")
    names = [group.group for group in plan.groups]
    if len({*names}) < len(names):
        raise UsageError("two groups of the plan have one name")
    for group in plan.groups:
        if group.unknown:
            raise UsageError(group.unknown)


def _require_bounds(plan: RandomPlan) -> None:
    topic, writer = plan.topic, plan.producer
    for name, given, most in (
        ("partitions", topic.partitions, _PARTITIONS_MAX),
        ("min_insync", topic.min_insync, topic.replication),
        ("records_per_second", writer.records_per_second or 0, _VALUES_MAX),
        ("records", writer.transactions.records if writer.transactions else 0, _VALUES_MAX),
        ("members", sum(group.members for group in plan.groups), _MEMBERS_MAX),
        ("values", max((step.values for step in plan.steps), default=0), _VALUES_MAX),
        ("steps", len(plan.steps), _STEPS_MAX),
    ):
        if given > most:
            raise UsageError(f"{name}: {given} are more than the {most} that a plan may have")


def _require_state(plan: RandomPlan, step: Step, where: str) -> None:
    if step.when in (When.COORDINATOR, When.ASSIGNED) and step.awaited not in _groups(plan):
        raise UsageError(f"{where} waits for group {step.awaited!r}; {_there(plan)}")
    members = {group.group: group.members for group in plan.groups}
    if step.when is When.ASSIGNED and members[step.awaited] > plan.topic.partitions:
        raise UsageError(
            f"{where} waits until each member of {step.awaited} has a partition: it has "
            f"{members[step.awaited]} members, and the topic {plan.topic.partitions} partitions"
        )
    if step.is_rolling and members.get(step.group, 0) > plan.topic.partitions:
        raise UsageError(
            f"{where} waits for a commit of each of the {members[step.group]} members of "
            f"{step.group}, and the topic has {plan.topic.partitions} partitions"
        )
    if step.when is When.ACKNOWLEDGED and step.values < 1:
        raise UsageError(f"{where} waits for {step.values} values: name at least one")
    if step.when is When.TRANSACTION and plan.producer.transactions is None:
        raise UsageError(f"{where} waits for a transaction, and the producer has none")
    if step.when in (When.EPOCH, When.ISR):
        _require_partition(plan, step.partition, where)


def _require_fault(plan: RandomPlan, fault: str, where: str) -> None:
    try:
        target = fault_of(plan, fault).target
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    if lacking := _lacking(plan, fault.partition(" ")[0]):
        raise UsageError(f"{where}: {lacking}")
    if target.topic not in (None, TOPIC):
        raise UsageError(f"{where}: there is no topic {target.topic}; there is {TOPIC}")
    if target.partition is not None:
        _require_partition(plan, target.partition, where)
    if target.group is not None and target.group not in _groups(plan):
        raise UsageError(f"{where}: there is no group {target.group}; {_there(plan)}")
    for transactional_id in target.transactional_ids:
        if plan.producer.transactions is None or transactional_id != plan.producer.producer:
            raise UsageError(
                f"{where}: no producer of the plan has the transactional.id {transactional_id}"
            )
    beyond = [broker for broker in target.brokers if not 1 <= broker <= BROKERS]
    if beyond:
        raise UsageError(f"{where}: there is no broker {beyond[0]}; there are {BROKERS}")


def _lacking(plan: RandomPlan, verb: str) -> str:
    """Why a plan can't have faults of a verb; empty if it can."""
    if verb in HOLDS and not plan.is_proxied:
        return f"{verb} needs a plan with is_proxied"
    if verb == "cut-clients" and plan.is_proxied:
        return f"{verb} cuts no clients that use the proxy (is_proxied)"
    if verb == EXPIRE and not plan.topic.deletes:
        return f"{verb} needs a topic that `deletes`"
    return ""


def _require_partition(plan: RandomPlan, partition: int, where: str) -> None:
    if not 0 <= partition < plan.topic.partitions:
        raise UsageError(
            f"{where}: there is no partition {TOPIC}-{partition}; there are {plan.topic.partitions}"
        )


def fault_of(
    plan: RandomPlan, fault: str, *, reopen: Callable[[str], object] = lambda _: None
) -> Fault:
    """Return the fault of a verb and a target of a plan.

    `reopen` opens the members of a group again, with which they ask for its commits.

    Raises:
        UsageError: there is no such verb or target; names the existing ones.
    """
    verb, _, target = fault.partition(" ")
    kind, _, name = target.partition(":")
    if verb in HOLDS and kind == "group" and name:
        is_reopened = HOLDS[verb] == REOPENED
        by = (lambda: reopen(name)) if is_reopened else lambda: None
        return Hold(HOLDS[verb], name, by=by)
    if verb == EXPIRE and target == f"topic:{TOPIC}":
        return Expire(plan.topic, By.ORDER)
    if verb in HOLDS or verb == EXPIRE:
        wanted = f"topic:{TOPIC}" if verb == EXPIRE else "group:NAME"
        raise UsageError(f"{target!r} names no target of {verb}: {wanted}")
    if not target:
        raise UsageError(f"{fault!r} is no verb and target, such as pause leader:orders-0")
    return parse_fault(verb, target)


def is_over(fault: str) -> bool:
    """Whether a fault of a plan is over when it is proved, so that no step heals it."""
    verb = fault.partition(" ")[0]
    return verb == EXPIRE or is_instant(verb)


def group_of(fault: str) -> str:
    """The group that a fault of a plan names, such as one whose coordinator it is about."""
    kind, _, name = fault.partition(" ")[2].partition(":")
    return name if kind in ("group", "coordinator") else ""


def waiting_for(step: Step, when: When) -> Step:
    """Return a step that waits for another state, which needs no further values, or the same."""
    if when is step.when:
        return step
    return replace(step, when=when, values=0, partition=0, awaited="")


def of_openings(plan: RandomPlan) -> list[Check]:
    """The checks that a plan is about if a group is opened again, at its commits."""
    is_opened = any(step.do is Do.REOPEN or step.fault.startswith(_OPENING) for step in plan.steps)
    return [Check.START_MISMATCH] if is_opened else []


def _groups(plan: RandomPlan) -> list[str]:
    return [group.group for group in plan.groups]


def _there(plan: RandomPlan) -> str:
    return f"the groups are {', '.join(sorted(_groups(plan)))}"


def _in_words(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"

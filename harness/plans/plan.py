"""What a random run does, as data: a topic, a producer, groups, and steps.

Each step waits for a state of the cluster, and then injects a fault, heals one, or opens a group's
members again.
"""

import enum
from pathlib import Path

import msgspec

from contract.errors import UsageError
from contract.run_folder import GroupPlan, ProducerPlan, TopicPlan
from harness.faults.language import parse_fault

PLAN_FILE = "random.json"
"""Of a random run's folder."""
TOPIC = "orders"
BROKERS = 3


class Do(enum.StrEnum):
    """What a step does. `reopen`: the group's members are closed, and opened again."""

    INJECT = "inject"
    HEAL = "heal"
    REOPEN = "reopen"


class When(enum.StrEnum):
    """The state that a step waits for, counted from the step before.

    proved: that step was taken, and its fault, if it injected one, is proved.
    acknowledged: a number of further values.
    committed: a commit of each group.
    epoch: the partition is led under a newer epoch than when the last fault was injected.
    """

    PROVED = "proved"
    ACKNOWLEDGED = "acknowledged"
    COMMITTED = "committed"
    EPOCH = "epoch"


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A state, and what happens then.

    values: that are to be acknowledged, with `acknowledged`.
    partition: of `epoch`.
    fault: to inject: a verb and a target, as `fencepost fault` takes them.
    number: of the fault to heal, from 0 in the order in which they are injected.
    group: whose members are opened again.
    """

    when: When
    values: int = 0
    partition: int = 0
    do: Do
    fault: str = ""
    number: int = 0
    group: str = ""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is a mutation of.

    parent: the hash of that plan (`contract.coverage.hash_of`).
    seeds: that its draws follow from: that of a plan, and of the changes of each mutation since.
    """

    parent: str
    seeds: tuple[int, ...]


class RandomPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a run of the scenario `random` does."""

    seed: int
    origin: Origin | None = None
    topic: TopicPlan
    producer: ProducerPlan
    groups: tuple[GroupPlan, ...]
    steps: tuple[Step, ...]


def written(plan: RandomPlan) -> bytes:
    """A plan as JSON, the same bytes for the same plan."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def read_plan(file: Path) -> RandomPlan:
    """Read a plan, as a run keeps it, from an absolute path: a scenario has no current folder.

    Raises:
        UsageError: it can't be read, is no plan, or has a step that can't be taken.
    """
    try:
        plan = msgspec.json.decode(file.read_bytes(), type=RandomPlan)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{file} is no plan of the scenario random: {error}") from None
    _require_steps(plan)
    return plan


def _require_steps(plan: RandomPlan) -> None:
    groups, injected = {group.group for group in plan.groups}, 0
    for index, step in enumerate(plan.steps):
        where = f"step {index + 1} of the plan"
        if step.do is Do.INJECT:
            parse_fault(*words_of(step.fault, where))
            injected += 1
        elif step.do is Do.HEAL and not 0 <= step.number < injected:
            raise UsageError(f"{where} heals fault {step.number}, and {injected} were injected")
        elif step.do is Do.REOPEN and step.group not in groups:
            raise UsageError(
                f"{where} opens group {step.group!r}; the groups are {', '.join(sorted(groups))}"
            )


def words_of(fault: str, where: str) -> tuple[str, str]:
    """Return the verb and the target of a fault; `where` names the step in an error."""
    verb, _, target = fault.partition(" ")
    if not target:
        raise UsageError(f"{where}: {fault!r} is no verb and target, such as pause leader:orders-0")
    return verb, target

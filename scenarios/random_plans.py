"""Plans of the scenario `random`: drawn from a seed, kept as data, and carried out.

A plan has a topic, a producer, groups, and steps. Each step waits for a state of the cluster, and
then injects a fault, heals one, or opens a group's members again. What no cluster of the scenario
could reach is never drawn.
"""

import enum
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
from msgspec.structs import replace

from contract.clients import Client
from contract.errors import FaultError, UsageError
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from contract.run_folder import GroupPlan, ProducerPlan, TopicPlan
from contract.stages import Stage
from harness.faults.fault import HeldFault
from harness.faults.language import parse_fault
from harness.faults.targets import parse_target
from harness.story.consumers import members_of
from harness.story.run import Run
from harness.story.workload import reader, writer

TOPIC = "orders"
BROKERS = 3
RECORDS_PER_SECOND = 500
OFFSETS = "__consumer_offsets"
_FENCING = ("kill", "stop", "pause", "cut", "cut-in", "cut-out", "cut-controllers")
"""Their broker is fenced: leaders and coordinators move."""
_REPLICATION, _CLIENTS, _BOUNCE = "cut-replication", "cut-clients", "bounce"
_VERBS = (*_FENCING, _REPLICATION, _CLIENTS, _BOUNCE)
_VERBS_MIN = 3
_FAULTS = range(2, 5)
_HELD_MAX = 2
_VALUES = range(200, 1501, 100)
_STYLES = (CommitEpoch.RECORD, CommitEpoch.NONE, CommitEpoch.APPLICATION)
_GROUPS = 4


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


class RandomPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run of the scenario `random` does."""

    seed: int
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
            parse_fault(*_words(step.fault, where))
            injected += 1
        elif step.do is Do.HEAL and not 0 <= step.number < injected:
            raise UsageError(f"{where} heals fault {step.number}, and {injected} were injected")
        elif step.do is Do.REOPEN and step.group not in groups:
            raise UsageError(
                f"{where} opens group {step.group!r}; the groups are {', '.join(sorted(groups))}"
            )


def _words(fault: str, where: str) -> tuple[str, str]:
    verb, _, target = fault.partition(" ")
    if not target:
        raise UsageError(f"{where}: {fault!r} is no verb and target, such as pause leader:orders-0")
    return verb, target


def draw(seed: int, clients: Sequence[Client]) -> RandomPlan:
    """Draw the plan of a seed, for the clients that the Kafka version has."""
    return _Draw(seed, clients).plan()


class _Draw:
    """The draws of one plan, with the faults that hold at each step.

    Some verbs are left out in each plan, so that the others are combined more often (swarm
    testing).
    """

    def __init__(self, seed: int, clients: Sequence[Client]) -> None:
        self._random = Random(seed)  # noqa: S311 - reproducible choices, not secrets
        self._seed, self._clients = seed, sorted(clients)
        kept = [verb for verb in _VERBS if self._random.random() < 1 / 2]
        self._verbs = kept if len(kept) >= _VERBS_MIN else list(_VERBS)
        self._held: dict[int, str] = {}
        self._led: int | None = None
        """The partition whose leader the last fault was injected into."""

    def plan(self) -> RandomPlan:
        topic = TopicPlan(
            topic=TOPIC,
            partitions=self._random.randint(1, 4),
            replication=BROKERS,
            min_insync=self._random.choice((1, 2, 2)),
            unclean_election=False,
        )
        producer = writer("writer", TOPIC, acks=self._random.choice(("all", "all", "1")))
        groups = tuple(self._group(number, topic) for number in range(_GROUPS))
        return RandomPlan(
            seed=self._seed,
            topic=topic,
            producer=producer,
            groups=groups,
            steps=tuple(self._steps(topic, groups)),
        )

    def _group(self, number: int, topic: TopicPlan) -> GroupPlan:
        client = self._random.choice(self._clients)
        is_java = client in (Client.JAVA, Client.JAVA_CONSUMER)
        group = reader(
            f"{client}-{number}",
            TOPIC,
            client=client,
            reset=self._random.choice((ResetPolicy.EARLIEST, ResetPolicy.LATEST)),
            members=self._random.randint(1, min(2, topic.partitions)),
        )
        return replace(
            group,
            commit_epoch=self._random.choice(_STYLES if is_java else _STYLES[:2]),
            manner=self._random.choice((Manner.SYNC, Manner.ASYNC)) if is_java else Manner.SYNC,
        )

    def _steps(self, topic: TopicPlan, groups: Sequence[GroupPlan]) -> list[Step]:
        faults, steps = self._random.choice(_FAULTS), list[Step]()
        injected = 0
        while injected < faults or self._held:
            if len(self._held) < _HELD_MAX and self._random.random() < 1 / 4:
                group = self._random.choice(groups).group
                steps.append(self._when(Do.REOPEN, group=group))
            verbs = self._possible(topic) if injected < faults else []
            if verbs and (not self._held or self._random.random() < 1 / 2):
                steps.append(self._inject(self._random.choice(verbs), topic, groups))
                if not steps[-1].fault.startswith(_BOUNCE):
                    self._held[injected] = steps[-1].fault
                injected += 1
            elif self._held:
                number = self._random.choice(sorted(self._held))
                steps.append(self._when(Do.HEAL, number=number))
                del self._held[number]
        return steps

    def _possible(self, topic: TopicPlan) -> list[str]:
        """The verbs that leave partitions with enough replicas in sync for the producer."""
        if len(self._held) == _HELD_MAX:
            return []
        held = {fault.partition(" ")[0] for fault in self._held.values()}
        if not held:
            return self._verbs
        if topic.min_insync == 1 and held <= {*_FENCING}:
            return [verb for verb in self._verbs if verb in _FENCING]
        return [] if _CLIENTS in held else [verb for verb in self._verbs if verb == _CLIENTS]

    def _inject(self, verb: str, topic: TopicPlan, groups: Sequence[GroupPlan]) -> Step:
        partition = self._random.randrange(topic.partitions)
        target = self._random.choice(
            (
                f"leader:{TOPIC}-{partition}",
                f"leader:{TOPIC}-{partition}",
                f"follower:{TOPIC}-{partition}",
                f"coordinator:{self._random.choice(groups).group}",
            )
        )
        step = self._when(Do.INJECT, fault=f"{verb} {target}")
        is_deposed = verb in _FENCING and target.startswith("leader")
        self._led = partition if is_deposed else None
        return step

    def _states(self) -> list[When]:
        """What is sure to come while these faults hold.

        All leaders may be on a broker that clients, or its followers, do not reach.
        """
        held = {fault.partition(" ")[0] for fault in self._held.values()}
        if held & {_REPLICATION, _CLIENTS}:
            return [When.PROVED]
        states = [When.PROVED, When.ACKNOWLEDGED, When.ACKNOWLEDGED]
        if not held:
            states.append(When.COMMITTED)
        if held and self._led is not None:
            states.append(When.EPOCH)
        return states

    def _when(self, do: Do, *, fault: str = "", number: int = 0, group: str = "") -> Step:
        when = self._random.choice(self._states())
        return Step(
            when=when,
            values=self._random.choice(_VALUES) if when is When.ACKNOWLEDGED else 0,
            partition=self._led or 0 if when is When.EPOCH else 0,
            do=do,
            fault=fault,
            number=number,
            group=group,
        )


class Story:
    """Carries out a plan. A server has one fault at a time: a second one is left out."""

    def __init__(self, run: Run, plan: RandomPlan) -> None:
        """Nothing is started."""
        self._run, self._plan = run, plan
        self._incarnations = dict.fromkeys((group.group for group in plan.groups), 0)
        self._faults: list[tuple[HeldFault, frozenset[int]] | None] = []
        self._epochs: dict[int, int] = {}

    def carry_out(self) -> None:
        """Take all steps, heal what holds, and let groups read to the log ends."""
        run, plan = self._run, self._plan
        run.phases.enter(Stage.WARM_UP, "clients begin to write and to read")
        run.workload.start_producer(plan.producer, records_per_second=RECORDS_PER_SECOND)
        for group in plan.groups:
            self._open(group)
        run.workload.await_acknowledged([plan.producer.producer], 1)
        run.workload.await_commits(self._members())
        run.phases.enter(Stage.STEADY, "writing and reading")
        for step in plan.steps:
            self._await(step)
            self._take(step)
        run.settle(internal_topics=[OFFSETS])
        run.workload.stop_producers()
        for group in plan.groups:
            run.read_to_end([group], incarnation=self._incarnations[group.group])

    def _members(self) -> dict[str, list[str]]:
        return {
            group.group: list(members_of([group], incarnation=self._incarnations[group.group]))
            for group in self._plan.groups
        }

    def _open(self, group: GroupPlan) -> None:
        self._incarnations[group.group] += 1
        members = self._run.open([group], incarnation=self._incarnations[group.group])
        self._run.workload.start_reading(members, commit_epoch=CommitEpoch(group.commit_epoch))

    def _await(self, step: Step) -> None:
        workload = self._run.workload
        if step.when is When.ACKNOWLEDGED:
            workload.await_acknowledged([self._plan.producer.producer], step.values)
        elif step.when is When.COMMITTED:
            workload.await_commits(self._members(), are_new=True)
        elif step.when is When.EPOCH and step.partition in self._epochs:
            epoch = self._epochs[step.partition]
            self._run.await_epoch_above(self._plan.topic, [step.partition], epoch)

    def _take(self, step: Step) -> None:
        if step.do is Do.INJECT:
            self._inject(step)
        elif step.do is Do.HEAL:
            self._heal(step.number)
        else:
            self._reopen(next(one for one in self._plan.groups if one.group == step.group))

    def _inject(self, step: Step) -> None:
        verb, target = _words(step.fault, "a step")
        busy = frozenset[int]().union(*(one[1] for one in self._faults if one))
        try:
            servers = frozenset(parse_target(target).resolve(self._run.observer))
        except FaultError as error:
            self._leave_out(step.fault, str(error))
            return
        if servers & busy:
            self._leave_out(step.fault, f"a fault holds on {sorted(servers & busy)} already")
            return
        self._epochs = {
            partition: self._run.leader_epoch(TOPIC, partition)
            for partition in range(self._plan.topic.partitions)
        }
        held = self._run.inject(parse_fault(verb, target))
        self._faults.append((held, servers))
        if verb == _BOUNCE:
            self._heal(len(self._faults) - 1)

    def _leave_out(self, fault: str, why: str) -> None:
        self._faults.append(None)
        self._epochs = {}
        self._run.phases.enter(Stage.HELD, f"left out: {fault}, since {why}")

    def _heal(self, number: int) -> None:
        if (holds := self._faults[number]) is not None:
            holds[0].heal()
            self._faults[number] = None
        if not any(self._faults):
            self._run.phases.enter(Stage.HEALED, "no fault holds")

    def _reopen(self, group: GroupPlan) -> None:
        members = self._members()[group.group]
        self._run.workload.stop_reading(members)
        self._run.close(members)
        self._open(group)

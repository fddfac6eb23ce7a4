"""Draws the plan of a seed. What no cluster of the scenario could reach is never drawn."""

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from contract.clients import Client
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from contract.randomness import generator
from contract.run_folder import GroupPlan, TopicPlan
from harness.plans.plan import BROKERS, TOPIC, Do, Origin, RandomPlan, Step, When
from harness.story.workload import reader, writer

FENCING = ("kill", "stop", "pause", "cut", "cut-in", "cut-out", "cut-controllers")
"""Their broker is fenced: leaders and coordinators move."""
_REPLICATION, _CLIENTS, _BOUNCE = "cut-replication", "cut-clients", "bounce"
_VERBS = (*FENCING, _REPLICATION, _CLIENTS, _BOUNCE)
_VERBS_MIN = 3
_FAULTS = range(2, 5)
_HELD_MAX = 2
_VALUES = range(200, 1501, 100)
_STYLES = (CommitEpoch.RECORD, CommitEpoch.NONE, CommitEpoch.APPLICATION)
_GROUPS = 4
_CHANGED = 1 / 16
"""The share of a plan's draws that a mutation changes."""


def draw(seed: int, clients: Sequence[Client], *, origin: Origin | None = None) -> RandomPlan:
    """Draw the plan of a seed, for the clients that the Kafka version has.

    With an `origin` its draws are those of another plan, but for some.
    """
    seeds = (seed,) if origin is None else origin.seeds
    return replace(_Draw(seed, clients, numbers_of(seeds)).plan(), origin=origin)


def numbers_of(seeds: Sequence[int]) -> Random:
    """Return the random numbers of a seed, of which each further seed changes some."""
    first, *changes = seeds
    numbers = generator(first)
    for seed in changes:
        numbers = _Changed(numbers, generator(seed))
    return numbers


class _Changed(Random):
    """The numbers of a generator, but for some, which another one gives."""

    def __init__(self, numbers: Random, changes: Random) -> None:
        super().__init__(0)
        self._numbers, self._changes = numbers, changes

    def random(self) -> float:
        number = self._numbers.random()
        return self._changes.random() if self._changes.random() < _CHANGED else number

    def getrandbits(self, k: int, /) -> int:
        number = self._numbers.getrandbits(k)
        return self._changes.getrandbits(k) if self._changes.random() < _CHANGED else number


class _Draw:
    """The draws of one plan, with the faults that hold at each step.

    Some verbs are left out in each plan, so that the others are combined more often (swarm
    testing).
    """

    def __init__(self, seed: int, clients: Sequence[Client], numbers: Random) -> None:
        self._random = numbers
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
        if topic.min_insync == 1 and held <= {*FENCING}:
            return [verb for verb in self._verbs if verb in FENCING]
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
        is_deposed = verb in FENCING and target.startswith("leader")
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

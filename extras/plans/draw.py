"""Draws the plan of a seed. What no cluster of the scenario could reach is never drawn."""

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from contract.run_folder import GroupPlan, ProducerPlan, TopicPlan, TransactionPlan
from contract.software import Client, about
from contract.terms import CommitEpoch, Isolation, Manner, ResetPolicy
from extras.plans.plan import (
    BROKERS,
    EXPIRE,
    HOLDS,
    TOPIC,
    Do,
    RandomPlan,
    Step,
    When,
    is_over,
)
from harness.faults.broker_fault import EndServer
from harness.faults.language import drawn_forms
from harness.story.workload import reader, writer

_ELECT, _REBALANCE, _CLIENTS = "elect", "rebalance", "cut-clients"
_TRANSACTIONS, _ONE, _UNCLEAN, _REOPEN = "transactions", "acks=1", "unclean", "reopen"
_AWAY, _SLOW = "away", "slow"
_FORMS = {form.by_hand.verb: form for form in drawn_forms()}
_SERVERS = [verb for verb, (fault, _) in _FORMS.items() if fault.on is None]
_OTHERS = [verb for verb in _FORMS if verb not in _SERVERS]
WEIGHTS = {
    **{verb: _FORMS[verb].by_hand.weight for verb in _SERVERS},
    **dict.fromkeys(HOLDS, 3),
    EXPIRE: 3,
    **{verb: _FORMS[verb].by_hand.weight for verb in _OTHERS},
    _REOPEN: 3,
    _AWAY: 6,
    _SLOW: 12,
    _TRANSACTIONS: 4,
    _ONE: 4,
    _UNCLEAN: 4,
}
"""Every kind that a plan may have. Of a verb: its weight among those that are possible at a step.
Of `reopen` and `away`, before each step, and of the properties of a whole plan: in how many of 12
cases. `away`: groups are closed, until later steps. `slow`: applications take a time for each poll,
so that groups that were closed read for seconds what was written meanwhile, each commit of which is
one between records of older epochs. Each
seed leaves out every kind with probability 1/2, so that the others meet more often (swarm
testing)."""
_OF = 12
_FENCING = [verb for verb, form in _FORMS.items() if form.by_hand.fences]
_STALLING = {verb for verb, form in _FORMS.items() if form.by_hand.stalls}
_NOTICED = [verb for verb in _FENCING if _FORMS[verb].fault.silences]
"""Their broker responds to no request, so that no view is that of a deposed leader."""
_ENDING = [verb for verb in _NOTICED if issubclass(_FORMS[verb].fault, EndServer)]
"""They are proved without any other broker."""
_VERBS = (*_SERVERS, *HOLDS, EXPIRE, *_OTHERS)
_VERBS_MIN = 3
_FAULTS = range(2, 5)
_HELD_MAX = 2
_VALUES = range(200, 1501, 100)
_STYLES = (CommitEpoch.RECORD, CommitEpoch.NONE, CommitEpoch.APPLICATION)
_GROUPS = 4
_RECORDS = 100
"""Of a transaction."""
_PROCESSING_MS = 200
"""500 records a poll are 2,500 a second, five times what is written."""


def draw(seed: int, clients: Sequence[Client]) -> RandomPlan:
    """Draw the plan of a seed, for the clients that the Kafka version has."""
    return _Draw(seed, clients).plan()


class _Draw:
    """The draws of one plan, with the faults that hold at each step."""

    def __init__(self, seed: int, clients: Sequence[Client]) -> None:
        self._random = Random(seed)
        self._seed, self._clients = seed, sorted(clients)
        self._kinds = {kind for kind in WEIGHTS if self._random.random() < 1 / 2}
        if len(self._kinds & {*_SERVERS}) < _VERBS_MIN:
            self._kinds |= {*_SERVERS}
        # Clients that use the proxy can't be cut.
        self._kinds -= {_CLIENTS} if self._random.random() < 1 / 2 else {*HOLDS}
        self._held: dict[int, str] = {}
        self._away: list[str] = []
        """The groups that are closed."""
        self._last = ""
        """The last fault, while it holds."""
        self._behind = 0
        """How many replicas of a partition may not be in sync, at most."""

    def plan(self) -> RandomPlan:
        is_unclean = self._has(_UNCLEAN)
        self._topic = TopicPlan(
            topic=TOPIC,
            partitions=self._random.randint(1, 4),
            replication=BROKERS,
            min_insync=1 if is_unclean else self._random.choice((1, 2, 2)),
            unclean_election=is_unclean,
            deletes=EXPIRE in self._kinds,
        )
        self._producer = self._writer()
        self._groups = tuple(self._group(number) for number in range(_GROUPS))
        return RandomPlan(
            seed=self._seed,
            topic=self._topic,
            producer=self._producer,
            groups=self._groups,
            steps=tuple(self._steps()),
            is_proxied=bool(self._kinds & {*HOLDS}),
            processing_ms=_PROCESSING_MS if self._has(_SLOW) else 0,
        )

    def _has(self, kind: str) -> bool:
        return self._random.random() < WEIGHTS[kind] / _OF and kind in self._kinds

    def _writer(self) -> ProducerPlan:
        if self._has(_TRANSACTIONS):
            aborted = self._random.choice((0.0, 0.25))
            transactions = TransactionPlan(records=_RECORDS, aborted=aborted)
            return writer("writer", TOPIC, transactions=transactions)
        return writer("writer", TOPIC, acks="1" if self._has(_ONE) else "all")

    def _group(self, number: int) -> GroupPlan:
        client = self._random.choice(self._clients)
        is_java = client.about.is_java
        group = reader(
            f"{client}-{number}",
            TOPIC,
            client=client,
            reset=self._random.choice((ResetPolicy.EARLIEST, ResetPolicy.LATEST)),
            members=self._random.randint(1, min(2, self._topic.partitions)),
        )
        return replace(
            group,
            commit_epoch=self._random.choice(_STYLES if is_java else _STYLES[:2]),
            manner=self._random.choice((Manner.SYNC, Manner.ASYNC)) if is_java else Manner.SYNC,
            isolation=self._random.choice((None, Isolation.READ_COMMITTED))
            if self._producer.transactions
            else None,
        )

    def _steps(self) -> list[Step]:
        faults, steps = self._random.choice(_FAULTS), list[Step]()
        injected = 0
        while injected < faults or self._held:
            is_calm = len(self._held) < _HELD_MAX and not self._is_holding()
            if is_calm and self._has(_REOPEN):
                group = self._random.choice(self._groups).group
                steps.append(self._opening(group))
                self._away = [other for other in self._away if other != group]
            if is_calm and not self._away and self._has(_AWAY):
                steps += self._close_some()
            elif self._away and not self._held and self._random.random() < 1 / 2:
                steps += self._reopen_all()
            verbs = self._possible() if injected < faults else []
            if verbs and (not self._held or self._is_holding() or self._random.random() < 1 / 2):
                steps.append(self._inject(verbs))
                self._last = steps[-1].fault
                if is_over(self._last):
                    self._last = ""
                else:
                    self._held[injected] = self._last
                injected += 1
            elif self._held:
                number = self._to_heal()
                steps.append(self._step(Do.HEAL, number=number))
                del self._held[number]
                self._last = ""
        return steps + (self._reopen_all() if self._random.random() < 3 / 4 else [])

    def _close_some(self) -> list[Step]:
        """Close some groups, such as those of an application that is deployed again."""
        groups = [group.group for group in self._groups if self._random.random() < 2 / 3]
        steps = []
        for group in groups:
            steps.append(self._step(Do.CLOSE, group=group))
            self._away.append(group)
        return steps

    def _reopen_all(self) -> list[Step]:
        steps = []
        for group in [*self._away]:
            steps.append(self._opening(group))
            self._away.remove(group)
        return steps

    def _opening(self, group: str) -> Step:
        """Open a group, member by member if it is sure that each can commit."""
        step = self._step(Do.REOPEN, group=group)
        return replace(step, is_rolling=not self._held and self._random.random() < 2 / 3)

    def _open_groups(self) -> list[str]:
        return [group.group for group in self._groups if group.group not in self._away]

    def _verbs_held(self) -> list[str]:
        return [_verb(fault) for fault in self._held.values()]

    def _is_holding(self) -> bool:
        """Whether a response is held: clients give it up after a time, so it is healed first."""
        return bool({*self._verbs_held()} & {*HOLDS})

    def _to_heal(self) -> int:
        held = [name for name in sorted(self._held) if _verb(self._held[name]) in HOLDS]
        return self._random.choice(held or sorted(self._held))

    def _possible(self) -> list[str]:
        """The verbs that leave partitions with enough replicas in sync for the producer."""
        held = self._verbs_held()
        is_one = len(held) == 1
        if not held:
            found = {*_VERBS}
            if not self._of_java():
                found.discard(_REBALANCE)
            if not self._open_groups():
                found -= {*HOLDS}
        elif is_one and self._is_holding():
            found = {*_FENCING, EXPIRE}
        elif not {*held} <= {*_FENCING} or len(held) > _HELD_MAX:
            found = set()
        elif len(held) == _HELD_MAX:
            # A declared disaster: no broker is left.
            is_disaster = self._topic.unclean_election and {*held} <= {*_ENDING}
            found = {*_ENDING} if is_disaster else set()
        else:
            found = {*_FENCING} if self._topic.min_insync == 1 else {_CLIENTS}
        return [verb for verb in _VERBS if verb in found & self._kinds]

    def _of_java(self) -> list[str]:
        of_java = {group.group for group in self._groups if about(group.client).is_java}
        return [group for group in self._open_groups() if group in of_java]

    def _inject(self, verbs: Sequence[str]) -> Step:
        (verb,) = self._random.choices(verbs, [WEIGHTS[verb] for verb in verbs])
        return self._step(Do.INJECT, fault=f"{verb} {self._target(verb)}")

    def _target(self, verb: str) -> str:
        partition = f"{TOPIC}-{self._random.randrange(self._topic.partitions)}"
        group = self._random.choice(self._groups).group
        if verb in HOLDS:
            return f"group:{self._random.choice(self._open_groups())}"
        if verb == EXPIRE:
            return f"topic:{TOPIC}"
        if verb == _ELECT:
            return f"partition:{partition}"
        if verb == _REBALANCE:
            return f"group:{self._random.choice(self._of_java())}"
        roles = [f"leader:{partition}"] * 2
        roles += [f"follower:{partition}", f"coordinator:{group}"]
        if self._producer.transactions:
            roles.append(f"transaction-coordinator:{self._producer.producer}")
        return self._random.choice(roles)

    def _states(self) -> list[When]:
        """What is sure to come while these faults hold.

        All leaders may be on a broker that clients, or its followers, do not reach; and a replica
        that has returned is not in sync at once.
        """
        held = self._verbs_held()
        is_able = self._behind <= BROKERS - self._topic.min_insync
        if {*held} & _STALLING or ({*held} & {*_FENCING} and not is_able):
            return [When.PROVED]
        states = [When.PROVED, When.ACKNOWLEDGED, When.ACKNOWLEDGED]
        if not held:
            states += [When.COMMITTED, When.ASSIGNED] if self._open_groups() else []
            states += [When.IN_SYNC] * (3 if self._behind else 1)
            states += [When.TRANSACTION] * 2 if self._producer.transactions else []
        verb, _, target = self._last.partition(" ")
        if verb in _FENCING and target.startswith("leader:"):
            states += [When.EPOCH] * 2
        if verb in _NOTICED:
            states.append(When.ISR)
        if verb in _NOTICED and target.startswith("coordinator:"):
            states += [When.COORDINATOR] * 2
        return states

    def _step(self, do: Do, *, fault: str = "", number: int = 0, group: str = "") -> Step:
        when = self._random.choice(self._states())
        awaited = ""
        if _verb(fault) == _ELECT:
            when = When.IN_SYNC
        elif _verb(fault) == _REBALANCE:
            when, awaited = When.ASSIGNED, fault.partition(":")[2]
        elif when is When.ASSIGNED:
            awaited = self._random.choice(self._open_groups())
        elif when is When.COORDINATOR:
            awaited = self._last.partition(":")[2]
        partition = 0
        if when is When.EPOCH:
            partition = int(self._last.rpartition("-")[2])
        elif when is When.ISR:
            partition = self._random.randrange(self._topic.partitions)
        self._behind = 0 if when is When.IN_SYNC else self._behind
        if (form := _FORMS.get(_verb(fault))) is not None:
            self._behind += form.by_hand.behind
        return Step(
            when=when,
            values=self._random.choice(_VALUES) if when is When.ACKNOWLEDGED else 0,
            partition=partition,
            awaited=awaited,
            do=do,
            fault=fault,
            number=number,
            group=group,
        )


def _verb(fault: str) -> str:
    return fault.partition(" ")[0]

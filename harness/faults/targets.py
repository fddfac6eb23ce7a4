"""The servers that a fault acts on, resolved just before it is injected."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from contract.errors import FaultError, TargetError, UsageError, WaitTimeoutError
from contract.terms import FaultTarget, TargetKind
from harness.clients.observer import Observer
from harness.clients.views import PartitionState

_KNOWN_SECONDS = 10


class Target(ABC):
    """Names servers in terms of the cluster's state, usually one broker."""

    @property
    @abstractmethod
    def named(self) -> FaultTarget:
        """The target as in the history, without the servers that it resolves to."""

    @abstractmethod
    def resolve(self, observer: Observer) -> list[int]:
        """Return their ids at this moment, at least one.

        Raises:
            TargetError: this cluster has no such topic, partition or server.
            FaultError: there is no such server now.
        """

    def __str__(self) -> str:
        """Return the target as a command names it, e.g. `leader:orders-0`."""
        return self.named.name


@dataclass(frozen=True)
class _OfPartition(Target):
    """The brokers that have a role for a partition."""

    kind: ClassVar[TargetKind]
    topic: str
    partition: int

    @property
    def named(self) -> FaultTarget:
        """The partition, and what the servers are to it."""
        return FaultTarget(target_kind=self.kind, topic=self.topic, partition=self.partition)


@dataclass(frozen=True)
class LeaderOf(_OfPartition):
    """The leader of a partition."""

    kind = TargetKind.LEADER

    def resolve(self, observer: Observer) -> list[int]:
        """Return the partition's current leader."""
        state = existing_partition(observer, self.topic, self.partition)
        if state.leader < 0:
            raise FaultError(
                f"{self} can't be resolved: the partition has no leader now (leader epoch "
                f"{state.leader_epoch}, ISR {state.isr}); brokers that respond: "
                f"{observer.kafka.answering_brokers()}"
            )
        return [state.leader]


@dataclass(frozen=True)
class FollowerOf(_OfPartition):
    """The follower of a partition with the lowest id that is in the ISR."""

    kind = TargetKind.FOLLOWER

    def resolve(self, observer: Observer) -> list[int]:
        """Return a current in-sync follower."""
        return _followers(self, observer, self.topic, self.partition)[:1]


@dataclass(frozen=True)
class FollowersOf(_OfPartition):
    """All followers of a partition that are in the ISR."""

    kind = TargetKind.FOLLOWERS

    def resolve(self, observer: Observer) -> list[int]:
        """Return the current in-sync followers."""
        return _followers(self, observer, self.topic, self.partition)


@dataclass(frozen=True)
class Broker(Target):
    """A broker by its id."""

    id: int

    @property
    def named(self) -> FaultTarget:
        """Its id."""
        return FaultTarget(target_kind=TargetKind.BROKER, brokers=(self.id,))

    def resolve(self, observer: Observer) -> list[int]:
        """Return the broker, if the cluster has it."""
        if self.id not in observer.kafka.topology.broker_ids:
            ids = observer.kafka.topology.broker_ids
            raise TargetError(f"{self} can't be resolved: the brokers are {ids}")
        return [self.id]


@dataclass(frozen=True)
class ActiveController(Target):
    """The server that leads the metadata quorum."""

    @property
    def named(self) -> FaultTarget:
        """It needs no name."""
        return FaultTarget(target_kind=TargetKind.CONTROLLER)

    def resolve(self, observer: Observer) -> list[int]:
        """Return the current active controller, which is also a broker in combined mode."""
        return [observer.active_controller()]


@dataclass(frozen=True)
class Voter(Target):
    """A voter of the metadata quorum by its id."""

    id: int

    @property
    def named(self) -> FaultTarget:
        """Its id."""
        return FaultTarget(target_kind=TargetKind.VOTER, brokers=(self.id,))

    def resolve(self, observer: Observer) -> list[int]:
        """Return the controller, if the cluster has it."""
        ids = observer.kafka.topology.controller_ids
        if self.id not in ids:
            raise TargetError(f"{self} can't be resolved: the controllers are {ids}")
        return [self.id]


@dataclass(frozen=True)
class OtherVoters(Target):
    """All voters of the metadata quorum but one."""

    than: int

    @property
    def named(self) -> FaultTarget:
        """The servers that they resolve to say which one is left out."""
        return FaultTarget(target_kind=TargetKind.OTHER_VOTERS)

    def resolve(self, observer: Observer) -> list[int]:
        """Return the other controllers."""
        return [i for i in observer.kafka.topology.controller_ids if i != self.than]


@dataclass(frozen=True)
class CoordinatorOf(Target):
    """The broker that coordinates a consumer group."""

    group: str

    @property
    def named(self) -> FaultTarget:
        """The group."""
        return FaultTarget(target_kind=TargetKind.COORDINATOR, group=self.group)

    def resolve(self, observer: Observer) -> list[int]:
        """Return the group's current coordinator."""
        return [observer.coordinator(self.group)]


@dataclass(frozen=True)
class TransactionCoordinatorOf(Target):
    """The broker that coordinates a transactional.id."""

    transactional_id: str

    @property
    def named(self) -> FaultTarget:
        """The transactional.id."""
        return FaultTarget(
            target_kind=TargetKind.TRANSACTION_COORDINATOR,
            transactional_ids=(self.transactional_id,),
        )

    def resolve(self, observer: Observer) -> list[int]:
        """Return its current coordinator, also if the id was never used."""
        return [observer.coordinator(self.transactional_id, of_transactions=True)]


@dataclass(frozen=True)
class AllBrokers(Target):
    """Every broker at once."""

    @property
    def named(self) -> FaultTarget:
        """They need no name."""
        return FaultTarget(target_kind=TargetKind.ALL)

    def resolve(self, observer: Observer) -> list[int]:
        """Return all brokers of the cluster."""
        return observer.kafka.topology.broker_ids


class Of(enum.StrEnum):
    """The servers of a minority: brokers or controllers."""

    BROKERS = "brokers"
    CONTROLLERS = "controllers"


@dataclass(frozen=True)
class Minority(Target):
    """The largest number of brokers, or controllers, whose absence leaves a majority.

    Those with the highest ids, except the active controller, so that the quorum keeps its leader.
    """

    of: Of

    @property
    def named(self) -> FaultTarget:
        """Whose minority it is."""
        return FaultTarget(target_kind=TargetKind(f"minority:{self.of}"))

    def resolve(self, observer: Observer) -> list[int]:
        """Return the current minority."""
        topology = observer.kafka.topology
        ids = topology.broker_ids if self.of is Of.BROKERS else topology.controller_ids
        size = (len(ids) - 1) // 2
        if size == 0:
            raise TargetError(f"{self} can't be resolved: {len(ids)} {self.of} have no minority")
        active = observer.active_controller()
        return sorted([i for i in ids if i != active][-size:])


def _followers(target: Target, observer: Observer, topic: str, partition: int) -> list[int]:
    state = existing_partition(observer, topic, partition)
    followers = [i for i in state.isr if i != state.leader]
    if not followers:
        raise FaultError(f"{target} can't be resolved: no follower is in sync now")
    return followers


def existing_partition(observer: Observer, topic: str, partition: int) -> PartitionState:
    """Return the newest view of a partition.

    Raises:
        TargetError: there is no such topic, or no such partition of it.
        FaultError: no broker runs that could know it.
    """
    seen = existing_topic(observer, topic)
    if partition not in seen:
        known = f"{topic} has the partitions {', '.join(map(str, sorted(seen)))}"
        raise TargetError(f"there is no partition {topic}-{partition}: {known}")
    return seen[partition]


def existing_topic(observer: Observer, topic: str) -> dict[int, PartitionState]:
    """Return the newest view of each partition of a topic.

    Raises:
        TargetError: there is no such topic.
        FaultError: no broker runs that could know it.
    """
    if not observer.kafka.answering_brokers():
        raise FaultError(f"no broker runs that could know the topic {topic}")
    try:
        # A busy broker may not respond at once.
        return observer.await_that(
            lambda: observer.partitions(topic) or None,
            what=f"any view of {topic}",
            timeout_seconds=_KNOWN_SECONDS,
        )
    except WaitTimeoutError:
        known = ", ".join(observer.topics()) or "none"
        raise TargetError(f"there is no topic {topic}; there are: {known}") from None


def parse_target(text: str) -> Target:
    """Return the target that a text names, in one of `TARGET_FORMS`.

    Raises:
        UsageError: it names none; lists the forms.
    """
    kind, _, name = text.partition(":")
    topic, _, partition = name.rpartition("-")
    if text in _ALONE:
        return _ALONE[text]
    if kind in _OF_NAMES and name:
        return _OF_NAMES[kind](name)
    if kind == "broker" and name.isdigit():
        return Broker(int(name))
    if kind in _OF_PARTITIONS and topic and partition.isdigit():
        return _OF_PARTITIONS[kind](topic, int(partition))
    raise UsageError(f"{text!r} names no target: {TARGET_FORMS}")


TARGET_FORMS = (
    "leader:TOPIC-PARTITION, follower:TOPIC-PARTITION, followers:TOPIC-PARTITION, broker:ID, "
    "coordinator:GROUP, transaction-coordinator:TRANSACTIONAL_ID, controller, minority:brokers, "
    "minority:controllers or all"
)

_WITHOUT_NAMES: list[Target] = [ActiveController(), AllBrokers(), *(Minority(of) for of in Of)]
_ALONE = {str(target): target for target in _WITHOUT_NAMES}
_OF_NAMES: dict[str, Callable[[str], Target]] = {
    "coordinator": CoordinatorOf,
    "transaction-coordinator": TransactionCoordinatorOf,
}
_OF_PARTITIONS: dict[str, Callable[[str, int], Target]] = {
    "leader": LeaderOf,
    "follower": FollowerOf,
    "followers": FollowersOf,
}

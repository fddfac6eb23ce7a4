"""Whom a fault strikes, resolved when it strikes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from harness.contract.errors import FaultError, UsageError
from harness.observer import Observer


class Target(Protocol):
    """Names a broker in terms of the cluster's state."""

    def resolve(self, observer: Observer) -> int:
        """The broker's id at this moment.

        Raises:
            FaultError: there is no such broker now.
        """

    def __str__(self) -> str:
        """How the target reads in the history, e.g. `leader:orders-0`."""


@dataclass(frozen=True)
class LeaderOf:
    """The leader of a partition."""

    topic: str
    partition: int

    def resolve(self, observer: Observer) -> int:
        """The partition's leader now."""
        state = observer.partition(self.topic, self.partition)
        if state is None or state.leader < 0:
            raise FaultError(f"{self} can't be struck: the partition has no leader now")
        return state.leader

    def __str__(self) -> str:
        """Read as `leader:orders-0`."""
        return f"leader:{self.topic}-{self.partition}"


@dataclass(frozen=True)
class FollowerOf:
    """The follower of a partition with the lowest id that is in the ISR."""

    topic: str
    partition: int

    def resolve(self, observer: Observer) -> int:
        """An in-sync follower now."""
        state = observer.partition(self.topic, self.partition)
        followers = [] if state is None else [i for i in state.isr if i != state.leader]
        if not followers:
            raise FaultError(f"{self} can't be struck: no follower is in sync now")
        return followers[0]

    def __str__(self) -> str:
        """Read as `follower:orders-0`."""
        return f"follower:{self.topic}-{self.partition}"


@dataclass(frozen=True)
class Broker:
    """A broker by its id."""

    id: int

    def resolve(self, observer: Observer) -> int:
        """The broker, if the cluster has it."""
        if self.id not in observer.kafka.topology.broker_ids:
            ids = observer.kafka.topology.broker_ids
            raise FaultError(f"{self} can't be struck: the brokers are {ids}")
        return self.id

    def __str__(self) -> str:
        """Read as `broker:2`."""
        return f"broker:{self.id}"


@dataclass(frozen=True)
class ActiveController:
    """The server that leads the metadata quorum."""

    def resolve(self, observer: Observer) -> int:
        """The active controller now, a broker too in combined mode."""
        return observer.active_controller()

    def __str__(self) -> str:
        """Read as `controller`."""
        return "controller"


@dataclass(frozen=True)
class CoordinatorOf:
    """The broker that coordinates a consumer group."""

    group: str

    def resolve(self, observer: Observer) -> int:
        """The group's coordinator now."""
        return observer.coordinator(self.group)

    def __str__(self) -> str:
        """Read as `coordinator:readers`."""
        return f"coordinator:{self.group}"


def parse_target(text: str) -> Target:
    """The target of a text: `leader:orders-0`, `follower:orders-0`, `broker:2`, `controller`.

    Raises:
        UsageError: it names none; tells the forms.
    """
    kind, _, name = text.partition(":")
    topic, _, partition = name.rpartition("-")
    if text == "controller":
        return ActiveController()
    if kind == "coordinator" and name:
        return CoordinatorOf(name)
    if kind == "broker" and name.isdigit():
        return Broker(int(name))
    if kind in _OF_PARTITIONS and topic and partition.isdigit():
        return _OF_PARTITIONS[kind](topic, int(partition))
    raise UsageError(
        f"{text!r} names no target: leader:TOPIC-PARTITION, follower:TOPIC-PARTITION, broker:ID, "
        "coordinator:GROUP or "
        "controller"
    )


_OF_PARTITIONS: dict[str, Callable[[str, int], Target]] = {
    "leader": LeaderOf,
    "follower": FollowerOf,
}

"""What a fault is in a history and in the trace: its verb, and the target that it acts on."""

import enum
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class TargetKind(enum.StrEnum):
    """How a fault names what it acts on.

    leader, follower, followers: the brokers that have this role for a partition.
    broker: a broker, by its id.
    controller: the active controller.
    voter, other-voters: a voter of the metadata quorum, by its id; all voters except that one.
    coordinator: the broker that coordinates a group.
    transaction-coordinator: the broker that coordinates a transactional.id.
    all: all brokers.
    minority: the largest number of brokers, or controllers, whose absence leaves a majority.
    client: the node of a worker with clients under test.
    topic, partition, group: a topic, a partition, a consumer group.
    replicas: all replicas of a partition.
    transactional.id: the producers of one or several transactional.ids.
    """

    LEADER = "leader"
    FOLLOWER = "follower"
    FOLLOWERS = "followers"
    BROKER = "broker"
    CONTROLLER = "controller"
    VOTER = "voter"
    OTHER_VOTERS = "other-voters"
    COORDINATOR = "coordinator"
    TRANSACTION_COORDINATOR = "transaction-coordinator"
    ALL = "all"
    MINORITY_OF_BROKERS = "minority:brokers"
    MINORITY_OF_CONTROLLERS = "minority:controllers"
    CLIENT = "client"
    TOPIC = "topic"
    PARTITION = "partition"
    GROUP = "group"
    REPLICAS = "replicas"
    TRANSACTIONAL_ID = "transactional.id"


class FaultTarget(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The target of a fault; what does not name targets of its kind is None or empty.

    Attributes:
        brokers: the servers that it named when the fault was injected.
    """

    target_kind: TargetKind
    brokers: tuple[_Number, ...] = ()
    topic: str | None = None
    partition: _Number | None = None
    group: str | None = None
    worker: str | None = None
    transactional_ids: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called where it is given, e.g. `leader:orders-0` or `broker:2`."""
        if self.transactional_ids:
            own = ",".join(self.transactional_ids)
        elif self.partition is not None:
            own = f"{self.topic}-{self.partition}"
        elif self.target_kind in (TargetKind.BROKER, TargetKind.VOTER) and self.brokers:
            own = str(self.brokers[0])
        else:
            own = self.topic or self.group or self.worker or ""
        return f"{self.target_kind}:{own}" if own else str(self.target_kind)

    def __str__(self) -> str:
        """Return its name, and the servers that it named, e.g. `leader:orders-0 (broker 1)`."""
        if not self.brokers:
            return self.name
        noun = "broker" if len(self.brokers) == 1 else "brokers"
        return f"{self.name} ({noun} {', '.join(map(str, self.brokers))})"


def target_of(row: Mapping[str, Any]) -> FaultTarget:
    """Return the target of a row of the table `faults`."""
    return FaultTarget(
        target_kind=TargetKind(row["target_kind"]),
        brokers=_all(row["brokers"]),
        topic=row["topic"],
        partition=row["partition"],
        group=row["group"],
        worker=row["worker"],
        transactional_ids=_all(row["transactional_ids"]),
    )


def _all(values: Iterable[Any] | None) -> tuple[Any, ...]:
    """Return the elements of a list; of a damaged table it may be missing."""
    return () if values is None else tuple(values)

"""Servers by what they are to the metadata quorum, resolved just before a fault is injected."""

from dataclasses import dataclass

from contract.errors import TargetError
from harness.clients.observer import Observer


@dataclass(frozen=True)
class Voter:
    """A controller by its id."""

    id: int

    def resolve(self, observer: Observer) -> list[int]:
        """Return the controller, if the cluster has it."""
        ids = observer.kafka.topology.controller_ids
        if self.id not in ids:
            raise TargetError(f"{self} can't be resolved: the controllers are {ids}")
        return [self.id]

    def __str__(self) -> str:
        """Read as `voter:101`."""
        return f"voter:{self.id}"


@dataclass(frozen=True)
class OtherVoters:
    """All voters but one."""

    than: int

    def resolve(self, observer: Observer) -> list[int]:
        """Return the other controllers."""
        return [i for i in observer.kafka.topology.controller_ids if i != self.than]

    def __str__(self) -> str:
        """Read as `other-voters:101`."""
        return f"other-voters:{self.than}"

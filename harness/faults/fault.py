"""The language of faults: what strikes, and how a strike is held, proved and healed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from cluster.kafka.service import KafkaService
from harness.clients.history import HistoryWriter
from harness.clients.process import WorkerService
from harness.contract.events import FaultChanged
from harness.log_directories import keep_log_directory
from harness.observer import Observer


@dataclass(frozen=True)
class Field:
    """What a fault acts on and observes by.

    Attributes:
        clients: the workers with clients under test.
        kept: where log directories go that are copied before a log may be cut.
    """

    kafka: KafkaService
    observer: Observer
    history: HistoryWriter
    clients: Mapping[str, WorkerService]
    kept: Path
    _numbers: Iterator[int] = field(default_factory=count, init=False)

    def next_number(self) -> int:
        """The number of the next fault, from 0."""
        return next(self._numbers)

    def keep(self, server: int) -> None:
        """Copy what a server's replicas hold now: once it is back, it may cut them."""
        keep_log_directory(self.kafka, server, self.kept)

    @property
    def client_addresses(self) -> list[str]:
        """Where the clients under test are."""
        return [worker.host.address for worker in self.clients.values()]


@dataclass(frozen=True)
class Evidence:
    """What was seen of a fault's effect.

    Attributes:
        landed: False where the effect did not show.
        facts: what was seen.
        forced_ms: Kafka's timeouts that had to pass before it could be seen, by their settings.
    """

    landed: bool
    facts: dict[str, Any]
    forced_ms: dict[str, int] = field(default_factory=dict)


class Fault(ABC):
    """One verb on one target; a new instance for each strike."""

    @property
    @abstractmethod
    def verb(self) -> str:
        """How it reads in the history, e.g. `kill`."""

    @property
    @abstractmethod
    def target(self) -> str:
        """Whom it strikes, e.g. `leader:orders-0`."""

    @abstractmethod
    def strike(self, field: Field) -> Evidence:
        """Apply it and return the evidence of its effect."""

    @abstractmethod
    def heal(self, field: Field) -> None:
        """Undo what `strike` did, and nothing else."""


@dataclass
class HeldFault:
    """A fault that holds until it is healed, once."""

    fault: Fault
    evidence: Evidence
    number: int
    _field: Field
    _is_healed: bool = field(default=False, init=False)

    @classmethod
    def strike(cls, fault: Fault, on: Field) -> "HeldFault":
        """Apply a fault, write it to the history and hold it; one that fails is undone."""
        number = on.next_number()
        about = {"number": number, "fault": fault.verb}
        on.history.write(FaultChanged, **about, target=fault.target, change="injected")
        try:
            evidence = fault.strike(on)
        except BaseException:
            fault.heal(on)
            raise
        on.history.write(
            FaultChanged,
            **about,
            target=fault.target,
            change="proved",
            landed=evidence.landed,
            evidence=evidence.facts,
            forced_ms=evidence.forced_ms,
        )
        return cls(fault, evidence, number, on)

    def heal(self) -> None:
        """Heal the fault; nothing happens the second time."""
        if self._is_healed:
            return
        self._is_healed = True
        self._changed("heal_began")
        self.fault.heal(self._field)
        self._changed("healed")

    def _changed(self, change: str) -> None:
        self._field.history.write(
            FaultChanged,
            number=self.number,
            fault=self.fault.verb,
            target=self.fault.target,
            change=change,
        )

"""One universe: a topic with brokers, producers and groups of its own, in a time of its own."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contract.run_folder import GroupPlan, TopicPlan
from contract.tables import MICROS_PER_SECOND
from contract.terms import CommitEpoch, Isolation, ResetPolicy
from simulator.frames import Array, Frame
from simulator.log import Log, Span, micros

BEGINNING_MICROS = 1_767_225_600 * MICROS_PER_SECOND
"""The beginning of generated histories: 2026-01-01."""
UNIVERSE_SECONDS = 100
"""The longest duration of a universe; the next one begins then."""
BROKERS = 3


@dataclass(frozen=True)
class Change:
    """A change of a partition in the metadata log."""

    partition: int
    at: int
    leader: int
    epoch: int
    isr: tuple[int, ...]


@dataclass(frozen=True)
class BrokerChange:
    """A change of a broker's registration in the metadata log; `is_start`: it registers."""

    broker: int
    at: int
    is_fenced: bool
    in_controlled_shutdown: bool = False
    is_start: bool = False


@dataclass(kw_only=True)
class Universe:
    """One topic's history.

    Attributes:
        index: which universe of its history it is, from 0.
        records: how many data records each partition gets, roughly.
        log_start: by partition, of those with deleted records.
        retained_micros: the time of the deletion.
    """

    index: int
    topic: str
    partitions: int
    records: int
    seed: int
    plan: TopicPlan
    groups: list[GroupPlan]
    _frames: dict[str, list[Frame]] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    broker_changes: list[BrokerChange] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    log: Log | None = None
    log_start: dict[int, int] = field(default_factory=dict)
    retained_micros: int = 0

    @property
    def began(self) -> int:
        """When it begins, in microseconds since 1970."""
        return BEGINNING_MICROS + micros(self.index * UNIVERSE_SECONDS)

    @property
    def brokers(self) -> tuple[int, ...]:
        """The ids of its brokers."""
        first = self.index * BROKERS + 1
        return tuple(range(first, first + BROKERS))

    @property
    def worker(self) -> str:
        """The name of its clients' history."""
        return f"clients-{self.index:05d}"

    @property
    def first_producer_id(self) -> int:
        """The first of the 1000 producer ids that are its own."""
        return self.index * 1000

    def at(self, seconds: float) -> int:
        """A moment by the seconds since it began."""
        return self.began + micros(seconds)

    def random(self, purpose: int) -> np.random.Generator:
        """Random numbers that depend on seed, universe and purpose alone."""
        return np.random.default_rng([self.seed, self.index, purpose])

    def add(self, frame: Frame) -> None:
        """Add rows to a table."""
        self._frames.setdefault(frame.table, []).append(frame)

    def write(self, table: str, rows: int = 1, **values: Any) -> None:
        """Add rows to a table, from values as of `Frame.of`."""
        self.add(Frame.of(table, rows, **values))

    def frame(self, table: str) -> Frame:
        """The rows of a table."""
        parts = self._frames.setdefault(table, [])
        if len(parts) != 1:
            parts[:] = [Frame.concat(table, parts)]
        return parts[0]

    def keep(self, table: str, mask: Array) -> None:
        """Drop the rows of a table where a mask is false."""
        self._frames[table] = [self.frame(table).take(mask)]

    def the_log(self) -> Log:
        """The records; only before they are expanded there are none."""
        if self.log is None:
            raise ValueError(f"universe {self.index} has no log yet")
        return self.log

    def led_at(self, partition: int, at: int) -> Change:
        """The state of a partition at a moment."""
        return [c for c in self.changes if c.partition == partition and c.at <= at][-1]


def group_plan(
    name: str,
    topic: str,
    *,
    reset: str = ResetPolicy.EARLIEST,
    isolation: str = Isolation.READ_UNCOMMITTED,
) -> GroupPlan:
    """A group that commits its records' epochs."""
    return GroupPlan(
        group=name,
        client="java",
        topic=topic,
        commit_epoch=CommitEpoch.RECORD,
        reset=reset,
        isolation=isolation,
    )

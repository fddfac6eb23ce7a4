"""A run's tables as Frames, with the schemas of the contract."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, wraps
from inspect import getdoc
from typing import TypeVar

import msgspec
import pyarrow as pa

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Engine, Frame
from analysis.facts.declared import FACTS, Fact
from analysis.facts.hashes import abs_java_hash
from analysis.facts.memo import Memo
from contract.errors import TableError
from contract.run_folder import GENERATED, NO_KAFKA, Plan, RunDescription
from contract.table_columns import Column

_TOPICS = pa.schema(
    {
        "topic": pa.string(),
        "min_insync": pa.int32(),
        "unclean_election": pa.bool_(),
        "retention_ms": pa.int64(),
        "deletes": pa.bool_(),
        "subscribed": pa.int32(),
    }
)
_GROUPS = pa.schema(
    {
        **{name: pa.string() for name in ("group", "client", "commit_epoch", "reset", "isolation")},
        "is_by_client": pa.bool_(),
        "is_static": pa.bool_(),
        "has_rack": pa.bool_(),
        "hash": pa.int32(),
    }
)
_READERS = pa.schema({name: pa.string() for name in ("group", "topic", "isolation")})
_CONDITIONS = pa.schema(
    {
        "release": pa.int32(),
        "metadata_max_bytes": pa.int32(),
        "min_insync": pa.int32(),
        "run_ended_micros": pa.int64(),
        "has_failed": pa.bool_(),
    }
)

PLANNED = {
    "planned_topics": _TOPICS,
    "planned_groups": _GROUPS,
    "planned_readers": _READERS,
    "run_conditions": _CONDITIONS,
}
"""What statements read of the plan and of the run's description, with the schema of each."""
_PLANNED_BY = {
    "planned_topics": "topics",
    "planned_groups": "groups",
    "planned_readers": "readers",
    "run_conditions": "conditions",
}
"""Which property of `Trace` has it."""

_T = TypeVar("_T")
_LOG = ("topic", "partition")
CLOCK_MICROS = 50_000
"""Times of different nodes are compared at least within this bound; inside, nothing is decided."""


@dataclass(frozen=True)
class Trace:
    """All that is known of a run.

    Attributes:
        plan: what the scenario set out to do.
        run: under which conditions.
        read: a table by its name; asked once for each that is used.
        rows: count of rows by table; 0 where a table is missing or unreadable.
        missing: the tables whose file does not exist.
        unreadable: why a table's file can't be read, by table.
        raw: the folders of raw sources that the run has: history, segments, brokers.
        altered: which of its files are not as they were collected, in words.
    """

    engine: Engine
    plan: Plan
    run: RunDescription
    read: Callable[[str], Frame]
    rows: dict[str, int]
    missing: frozenset[str] = frozenset()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    raw: frozenset[str] = frozenset()
    altered: tuple[str, ...] = ()
    _memo: Memo = field(default_factory=Memo)

    def __getitem__(self, table: str) -> Frame:
        """A table by its name in the contract.

        Raises:
            TableError: it is missing or unreadable.
        """
        if problem := self.problem(table):
            raise TableError(problem)
        return self.present(table)

    def present(self, table: str) -> Frame:
        """A table by its name in the contract; no rows where it is missing or unreadable."""
        self._memo.source(table)
        return self.unrecorded(table)

    def unrecorded(self, table: str) -> Frame:
        """What `present` returns; `touched` does not report it.

        For what a gap in the table can't make wrong.
        """
        return self._memo.get(f"table {table}", lambda: self.read(table))

    def records(self, table: str) -> int:
        """The number of records in the ranges of a table (`contract.ranges`)."""
        return self.once(f"records of {table}", lambda: self._records(table))

    def _records(self, table: str) -> int:
        by_sequence = F.expr("last_sequence - first_sequence")
        each = F.coalesce(F.expr("last_offset - first_offset"), by_sequence, F.lit(0)) + 1
        (row,) = self[table].agg(F.sum(each).alias("records")).collect()
        return int(row["records"] or 0)

    def problem(self, table: str) -> str:
        """Why a table can't be used, in words; empty if it can."""
        if table in self.missing:
            return f"table {table} is missing"
        return self.unreadable.get(table, "")

    @property
    def is_generated(self) -> bool:
        """Whether no cluster made this history, by its description and by what it left."""
        return (self.run.cluster, self.run.kafka) == (GENERATED, NO_KAFKA) and not self.raw

    def touched(self) -> AbstractContextManager[set[str]]:
        """The tables that this thread asks for meanwhile, by way of shared frames too."""
        return self._memo.sources()

    @cached_property
    def topics(self) -> Frame:
        """(topic, min_insync, unclean_election, retention_ms, deletes, subscribed) of the plan.

        `subscribed` counts the groups that read the topic.
        """
        readers = Counter(group.topic for group in self.plan.groups)
        rows = [
            msgspec.structs.asdict(topic) | {"subscribed": readers[topic.topic]}
            for topic in self.plan.topics
        ]
        return self.engine.table(pa.Table.from_pylist(rows, schema=_TOPICS))

    @cached_property
    def groups(self) -> Frame:
        """The groups of the plan.

        `is_by_client`: whether the group's client commits by itself, and reports no commit.
        `is_static`: whether a member that is started again keeps its partitions (KIP-345).
        `has_rack`: whether it has a `client.rack`, and so may read from a follower.
        `hash`: modulo the partitions of `__consumer_offsets`, which of them is its own.
        """
        rows = [
            msgspec.structs.asdict(group)
            | {
                "is_by_client": group.commits_by_itself,
                "is_static": group.is_static,
                "has_rack": "client.rack" in group.settings,
                "hash": abs_java_hash(group.group),
            }
            for group in self.plan.groups
        ]
        return self.engine.table(pa.Table.from_pylist(rows, schema=_GROUPS))

    @property
    def clock_micros(self) -> int:
        """The bound within which times of different nodes are compared.

        How far apart any two nodes' clocks may have been, as measured, or CLOCK_MICROS if that is
        less, or unknown; and how far one of them was set meanwhile.
        """
        apart, jump = self._clocks
        return max(CLOCK_MICROS, apart) + jump

    @property
    def jump_micros(self) -> int:
        """How far the wall clock of a worker was set while it ran; 0 within CLOCK_MICROS."""
        return self._clocks[1]

    @property
    def skew_micros(self) -> int:
        """What `clock_micros` is above CLOCK_MICROS: 0 where all clocks were close and steady."""
        return self.clock_micros - CLOCK_MICROS

    def planned(self, name: str) -> Frame:
        """What statements read of the plan, by its name of PLANNED."""
        found: Frame = getattr(self, _PLANNED_BY[name])
        return found

    @cached_property
    def conditions(self) -> Frame:
        """One row: the brokers' release and settings, and how the run ended.

        `metadata_max_bytes`: of a commit, by `offset.metadata.max.bytes`.
        `min_insync`: of topics that the plan does not have, by `min.insync.replicas`.
        `run_ended_micros`: when the run began, if it is not known when it ended.
        `has_failed`: whether the scenario failed.
        """
        settings = self.run.config.get("settings", {})
        row = {
            "release": self.run.release,
            "metadata_max_bytes": int(settings.get("offset.metadata.max.bytes", 4096)),
            "min_insync": int(settings.get("min.insync.replicas", 1)),
            "run_ended_micros": self.run.ended_micros or self.run.started_micros,
            "has_failed": self.run.error is not None,
        }
        return self.engine.table(pa.Table.from_pylist([row], schema=_CONDITIONS))

    @property
    def numbers(self) -> dict[str, int]:
        """The parameters of statements."""
        return {
            name: getattr(self, name) for name in ("clock_micros", "skew_micros", "jump_micros")
        }

    @property
    def _clocks(self) -> tuple[int, int]:
        return self.once("clock", self._measured_clocks)

    def _measured_clocks(self) -> tuple[int, int]:
        ahead, behind = F.max("ahead_micros"), F.min("behind_micros")
        apart = self.unrecorded("clocks").agg((ahead - behind).alias("apart"))
        jump = self.unrecorded("histories").agg(F.max("clock_jump_micros").alias("jump"))
        (row,) = apart.crossJoin(jump).collect()
        jumped = row["jump"] or 0
        return row["apart"] or 0, jumped if jumped > CLOCK_MICROS else 0

    @cached_property
    def readers(self) -> Frame:
        """(group, topic, isolation) of the plan's groups."""
        rows = [msgspec.structs.asdict(group) for group in self.plan.groups]
        return self.engine.table(pa.Table.from_pylist(rows, schema=_READERS))

    def lacks(self, needs: tuple[str, ...]) -> str:
        """Which tables of those that must have rows have none, and why; empty if all have some."""
        problems = {table: self.problem(table) for table in needs}
        empty = [one for one, problem in problems.items() if not (problem or self.rows[one])]
        unusable = [problem for problem in problems.values() if problem]
        return ", ".join([*unusable, *(f"table {table} is empty" for table in empty)])

    def shared(self, name: str, build: Callable[[], Frame]) -> Frame:
        """A Frame that several checks ask for, computed once a trace: see `fact`.

        What is kept are its rows, not how they came about: plans that join it several times would
        otherwise grow until planning takes longer than the data.
        """
        return self.once(name, lambda: self.engine.materialized(build()))

    def once(self, name: str, build: Callable[[], _T]) -> _T:
        """A value by its name, built once a trace; `touched` reports its tables to every caller."""
        return self._memo.get(name, build)


_Build = Callable[[Trace], Frame]


def fact(*columns: Column) -> Callable[[_Build], _Build]:
    """Declare a fact: its columns, and by the docstring of the function what a row is.

    Further columns that the function returns are left out. The rows are computed once a trace,
    however many statements ask for them.
    """
    return _declaring(columns, is_kept=True)


def _declaring(columns: tuple[Column, ...], *, is_kept: bool) -> Callable[[_Build], _Build]:
    def declare(build: _Build) -> _Build:
        subject = build.__module__.rpartition(".")[2]
        one = Fact(subject, build.__name__, getdoc(build) or "", columns, is_kept)
        return wraps(build)(declaring(one, build))

    return declare


def declaring(one: Fact, build: _Build) -> _Build:
    """What builds the rows of a fact, which is known from now on by its declaration."""
    FACTS[one.key] = one

    def declared(trace: Trace) -> Frame:
        if one.is_kept:
            return trace.shared(one.key, lambda: _as_declared(build(trace), one))
        return _as_declared(build(trace), one)

    return declared


def _as_declared(rows: Frame, one: Fact) -> Frame:
    """The declared columns of rows, in their order.

    Raises:
        ValueError: the rows lack some.
    """
    names = one.schema.names
    if lacking := [name for name in names if name not in rows.columns]:
        raise ValueError(
            f"fact {one.key} declares {', '.join(lacking)}, but its rows have only"
            f" {', '.join(rows.columns)}"
        )
    return rows if list(rows.columns) == names else rows.select(*names)

"""Genuine runs, and the parts of them that lies are planted in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import UsageError
from contract.ranges import as_rows, from_rows, row_schema
from contract.run_folder import Plan, RunDescription, RunFolder, find_runs
from contract.tables import TABLES

Row = dict[str, Any]
Tables = dict[str, list[Row]]

_OF_KAFKA = "__"
"""The prefix of the names of Kafka's own topics."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """A part of a scenario's run that is small enough to be laid many times into one trace.

    Attributes:
        scenario: its name, as in `plan.json`.
        parameters: those of the run; others may have any value.
        topics, partitions, groups: what is kept; empty: all.
    """

    scenario: str
    parameters: dict[str, Any] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()

    def is_of(self, plan: Plan) -> bool:
        """Whether a run with this plan has the story."""
        given = {name: plan.parameters.get(name) for name in self.parameters}
        return plan.scenario == self.scenario and given == self.parameters


@dataclass(frozen=True)
class Genuine:
    """A run as it was: its folder, its descriptions and the rows of its tables."""

    folder: RunFolder
    plan: Plan
    run: RunDescription
    tables: Tables

    @property
    def rows(self) -> int:
        """The number of rows in all tables."""
        return sum(len(rows) for rows in self.tables.values())

    def copy(self) -> Tables:
        """Rows that may be changed."""
        return {table: [dict(row) for row in rows] for table, rows in self.tables.items()}


def find_genuine(places: Iterable[Path], story: Story) -> RunFolder:
    """The newest run of a story among those at or below some places.

    Raises:
        UsageError: there is none.
    """
    known = [run for place in places for run in find_runs(place)]
    told = [run for run in known if run.tables.exists() and story.is_of(run.plan())]
    if not told:
        message = f"no run of {story.scenario} {story.parameters}: RUNS= has to name one"
        raise UsageError(message)
    return max(told, key=lambda run: run.run().started_micros)


def read_genuine(folder: RunFolder, story: Story) -> Genuine:
    """The part of a run that a story keeps."""
    plan = folder.plan()
    topics = [one for one in plan.topics if not story.topics or one.topic in story.topics]
    names = {one.topic for one in topics}
    groups = [
        one
        for one in plan.groups
        if one.topic in names and (not story.groups or one.group in story.groups)
    ]
    kept = _keeper(story, names, {one.group for one in groups})
    tables = {table: [row for row in read_rows(folder, table) if kept(row)] for table in TABLES}
    plan = msgspec.structs.replace(plan, topics=topics, groups=groups)
    return Genuine(folder, plan, folder.run(), tables)


def read_rows(folder: RunFolder, table: str) -> list[Row]:
    """The rows, or single records, of a run's table; none where it is missing."""
    path = folder.tables / f"{table}.parquet"
    if not path.exists():
        return []
    rows: list[Row] = as_rows(table, pq.read_table(path)).to_pylist()
    return rows


def write_rows(folder: RunFolder, table: str, rows: list[Row]) -> None:
    """Write a run's table, from rows or single records."""
    folder.tables.mkdir(parents=True, exist_ok=True)
    content = pa.Table.from_pylist(rows, schema=row_schema(table))
    pq.write_table(from_rows(table, content), folder.tables / f"{table}.parquet")


def _keeper(story: Story, topics: set[str], groups: set[str]) -> Callable[[Row], bool]:
    def is_kept(row: Row) -> bool:
        topic, partition = row.get("topic"), row.get("partition")
        if groups and row.get("group") and row["group"] not in groups:
            return False
        if not topic or topic.startswith(_OF_KAFKA):
            return True
        is_wanted = not story.partitions or partition in (None, -1, *story.partitions)
        return is_wanted and (topic in topics or not story.topics)

    return is_kept

"""Genuine runs, and the parts of them that are tampered with."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import UsageError
from contract.ranges import row_schema
from contract.run_folder import PLAN_FILE, RUN_FILE, Plan, RunDescription, RunFolder, find_runs
from contract.tables import TABLES
from tests.exam.tamperings.rows import Rows
from tests.exam.tamperings.tampering import GenuineRun
from tests.exam.world import KAFKAS_OWN, Row, Tables
from tests.records import as_rows, from_rows

_COPIED = ("history", "clients", "brokers", "segments", "tables")


@dataclass(frozen=True)
class Genuine:
    """A run as it was: its folder, its descriptions and the rows of its tables."""

    part: GenuineRun
    folder: RunFolder
    plan: Plan
    run: RunDescription
    tables: Tables

    @property
    def row_count(self) -> int:
        """The number of rows in all tables."""
        return sum(len(rows) for rows in self.tables.values())

    @cached_property
    def rows(self) -> Rows:
        """The rows, to be changed."""
        contents = {
            table: pa.Table.from_pylist(rows, schema=row_schema(table))
            for table, rows in self.tables.items()
        }
        return Rows(contents, self.part.views)

    @property
    def whole(self) -> "Genuine":
        """The whole run, of which no part is left out."""
        tables = {path.stem: path for path in self.folder.tables.glob("*.parquet")}
        rows = {table: read_rows(self.folder, table) for table in tables}
        return replace(self, tables=rows, plan=self.folder.plan())


def find_genuine(places: Iterable[Path], part: GenuineRun) -> RunFolder:
    """The newest run of a scenario among those at or below some places.

    Raises:
        UsageError: there is none.
    """

    def fits(plan: Plan) -> bool:
        given = {name: plan.parameters.get(name) for name in part.parameters}
        return plan.scenario == part.scenario and given == part.parameters

    known = [run for place in places for run in find_runs(place)]
    fitting = [run for run in known if run.tables.exists() and fits(run.plan())]
    if not fitting:
        raise UsageError(f"no run of {part.scenario} {part.parameters}: --runs has to name one")
    return max(fitting, key=lambda run: run.run().started_micros)


def read_genuine(folder: RunFolder, part: GenuineRun) -> Genuine:
    """The part of a run that is kept."""
    plan = folder.plan()
    topics = [topic for topic in plan.topics if not part.topics or topic.topic in part.topics]
    names = {topic.topic for topic in topics}
    groups = [
        group
        for group in plan.groups
        if group.topic in names and (not part.groups or group.group in part.groups)
    ]
    kept = _keeper(part, names, {group.group for group in groups})
    tables = {table: [row for row in read_rows(folder, table) if kept(row)] for table in TABLES}
    plan = msgspec.structs.replace(plan, topics=topics, groups=groups)
    return Genuine(part, folder, plan, folder.run(), tables)


def _keeper(part: GenuineRun, topics: set[str], groups: set[str]) -> Callable[[Row], bool]:
    def is_kept(row: Row) -> bool:
        topic, partition = row.get("topic"), row.get("partition")
        if groups and row.get("group") and row["group"] not in groups:
            return False
        if not topic or topic.startswith(KAFKAS_OWN):
            return True
        is_wanted = not part.partitions or partition in (None, -1, *part.partitions)
        return is_wanted and (topic in topics or not part.topics)

    return is_kept


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


def copy_run(folder: RunFolder, place: Path) -> RunFolder:
    """Copy a run's folder without its report, and without its manifest, which shows any change.

    What is tampered with changes before the manifest of the copy is written.
    """
    place.mkdir(parents=True)
    for name in _COPIED:
        if (folder.path / name).exists():
            shutil.copytree(folder.path / name, place / name)
    for name in (PLAN_FILE, RUN_FILE):
        shutil.copy(folder.path / name, place)
    return RunFolder(place)

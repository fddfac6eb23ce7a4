"""A run's tables as DataFrames, with the schemas of the contract."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analysis.gateway import planned_by
from analysis.once import Once
from analysis.scratch import Kept, Scratch
from analysis.source import table_files
from analysis.survivors import log_bounds, survivors
from analysis.tuning import for_many_rows
from contract.errors import TableError
from contract.manifest import alterations
from contract.regular_files import open_regular
from contract.run_folder import GENERATED, NO_KAFKA, Plan, RunDescription, RunFolder
from contract.tables import TABLES


def spark_schema(table: str) -> StructType:
    """A table's schema for Spark, made from the contract's own."""
    schema: StructType = from_arrow_schema(TABLES[table])
    return schema


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
_GROUPS = pa.schema({name: pa.string() for name in ("group", "client", "commit_epoch", "reset")})
_READERS = pa.schema({name: pa.string() for name in ("group", "topic", "isolation")})

_T = TypeVar("_T")
_R = TypeVar("_R")
_LOG = ("topic", "partition")
SMALL_INPUT_ROWS = 200_000
"""Up to this number of rows in all, a trace is small: see `analysis.closeup`."""
CLOCK_MICROS = 50_000
"""Times of different nodes are compared at least within this bound; inside, nothing is decided."""
IS_ACKNOWLEDGED = "outcome = 'ok' and offset is not null"
"""Of a row of `sends`."""
IS_UNACKNOWLEDGED = f"not coalesce({IS_ACKNOWLEDGED}, false)"
"""Its contrary."""
_AT_ONCE = min(8, 1 + (os.cpu_count() or 1))
"""Checks that are judged at the same time: one a core, and one that waits for what others build."""
_BREAK_SECONDS = 0.5
_LOCAL_ROWS = 20_000
"""Up to this number of rows, a table goes into the plan, which saves scans and their jobs."""


@dataclass(frozen=True)
class Trace:
    """All that is known of a run.

    Attributes:
        plan: what the scenario set out to do.
        run: under which conditions.
        read: a table by its name; asked once for each that is used.
        rows: count of rows by table; 0 where a table is missing or unreadable.
        scratch: where rows of a large trace are kept.
        missing: the tables whose file does not exist.
        unreadable: why a table's file can't be read, by table.
        raw: the folders of raw sources that the run has: history, segments, brokers.
        altered: which of its files are not as they were collected, in words.
    """

    spark: SparkSession
    plan: Plan
    run: RunDescription
    read: Callable[[str], DataFrame]
    rows: dict[str, int]
    scratch: Scratch
    missing: frozenset[str] = frozenset()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    raw: frozenset[str] = frozenset()
    altered: tuple[str, ...] = ()
    _once: Once = field(default_factory=Once)
    _close_rows: dict[str, int] = field(default_factory=dict)

    @property
    def is_small(self) -> bool:
        """Whether so little is known that planning costs more than the rows."""
        return sum(self.rows.values()) <= SMALL_INPUT_ROWS

    def __getitem__(self, table: str) -> DataFrame:
        """A table by its name in the contract.

        Raises:
            TableError: it is missing or unreadable.
        """
        if problem := self.problem(table):
            raise TableError(problem)
        return self.present(table)

    def present(self, table: str) -> DataFrame:
        """A table by its name in the contract; no rows where it is missing or unreadable."""
        self._once.source(table)
        return self._once.get(f"table {table}", lambda: self.read(table))

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
        return self._once.sources()

    @cached_property
    def topics(self) -> DataFrame:
        """(topic, min_insync, unclean_election, retention_ms, deletes, subscribed) of the plan.

        `subscribed` counts the groups that read the topic.
        """
        readers = Counter(group.topic for group in self.plan.groups)
        rows = [
            msgspec.structs.asdict(topic) | {"subscribed": readers[topic.topic]}
            for topic in self.plan.topics
        ]
        return local_frame(self.spark, pa.Table.from_pylist(rows, schema=_TOPICS))

    @cached_property
    def groups(self) -> DataFrame:
        """(group, client, commit_epoch, reset) of the plan."""
        rows = [msgspec.structs.asdict(group) for group in self.plan.groups]
        return local_frame(self.spark, pa.Table.from_pylist(rows, schema=_GROUPS))

    @property
    def clock_micros(self) -> int:
        """The bound within which times of different nodes are compared.

        How far apart any two nodes' clocks may have been, as measured, or how far one of them
        jumped; CLOCK_MICROS if that is less, or unknown.
        """
        return self.once("clock", self._clock_micros)

    def _clock_micros(self) -> int:
        # Read past `touched`: a gap in these leaves the checks that use the bound as they are.
        ahead, behind = F.max("ahead_micros"), F.min("behind_micros")
        apart = self.read("clocks").agg((ahead - behind).alias("apart"))
        jump = self.read("histories").agg(F.max("clock_jump_micros").alias("jump"))
        (row,) = apart.crossJoin(jump).collect()
        return max(CLOCK_MICROS, row["apart"] or 0, row["jump"] or 0)

    @cached_property
    def readers(self) -> DataFrame:
        """(group, topic, isolation) of the plan's groups."""
        rows = [msgspec.structs.asdict(group) for group in self.plan.groups]
        return local_frame(self.spark, pa.Table.from_pylist(rows, schema=_READERS))

    @property
    def acknowledged(self) -> DataFrame:
        """The sends that were acknowledged with an offset."""
        return self["sends"].where(IS_ACKNOWLEDGED)

    @property
    def epoch_starts(self) -> DataFrame:
        """(topic, partition, epochs): the surviving replicas' epochs.

        `epochs` is an array of structs (leader_epoch, start_offset).
        """
        return self.shared(
            "epoch_starts",
            lambda: (
                self._of_survivors(self["epoch_checkpoints"])
                .groupBy(*_LOG)
                .agg(F.collect_set(F.struct("leader_epoch", "start_offset")).alias("epochs"))
            ),
        )

    @property
    def log_bounds(self) -> DataFrame:
        """(topic, partition, log_start, log_end): of the surviving log; the end is exclusive."""
        return self.shared(
            "log_bounds",
            lambda: log_bounds(
                self._of_survivors(self["log_starts"]), self["samples"], self["leaderships"]
            ),
        )

    def kept(self, records: DataFrame) -> DataFrame:
        """(topic, partition, offset, leader_epoch, value, broker): of survivors, not deleted.

        Args:
            records: rows of `replica_records`.
        """
        bounds = F.broadcast(self.log_bounds.select(*_LOG, "log_start"))
        return (
            self._of_survivors(records)
            .join(bounds, on=list(_LOG), how="left")
            .where("log_start is null or offset >= log_start")
            .select(*_LOG, "offset", "leader_epoch", "value", "broker")
        )

    def _of_survivors(self, rows: DataFrame) -> DataFrame:
        """The rows of replicas that come from surviving ones."""
        return rows.join(F.broadcast(self.survivors), on=[*_LOG, "broker"], how="left_semi")

    @property
    def survivors(self) -> DataFrame:
        """(topic, partition, broker): the replicas that speak for their partition at the end."""
        return self.shared("survivors", self._survivors)

    def _survivors(self) -> DataFrame:
        """Every replica has a row in `log_starts`; only a trace without that asks the records."""
        source = "log_starts" if self.rows["log_starts"] else "replica_records"
        return survivors(self[source], self["leaderships"])

    def lacks(self, needs: tuple[str, ...]) -> str:
        """Which tables of those that must have rows have none, and why; empty if all have some."""
        problems = {table: self.problem(table) for table in needs}
        empty = [one for one, problem in problems.items() if not (problem or self.rows[one])]
        unusable = [problem for problem in problems.values() if problem]
        return ", ".join([*unusable, *(f"table {table} is empty" for table in empty)])

    def shared(
        self,
        name: str,
        build: Callable[[], DataFrame],
        *,
        is_heavy: bool = False,
        is_close: bool = False,
    ) -> DataFrame:
        """A DataFrame that several checks ask for, computed once a trace.

        What is kept are its rows, not how they came about: plans that join it several times would
        otherwise grow until planning takes longer than the data.
        """
        return self.once(
            name, lambda: self.materialized(build(), is_heavy=is_heavy, is_close=is_close)
        )

    def close_up(self, table: str, build: Callable[[], DataFrame]) -> DataFrame:
        """Rows of a large trace's table to be looked at one by one, computed once.

        How many they are decides how what goes through them is planned, see `materialized`.
        """

        def computed() -> DataFrame:
            kept = self._into_files(build())
            self._close_rows[table] = kept.rows
            return self._of_files(kept)

        return self.once(f"close-up of {table}", computed)

    def once(self, name: str, build: Callable[[], _T]) -> _T:
        """A value by its name, built once a trace; `touched` reports its tables to every caller."""
        return self._once.get(name, build)

    def each(self, ask: Callable[[_T], _R], of: Iterable[_T]) -> list[_R]:
        """What is asked of each, a few at a time: Spark plans one while it computes another."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            asked = [threads.submit(ask, one) for one in of]
            try:
                return [one.result() for one in asked]
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                self._break_off(asked)
                raise

    def _break_off(self, asked: list[Future[_R]]) -> None:
        """Let those that go on end with their next job."""
        while running := [one for one in asked if not one.done()]:
            self.spark.sparkContext.cancelAllJobs()
            wait(running, timeout=_BREAK_SECONDS)

    def materialized(
        self, frame: DataFrame, *, is_heavy: bool = False, is_close: bool = False
    ) -> DataFrame:
        """The rows of a frame, computed now, without the plan that they came from.

        Few rows go into the plans that use them; many stay where Spark computed them, or in files
        where they came from many more.

        Args:
            frame: to be computed.
            is_heavy: whether it goes through a large table of a large trace.
            is_close: whether it goes through the close-up of one, which may be large.
        """
        if self.is_small:
            return local_frame(self.spark, frame.toArrow())
        # A copy, as another thread may add what it keeps meanwhile.
        is_much = is_close and sum(tuple(self._close_rows.values())) > SMALL_INPUT_ROWS
        if not (is_heavy or is_much):
            return self._kept_rows(frame)
        return self._of_files(self._into_files(frame))

    def collected(self, frame: DataFrame) -> list[Row]:
        """The few rows of a frame, which may come from many rows of a table."""
        is_much = not self.is_small and bool(frame.inputFiles())
        return (self._for_many_rows(frame) if is_much else frame).collect()

    def _into_files(self, frame: DataFrame) -> Kept:
        return self.scratch.kept(self._for_many_rows(frame))

    def _for_many_rows(self, frame: DataFrame) -> DataFrame:
        rows = sum(self.rows.values())
        session = self.once("session for many rows", lambda: for_many_rows(self.spark, rows))
        return planned_by(session, frame)

    def _of_files(self, kept: Kept) -> DataFrame:
        if kept.rows > _LOCAL_ROWS:
            return kept.as_frame(self.spark)
        return local_frame(self.spark, kept.as_table())

    def _kept_rows(self, frame: DataFrame) -> DataFrame:
        frame = frame.localCheckpoint()
        rows = frame.limit(_LOCAL_ROWS + 1).toArrow()
        return frame if rows.num_rows > _LOCAL_ROWS else local_frame(self.spark, rows)


def local_frame(spark: SparkSession, content: pa.Table) -> DataFrame:
    """A frame of rows that the driver has, in one partition: joins of such need no exchange."""
    frame = spark.createDataFrame(content)
    return frame.coalesce(1) if content.num_rows else frame


def count_rows(folder: RunFolder) -> dict[str, int]:
    """The rows of each table of a run; 0 where it is missing or unreadable."""
    return table_files(folder).rows


def load_trace(spark: SparkSession, folder: RunFolder) -> Trace:
    """Read a run's tables; those that are missing or unreadable have no rows, and say so.

    Raises:
        RunFolderError: the folder has no plan or no description of a run.
    """
    files = table_files(folder)
    rows = files.rows
    is_small = sum(rows.values()) <= SMALL_INPUT_ROWS

    def read(name: str) -> DataFrame:
        if not rows[name]:
            return local_frame(spark, TABLES[name].empty_table())
        if is_small or rows[name] <= _LOCAL_ROWS:
            return local_frame(spark, table_content(name, files.paths[name]))
        return spark.read.schema(spark_schema(name)).parquet(str(files.paths[name]))

    return Trace(
        spark,
        folder.plan(),
        folder.run(),
        read,
        rows,
        Scratch(folder.path),
        missing=files.missing,
        unreadable=files.unreadable,
        raw=frozenset(folder.raw()),
        altered=tuple(alterations(folder)),
    )


def table_content(name: str, path: Path) -> pa.Table:
    """The rows of a table's file.

    Raises:
        TableError: it is no regular file, or its pages are damaged.
    """
    try:
        with open_regular(path) as content:
            return pq.read_table(content, schema=TABLES[name])
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise TableError(f"table {name} can't be read: {problem}") from error

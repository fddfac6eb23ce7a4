"""Statements run by Spark SQL, for runs that are too large for a task."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analysis.engine.base import LOCAL_ROWS
from analysis.engine.prepared import with_numbers
from analysis.engine.scratch import LITERAL, RemoteScratch, Scratch, in_full

_T = TypeVar("_T")
_R = TypeVar("_R")
_ROWS_PER_PARTITION = 500_000
_AT_ONCE_MAX = 8
"""Statements that run at the same time, at most: the driver plans all of them."""
_CANCEL_SECONDS = 0.5


class SparkEngine:
    """A session of its own in a running Spark, whose temporary views are the tables."""

    def __init__(
        self, session: SparkSession, *, rows: int, scratch: Scratch | RemoteScratch
    ) -> None:
        """Run statements in a session like another one.

        Args:
            session: the other one.
            rows: of all tables of the trace.
            scratch: where rows of the trace are kept.
        """
        self.session = session.newSession()
        self._scratch = scratch
        least = session.sparkContext.defaultParallelism
        partitions = max(least, rows // _ROWS_PER_PARTITION)
        self.session.conf.set("spark.sql.shuffle.partitions", str(partitions))

    def add(self, name: str, rows: pa.Table) -> None:
        """Name rows that the driver has."""
        self.session.createDataFrame(rows).createTempView(name)

    def add_file(self, name: str, place: Path | str, schema: pa.Schema, rows: int) -> None:
        """Name the rows of a Parquet file at a path or URI; few go into the plans that use them."""
        found = self._read(in_full(place), from_arrow_schema(schema))
        if rows <= LOCAL_ROWS:
            self.add(name, found.toArrow())
        else:
            found.createTempView(name)

    def drop(self, name: str) -> None:
        """Forget a file by its name."""
        self.session.catalog.dropTempView(name)

    def keep(self, name: str, statement: str, numbers: Mapping[str, int]) -> bool:
        """Name the rows of a statement, which are computed now, once. Whether there are any.

        Few go into the plans that use them.
        """
        kept = self._scratch.kept(self.planned(statement, numbers))
        if kept.rows > LOCAL_ROWS:
            self._read(kept.uri, kept.schema).createTempView(name)
        else:
            self.add(name, kept.as_table())
        return bool(kept.rows)

    def define(self, name: str, statement: str, numbers: Mapping[str, int]) -> None:
        """Name a statement, to be a part of those that read it."""
        self.planned(statement, numbers).createTempView(name)

    def rows(
        self, *statements: str, numbers: Mapping[str, int], limit: int | None = None
    ) -> pa.Table:
        """The rows of statements that have the same columns, or the first ones up to a limit."""
        found = self.planned(" union all ".join(f"({one})" for one in statements), numbers)
        return (found if limit is None else found.limit(limit)).toArrow()

    def planned(self, statement: str, numbers: Mapping[str, int]) -> DataFrame:
        """A statement as Spark's."""
        return self.session.sql(with_numbers(statement, numbers))

    @property
    def at_once(self) -> int:
        """The statements that run at the same time: one a core of the executors, and one more.

        That one is planned meanwhile.
        """
        return min(_AT_ONCE_MAX, 1 + self.session.sparkContext.defaultParallelism)

    def each(self, ask: Callable[[_T], _R], of: Iterable[_T]) -> list[_R]:
        """What is asked of each, a few at a time: Spark plans one while it computes another."""
        with ThreadPoolExecutor(self.at_once) as threads:
            asked = [threads.submit(ask, one) for one in of]
            try:
                return [one.result() for one in asked]
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                self._cancel(asked)
                raise

    def _cancel(self, asked: list[Future[_R]]) -> None:
        """Let those that go on end with their next job."""
        while running := [one for one in asked if not one.done()]:
            self.session.sparkContext.cancelAllJobs()
            wait(running, timeout=_CANCEL_SECONDS)

    def _read(self, uri: str, schema: StructType) -> DataFrame:
        return self.session.read.options(**LITERAL).schema(schema).parquet(uri)

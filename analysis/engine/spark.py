"""Statements run by Spark SQL, for runs that are too large for a task."""

import weakref
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analysis.engine.base import PlanningEngine
from analysis.engine.frames import Frame, View
from analysis.engine.scratch import LITERAL, RemoteScratch, Scratch, in_full
from analysis.engine.statements import statement

_T = TypeVar("_T")
_R = TypeVar("_R")
LOCAL_ROWS = 20_000
"""Up to this number of rows, a table goes into the plans, which saves scans and their jobs."""
_ROWS_PER_PARTITION = 500_000
_AT_ONCE_MAX = 8
"""Statements that run at the same time, at most: the driver plans all of them."""
_CANCEL_SECONDS = 0.5
_NUMBERS = count(1)
_UNUSED: deque[str] = deque()
"""Views that no frame refers to any more, of whichever engine."""


class SparkEngine(PlanningEngine):
    """A Spark session, and the tables that statements name.

    A table is a temporary view, dropped once no frame refers to it any more.
    """

    def __init__(
        self, session: SparkSession, *, rows: int, scratch: Scratch | RemoteScratch
    ) -> None:
        """Run statements in a session.

        Args:
            session: that plans for this trace from now on.
            rows: of all tables of the trace.
            scratch: where rows of the trace are kept.
        """
        self.session = session
        self._scratch = scratch
        least = session.sparkContext.defaultParallelism
        partitions = max(least, rows // _ROWS_PER_PARTITION)
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))

    def fetched(self, frame: Frame) -> pa.Table:
        """The rows of a frame, in Python."""
        return self.planned(frame).toArrow()

    def planned(self, frame: Frame) -> DataFrame:
        """A frame as Spark's."""
        return self.session.sql(statement(frame))

    def table(self, content: pa.Table) -> Frame:
        """Rows that the driver has."""
        found = self.named(self.session.createDataFrame(content))
        return replace(found, is_empty=not content.num_rows)

    def parquet(self, place: Path | str, schema: pa.Schema, rows: int) -> Frame:
        """Rows of a Parquet file at a path or URI; few go into the plans that use them."""
        uri, types = in_full(place), from_arrow_schema(schema)
        if rows <= LOCAL_ROWS:
            return self.table(self._read(uri, types).toArrow())
        return self._files(uri, types)

    def named(self, found: DataFrame) -> Frame:
        """A DataFrame as a table that statements can name."""
        self._drop_unused()
        name = f"t{next(_NUMBERS)}"
        found.createTempView(name)
        view = View(name)
        # Only noted here: a finalizer may run within another call to the JVM.
        weakref.finalize(view, _UNUSED.append, name).atexit = False
        return Frame(self, tuple(found.columns), view)

    def _drop_unused(self) -> None:
        """Drop the views that no frame refers to any more. Threads may do so at the same time."""
        with suppress(IndexError):
            while True:
                self.session.catalog.dropTempView(_UNUSED.popleft())

    def computed(self, frame: Frame) -> Frame:
        """The rows of a frame as a table; few go into the plans that use them."""
        kept = self._scratch.kept(self.planned(frame))
        return (
            self._files(kept.uri, kept.schema)
            if kept.rows > LOCAL_ROWS
            else self.table(kept.as_table())
        )

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

    def _files(self, uri: str, schema: StructType) -> Frame:
        return self.named(self._read(uri, schema))

    def _read(self, uri: str, schema: StructType) -> DataFrame:
        return self.session.read.options(**LITERAL).schema(schema).parquet(uri)

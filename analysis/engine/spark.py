"""Statements run by Spark."""

import weakref
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analysis.engine.base import PlanningEngine
from analysis.engine.frames import Frame, View
from analysis.engine.scratch import RemoteScratch, Scratch, in_full
from analysis.engine.statements import statement
from analysis.engine.tuning import for_many_rows

_T = TypeVar("_T")
_R = TypeVar("_R")
SMALL_INPUT_ROWS = 200_000
"""Up to this number of rows in all, every table of a trace goes into the plans."""
LOCAL_ROWS = 20_000
"""Up to this number of rows, a table goes into the plan, which saves scans and their jobs."""
_AT_ONCE_MAX = 8
"""Statements that run at the same time, at most: the driver plans all of them."""
_CANCEL_SECONDS = 0.5
_NUMBERS = count(1)
_GLOBAL = "global_temp"
_UNUSED: deque[str] = deque()
"""Views that no frame refers to any more, of whichever engine."""


class SparkEngine(PlanningEngine):
    """A Spark session, and the tables that statements name.

    A table is a global temporary view, so that sessions which plan differently share it. It is
    dropped once no frame refers to it any more.
    """

    def __init__(
        self,
        session: SparkSession,
        *,
        rows: int = 0,
        scratch: Scratch | RemoteScratch | None = None,
    ) -> None:
        """Run statements in a session.

        Args:
            session: that plans for few rows.
            rows: of all tables of the trace.
            scratch: where rows of a large trace are kept; None if it is small.
        """
        self.session = session
        self._rows, self._scratch = rows, scratch

    def fetched(self, frame: Frame) -> pa.Table:
        """The rows of a frame, in Python."""
        return self.planned(frame).toArrow()

    def planned(self, frame: Frame) -> DataFrame:
        """A frame as Spark's; what large files have made is planned for many rows."""
        session = self._for_many_rows if frame.is_large else self.session
        return session.sql(statement(frame))

    def table(self, content: pa.Table) -> Frame:
        """Rows that the driver has, in one partition: joins of such need no exchange."""
        found = self.session.createDataFrame(content)
        if content.num_rows:
            return self.named(found.coalesce(1))
        return replace(self.named(found), is_empty=True)

    def is_local(self, rows: int) -> bool:
        """Whether a table with this number of rows goes into the plan."""
        return self._scratch is None or self._rows <= SMALL_INPUT_ROWS or rows <= LOCAL_ROWS

    def parquet(self, place: Path | str, schema: pa.Schema) -> Frame:
        """Rows of a large Parquet file at a path or URI."""
        return self._files(in_full(place), from_arrow_schema(schema))

    def named(self, found: DataFrame, *, is_large: bool = False) -> Frame:
        """A DataFrame as a table that statements can name."""
        self._drop_unused()
        name = f"t{next(_NUMBERS)}"
        found.createGlobalTempView(name)
        view = View(f"{_GLOBAL}.{name}")
        # Only noted here: a finalizer may run within another call to the JVM.
        weakref.finalize(view, _UNUSED.append, name).atexit = False
        return Frame(self, tuple(found.columns), view, is_large)

    def _drop_unused(self) -> None:
        """Drop the views that no frame refers to any more. Threads may do so at the same time."""
        with suppress(IndexError):
            while True:
                self.session.catalog.dropGlobalTempView(_UNUSED.popleft())

    def computed(self, frame: Frame) -> Frame:
        """The rows of a frame as a table.

        Few rows go into the plans that use them; many, which large files have made, into files.
        """
        if not frame.is_large:
            return self.table(self.planned(frame).toArrow())
        if self._scratch is None:
            raise ValueError("a large trace needs a place for its rows")
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

    @cached_property
    def _for_many_rows(self) -> SparkSession:
        return for_many_rows(self.session, self._rows)

    def _files(self, uri: str, schema: StructType) -> Frame:
        found = self.session.read.schema(schema).parquet(uri)
        return self.named(found, is_large=True)

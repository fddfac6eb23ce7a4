"""A run's tables on DuckDB; to be imported after `session.put_in_place`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql import DataFrame

from analysis.load import Trace
from analysis.scratch import Scratch
from analysis.source import table_files
from contract.run_folder import RunFolder
from contract.tables import TABLES

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True)
class DuckTrace(Trace):
    """The tables and the plan of a run, in DuckDB."""

    @property
    def is_small(self) -> bool:
        """Always true: leaves out what a check does on a large trace for Spark only."""
        return True

    def each(self, ask: Callable[[_T], _R], of: Iterable[_T]) -> list[_R]:
        """Return the result for each, one at a time: DuckDB uses every core for one query."""
        return [ask(one) for one in of]

    def materialized(self, frame: DataFrame, **_how: Any) -> DataFrame:
        """The rows of a frame, computed now; hints are for Spark."""
        session: Any = self.spark
        computed: DataFrame = session.computed(frame)
        return computed


def load_trace(session: Any, folder: RunFolder) -> DuckTrace:
    """Read a run's tables, as `analysis.load.load_trace` does.

    Args:
        session: a `bench.on_duckdb.session.Session`, where type checkers see Spark's.
        folder: the run's.
    """
    files = table_files(folder)
    rows = files.rows

    def read(name: str) -> DataFrame:
        if not rows[name]:
            frame: DataFrame = session.createDataFrame(TABLES[name].empty_table())
        else:
            frame = session.parquet(files.paths[name].resolve())
        return frame

    return DuckTrace(
        session,
        folder.plan(),
        folder.run(),
        read,
        rows,
        Scratch(folder.path),
        missing=files.missing,
        unreadable=files.unreadable,
        raw=frozenset(folder.raw()),
    )

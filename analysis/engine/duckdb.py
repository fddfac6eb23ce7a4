"""Statements run by DuckDB: in the task of Spark that judges a run.

Spark SQL has the same statements; here they are in DuckDB's spelling (`analysis.engine.spelling`).
"""

import os
import weakref
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

from analysis.engine.base import PlanningEngine
from analysis.engine.frames import Frame, View
from analysis.engine.spelling import MACROS, in_duckdb
from analysis.engine.statements import statement

_T = TypeVar("_T")
_R = TypeVar("_R")


class DuckDBEngine(PlanningEngine):
    """One connection to a database in memory, which spills to a folder."""

    def __init__(self, *, threads: int, memory: str, spill: Path) -> None:
        """Connect.

        Args:
            threads: at most.
            memory: for how much it may hold before it spills, as DuckDB writes it.
            spill: the folder, which is made where it is missing.
        """
        spill.mkdir(parents=True, exist_ok=True)
        directory = self._opened(spill)
        config = {"threads": threads, "memory_limit": memory, "temp_directory": directory}
        self._conn = duckdb.connect(config=config)
        self._numbers = count(1)
        for macro in MACROS:
            self._conn.execute(f"CREATE MACRO {macro}")

    def fetched(self, frame: Frame) -> pa.Table:
        """The rows of a frame, in Python."""
        rows = self._conn.sql(in_duckdb(statement(frame))).to_arrow_table()
        return rows.rename_columns(list(frame.columns)) if frame.columns else rows

    def table(self, content: pa.Table) -> Frame:
        """Rows from Python."""
        self._conn.register("content", content)
        made = self._made("TABLE", "SELECT * FROM content", content.column_names)
        self._conn.unregister("content")
        return replace(made, is_empty=not content.num_rows)

    def parquet(self, place: Path | str, schema: pa.Schema, rows: int) -> Frame:  # noqa: ARG002
        """Rows of a Parquet file of this machine, read again by each statement."""
        found = self._conn.read_parquet(self._opened(Path(place)), hive_partitioning=False)
        name = f"t{next(self._numbers)}"
        found.project(*map(duckdb.ColumnExpression, schema.names)).create_view(name)
        return Frame(self, tuple(schema.names), View(name))

    def computed(self, frame: Frame) -> Frame:
        """The rows of a frame as a table."""
        made = self._made("TABLE", in_duckdb(statement(frame)), list(frame.columns))
        first = self._conn.sql(in_duckdb(statement(made.limit(1)))).fetchall()
        return replace(made, is_empty=not first)

    def _opened(self, path: Path) -> str:
        """A name of a file or folder that is no pattern, no column, and text, whatever its path is.

        It is of what was there: a file that replaces it is not read.
        """
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        weakref.finalize(self, os.close, descriptor)
        return f"/dev/fd/{descriptor}"

    def each(self, ask: Callable[[_T], _R], of: Iterable[_T]) -> list[_R]:
        """What is asked of each, one at a time: DuckDB uses every core for one statement."""
        return [ask(one) for one in of]

    def _made(self, kind: str, query: str, columns: list[str]) -> Frame:
        name = f"t{next(self._numbers)}"
        self._conn.execute(f"CREATE TEMP {kind} {name} AS {query}")
        return Frame(self, tuple(columns), View(name))

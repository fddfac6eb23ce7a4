"""Statements run by DuckDB: in the task of Spark that judges a run.

They are written in Spark's SQL, and run in DuckDB's spelling (`analysis.engine.prepared`).
"""

import os
import warnings
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa

from analysis.engine.prepared import connected, prepared, with_numbers

# A relation (`sql`) is bound a second time when its rows are asked for, which costs more.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result makes an extra copy")
_LOADED_ROWS = 20_000
"""Up to this number of rows, a table is read once, into memory."""
_LARGE_ROWS = 2_000_000
"""Of the files of a run. More are `large`: what is kept of them goes into a file.

DuckDB compresses the tables of a file, to a tenth in fragmented histories; never temporary ones.
"""


class Database:
    """A database in memory, which spills to a folder; each trace has an engine of its own."""

    def __init__(self, *, threads: int, memory: str, spill: Path) -> None:
        """Open it; `memory` is how much it may hold before it spills, as DuckDB writes it."""
        spill.mkdir(parents=True, exist_ok=True)
        directory = _literal_path(spill, by=self)
        config = {"threads": threads, "memory_limit": memory, "temp_directory": directory}
        self._directory, self._engines = directory, 0
        self._conn = connected(config)

    def engine(self) -> "DuckDBEngine":
        """An engine without tables yet."""
        self._engines += 1
        name = f"kept_{self._engines}"
        return DuckDBEngine(self, self._conn.cursor(), name, f"{self._directory}/{name}")


class DuckDBEngine:
    """A connection to a database, and the tables that only it names.

    `numbers` are the values of a statement's parameters, such as `:clock_micros`.
    """

    def __init__(
        self, database: Database, connection: duckdb.DuckDBPyConnection, name: str, file: str
    ) -> None:
        """Use a connection, which is kept open; `file`, for a large run, does not exist yet."""
        self._database = database
        self._conn = connection
        self._views: set[str] = set()
        self._rows = 0
        self._name, self._file = name, file
        self._is_open = False

    def add(self, name: str, rows: pa.Table) -> None:
        """Name rows that Python has."""
        self._conn.register("content", rows)
        self._conn.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM content")
        self._conn.unregister("content")

    def add_file(self, name: str, place: Path, schema: pa.Schema, rows: int) -> None:
        """Name the rows of a Parquet file of this machine; many are read again by each statement.

        A file that can't be read fails in each statement about it.
        """
        self._rows += rows
        columns = ", ".join(f'"{column}"' for column in schema.names)
        file = f"read_parquet('{_literal_path(place, by=self)}', hive_partitioning=false)"
        statement = f"{name} AS SELECT {columns} FROM {file}"
        if rows <= _LOADED_ROWS:
            with suppress(duckdb.Error):
                self._conn.execute(f"CREATE TEMP TABLE {statement}")
                return
        self._conn.execute(f"CREATE TEMP VIEW {statement}")
        self._views.add(name)

    def drop(self, name: str) -> None:
        """Forget a file by its name."""
        self._conn.execute(f"DROP {'VIEW' if name in self._views else 'TABLE'} {name}")

    def keep(self, name: str, statement: str, numbers: Mapping[str, int]) -> bool:
        """Name the rows of a statement, which are computed now, once. Whether there are any."""
        place = self._large(name) if self._rows > _LARGE_ROWS else f"TEMP TABLE {name}"
        made = self._conn.execute(f"CREATE {place} AS {_in_duckdb(statement, numbers)}")
        ((rows,),) = made.fetchall()
        return bool(rows)

    def _large(self, name: str) -> str:
        """A table in the file of the engine, which is made with the first one."""
        if not self._is_open:
            self._conn.execute(f"ATTACH '{self._file}' AS {self._name}")
            self._conn.execute(f"SET search_path = 'memory.main,{self._name}.main'")
            self._is_open = True
        return f"TABLE {self._name}.{name}"

    def define(self, name: str, statement: str, numbers: Mapping[str, int]) -> None:
        """Name a statement, to be a part of those that read it."""
        self._conn.execute(f"CREATE TEMP VIEW {name} AS {_in_duckdb(statement, numbers)}")

    def rows(
        self, *statements: str, numbers: Mapping[str, int], limit: int | None = None
    ) -> pa.Table:
        """The rows of statements that have the same columns, or the first ones up to a limit."""
        spelled = " UNION ALL ".join(
            f"({_in_duckdb(statement, numbers)})" for statement in statements
        )
        if limit is not None:
            spelled = f"SELECT * FROM ({spelled}) LIMIT {limit}"
        return self._conn.execute(spelled).to_arrow_table()


def _in_duckdb(statement: str, numbers: Mapping[str, int]) -> str:
    return with_numbers(prepared(statement).in_duckdb, numbers)


def _literal_path(path: Path, by: object) -> str:
    """A name of a file or folder that is no pattern, no column, and text, whatever its path is.

    It is of what was there: a file that replaces it is not read.

    Args:
        path: of the file or folder.
        by: what reads it; it is open as long as that exists.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    weakref.finalize(by, os.close, descriptor)
    return f"/dev/fd/{descriptor}"

"""DuckDB in the place of Spark: what `pyspark.sql` means to a process, and its session."""

import sys
from collections.abc import Iterator
from itertools import count as counting
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from bench.on_duckdb import functions
from bench.on_duckdb.columns import Column, Window, WindowSpec
from bench.on_duckdb.dialect import MACROS
from bench.on_duckdb.frames import DataFrame, Row
from bench.on_duckdb.names import Attribute, keyed


class Session:
    """One connection to a database in memory, which spills to a folder."""

    def __init__(self, *, threads: int, memory: str, spill: Path) -> None:
        """Connect.

        Args:
            threads: at most.
            memory: for how much it may hold before it spills, as DuckDB writes it.
            spill: the folder.
        """
        config = {"threads": threads, "memory_limit": memory, "temp_directory": str(spill)}
        self._conn = duckdb.connect(config=config)
        self._numbers: Iterator[int] = counting(1)
        for macro in MACROS:
            self._conn.execute(f"CREATE MACRO {macro}")

    def createDataFrame(self, content: pa.Table) -> DataFrame:
        """Rows of our own."""
        self._conn.register("content", content)
        made = self._table("CREATE TEMP TABLE", "SELECT * FROM content", content.column_names)
        self._conn.unregister("content")
        return made

    def parquet(self, path: Path) -> DataFrame:
        """Rows of a file, read again by each query."""
        names = pq.read_schema(path).names
        return self._table("CREATE TEMP VIEW", f"SELECT * FROM read_parquet('{path}')", names)

    def computed(self, frame: DataFrame) -> DataFrame:
        """The rows of a frame, computed now."""
        return self._table("CREATE TEMP TABLE", frame.sql, frame.columns)

    def _table(self, create: str, query: str, names: list[str]) -> DataFrame:
        name = f"t{next(self._numbers)}"
        self._conn.execute(f"{create} {name} AS {query}")
        attributes = keyed([Attribute(one) for one in names])
        return DataFrame(self._conn, attributes, f"SELECT * FROM {name}", table=name)


def put_in_place() -> None:
    """Let `pyspark.sql` mean DuckDB in this process, for whatever imports it from now on."""
    names: dict[str, dict[str, Any]] = {
        "pyspark": {},
        "pyspark.sql": {
            "Column": Column,
            "DataFrame": DataFrame,
            "Row": Row,
            "SparkSession": Session,
            "Window": Window,
            "functions": functions,
        },
        "pyspark.sql.pandas": {},
        "pyspark.sql.pandas.types": {"from_arrow_schema": lambda schema: schema},
        "pyspark.sql.types": {"StructType": pa.Schema},
        "pyspark.sql.window": {"WindowSpec": WindowSpec},
    }
    for name, content in names.items():
        module = ModuleType(name)
        module.__dict__.update(content, __path__=[])
        sys.modules[name] = module
    sys.modules["pyspark.sql.functions"] = functions

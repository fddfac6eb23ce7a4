"""What runs statements in Spark's SQL about tables that it knows by their names."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

_T = TypeVar("_T")
_R = TypeVar("_R")
LOCAL_ROWS = 20_000
"""Up to this number of rows, a table is read once: into memory, or by Spark into its plans."""


class Engine(Protocol):
    """Runs the statements of one trace. Only it knows how large the trace is.

    `numbers` are the values of a statement's parameters, such as `:clock_micros`.
    """

    def add(self, name: str, rows: pa.Table) -> None:
        """Name rows that Python has."""
        ...

    def add_file(self, name: str, place: Path | str, schema: pa.Schema, rows: int) -> None:
        """Name the rows of a Parquet file at a path or URI, by a schema, and as many as `rows`."""
        ...

    def drop(self, name: str) -> None:
        """Forget a file by its name."""
        ...

    def keep(self, name: str, statement: str, numbers: Mapping[str, int]) -> bool:
        """Name the rows of a statement, which are computed now, once. Whether there are any."""
        ...

    def define(self, name: str, statement: str, numbers: Mapping[str, int]) -> None:
        """Name a statement, to be a part of those that read it."""
        ...

    def rows(
        self, *statements: str, numbers: Mapping[str, int], limit: int | None = None
    ) -> pa.Table:
        """The rows of statements that have the same columns, or the first ones up to a limit."""
        ...

    def each(self, ask: Callable[[_T], _R], of: Iterable[_T]) -> list[_R]:
        """What is asked of each, in their order."""
        ...

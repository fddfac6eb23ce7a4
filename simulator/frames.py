"""Rows of a trace table as numpy columns, before they become Parquet.

Integers are int64 with NULL for null; strings and lists are objects with None for null.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from contract.ranges import row_schema

Array = npt.NDArray[Any]
NULL = int(np.iinfo(np.int64).min)
"""Null in a column of integers."""


class Frame:
    """The rows of one table; a column that is not given is null."""

    def __init__(self, table: str, columns: dict[str, Array]) -> None:
        """Take whole columns; see `of` for anything less."""
        self.table = table
        self.columns = columns

    @classmethod
    def of(cls, table: str, rows: int = 1, **values: Any) -> Self:
        """Rows from arrays of their length, or of single values that all of them have."""
        schema = row_schema(table)
        if unknown := values.keys() - set(schema.names):
            raise KeyError(f"table {table} has no columns {sorted(unknown)}")
        columns = {
            field.name: _column(field.type, rows, values.get(field.name)) for field in schema
        }
        return cls(table, columns)

    @classmethod
    def concat(cls, table: str, frames: Sequence["Frame"]) -> Self:
        """The rows of several frames of one table, one after the other."""
        if not frames:
            return cls.of(table, 0)
        return cls(
            table,
            {
                name: np.concatenate([frame.columns[name] for frame in frames])
                for name in row_schema(table).names
            },
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def __getitem__(self, column: str) -> Array:
        """Return a column; writes to it change the frame."""
        return self.columns[column]

    def __setitem__(self, column: str, values: Array) -> None:
        """Replace a column."""
        self.columns[column] = values

    def take(self, chosen: Array) -> "Frame":
        """The rows at these indexes, or where this mask is true, as a copy."""
        return Frame(self.table, {name: column[chosen] for name, column in self.columns.items()})

    def but(self, **values: Any) -> "Frame":
        """Return a copy with other values in some columns."""
        columns = {name: column.copy() for name, column in self.columns.items()}
        for name, value in values.items():
            columns[name] = _column(row_schema(self.table).field(name).type, len(self), value)
        return Frame(self.table, columns)

    def where(self, **values: Any) -> Array:
        """Return a mask of the rows that have these values."""
        mask = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            mask &= self.columns[name] == value
        return mask

    def to_arrow(self) -> pa.Table:
        """Return the rows: those of a table of records are single records."""
        schema = row_schema(self.table)
        arrays = [_to_arrow(self.columns[field.name], field.type) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)


def _column(kind: pa.DataType, rows: int, value: Any) -> Array:
    is_given = isinstance(value, np.ndarray)
    if is_given and len(value) != rows:
        raise ValueError(f"{len(value)} values for {rows} rows")
    if pa.types.is_integer(kind):
        if is_given:
            return np.array(value, dtype=np.int64)
        return np.full(rows, NULL if value is None else value, dtype=np.int64)
    if pa.types.is_boolean(kind):
        return np.array(value, dtype=bool) if is_given else np.full(rows, bool(value))
    if is_given:
        return np.array(value, dtype=object)
    column = np.empty(rows, dtype=object)
    if pa.types.is_list(kind):
        for index in range(rows):
            column[index] = tuple(value or ())
    else:
        column[:] = value
    return column


def _to_arrow(column: Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(kind):
        return pa.array(column, mask=column == NULL).cast(kind)
    if pa.types.is_list(kind):
        return pa.array([None if value is None else list(value) for value in column], type=kind)
    return pa.array(column, type=kind)

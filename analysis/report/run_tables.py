"""The tables of a run as its stories read them: each read once, and split once."""

import os
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.facts.source import table_of
from contract.run_folder import RunFolder
from contract.tables import TABLES

Row = dict[str, Any]
_Places = NDArray[np.intp]
_Key = tuple[Any, ...]


class RunTables:
    """The tables of a run; one without a file has no rows.

    Each method raises a TableError if the table's file is damaged.
    """

    def __init__(self, folder: RunFolder, unusable: Collection[str] = ()) -> None:
        """Nothing is read before it is asked for; tables that are unusable have no rows."""
        self.folder = folder
        self._unusable = unusable
        self._columns: dict[str, dict[str, NDArray[Any]]] = {}
        self._places: dict[tuple[str, tuple[str, ...]], dict[_Key, _Places]] = {}
        self._rows: dict[tuple[str, _Key], list[Row]] = {}

    def rows(self, table: str, **values: Any) -> list[Row]:
        """The rows of a table, in its order, whose columns have these values; by name."""
        wanted = (table, tuple(values.items()))
        if wanted not in self._rows:
            self._rows[wanted] = self._made(table, self._where(table, values))
        return self._rows[wanted]

    def select(self, table: str, *columns: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """Columns of such rows, of a table that may be long."""
        places, content = self._where(table, values), self._read(table)
        return zip(*(content[name][places].tolist() for name in columns), strict=True)

    def within(self, table: str, span: tuple[int, int], **values: Any) -> list[Row]:
        """The parts of such rows, of a table of records, that are within a span of offsets."""
        places, columns = self._where(table, values), self._read(table)
        first, last = (columns[name][places] for name in ("first_offset", "last_offset"))
        if first.dtype == object:
            is_there = np.array([one is not None for one in first], dtype=bool)
            places, first, last = places[is_there], first[is_there], last[is_there]
        is_within = ((first <= span[1]) & (last >= span[0])).astype(bool)
        return [_clipped(row, span) for row in self._made(table, places[is_within])]

    def _made(self, table: str, places: _Places) -> list[Row]:
        columns = self._read(table)
        values = zip(*(content[places].tolist() for content in columns.values()), strict=True)
        return [dict(zip(columns, one, strict=True)) for one in values]

    def _where(self, table: str, values: dict[str, Any]) -> _Places:
        if not values:
            return np.arange(len(next(iter(self._read(table).values()))))
        split = (table, tuple(values))
        if split not in self._places:
            keys = pd.DataFrame({name: self._read(table)[name] for name in values})
            places = keys.groupby(list(values), sort=False).indices
            self._places[split] = {
                key if isinstance(key, tuple) else (key,): np.asarray(some)
                for key, some in places.items()
            }
        return self._places[split].get(tuple(values.values()), np.array([], dtype=np.intp))

    def _read(self, table: str) -> dict[str, NDArray[Any]]:
        """The columns of a table."""
        if table not in self._columns:
            file = self.folder.tables / f"{table}.parquet"
            is_there = os.path.lexists(file) and table not in self._unusable
            content = table_of(self.folder, table) if is_there else TABLES[table].empty_table()
            frame = content.to_pandas(integer_object_nulls=True)
            self._columns[table] = {str(name): frame[name].to_numpy() for name in frame}
        return self._columns[table]


def _clipped(row: Row, span: tuple[int, int]) -> Row:
    """The part of a range of records that is within a span of offsets."""
    before = max(0, span[0] - row["first_offset"])
    after = max(0, row["last_offset"] - span[1])
    parts = {"first": before, "last": -after}
    return row | {
        f"{end}_{name}": row[f"{end}_{name}"] + moved
        for end, moved in parts.items()
        for name in ("offset", "sequence")
        if row[f"{end}_{name}"] is not None
    }

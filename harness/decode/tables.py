"""Rows to Parquet, with the contract's types and sort order."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contract.files import replacing
from contract.ranges import RECORDS, row_schema, to_ranges
from contract.tables import of_run

_SORT_KEYS = ("topic", "partition", "offset", "base_offset", "metadata_offset", "group", "seq")


class Rows:
    """Rows by table, collected column by column."""

    def __init__(self) -> None:
        """Start empty."""
        self._rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._columns: dict[str, list[pa.Table]] = defaultdict(list)

    def add(self, table: str, **row: Any) -> None:
        """Add one row."""
        self._rows[table].append(row)

    def extend(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add several rows."""
        self._rows[table].extend(rows)

    def extend_by_columns(self, table: str, rows: pa.Table) -> None:
        """Add the rows of a table that has too many for a dictionary each."""
        self._columns[table].append(rows)

    def of(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of one table."""
        return self.table(table).to_pylist() if table in self._columns else self._rows[table]

    def table(self, name: str) -> pa.Table:
        """Return the rows of one table by columns; see `write_table`."""
        columns = self._columns.get(name)
        return pa.concat_tables(columns) if columns else as_table(name, self._rows[name])


def as_table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows by columns.

    A row without a column has null there; a column that the contract does not name is an error.
    """
    schema = row_schema(name)
    known = frozenset(schema.names)
    for row in rows:
        if unknown := row.keys() - known:
            raise KeyError(f"table {name} has no columns {sorted(unknown)}")
    return pa.Table.from_pylist(rows, schema=schema)


def write_table(
    folder: Path, name: str, rows: list[dict[str, Any]] | pa.Table, *, run: str = ""
) -> int:
    """Write one table as `<name>.parquet` and return the number of its rows or records.

    Rows of a table of records are single records (`contract.ranges.RECORDS`). The file names the
    run of the identity `run`, if there is one.
    """
    table = rows if isinstance(rows, pa.Table) else as_table(name, rows)
    keys = [(key, "ascending") for key in _SORT_KEYS if key in table.column_names]
    if name in RECORDS:
        table = to_ranges(name, table)
    elif keys:
        table = table.sort_by(keys)
    folder.mkdir(parents=True, exist_ok=True)
    if run:
        table = table.cast(of_run(table.schema, run))
    # Opened here, as the folder's name may be no text in UTF-8.
    with replacing(folder / f"{name}.parquet") as file:
        pq.write_table(table, file, compression="zstd")
    return len(rows)

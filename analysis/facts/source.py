"""The table files of a run: which of them read as the contract says, and why others do not."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from contract.regular_files import open_regular
from contract.run_folder import RunFolder
from contract.tables import LATER, TABLES


@dataclass(frozen=True)
class TableFiles:
    """The files of a run's tables.

    Attributes:
        paths: of every table, whether the file exists or not.
        rows: by table; 0 where it is missing or unreadable.
        missing: tables without a file.
        unreadable: why a table's file is not what the contract declares, by table.
    """

    paths: Mapping[str, Path]
    rows: dict[str, int]
    missing: frozenset[str] = frozenset()
    unreadable: Mapping[str, str] = field(default_factory=dict)


def table_files(folder: RunFolder) -> TableFiles:
    """Compare each table's file with the contract, without reading its rows.

    A run of a release from before `LATER` has none of what that names: there it counts as null or
    empty. In a run that has any of it, all of it has to be there.
    """
    paths = {name: folder.tables / f"{name}.parquet" for name in TABLES}
    footers = {name: _footer(path) for name, path in paths.items() if os.path.lexists(path)}
    is_older = not any(_has_later(table, footer) for table, footer in footers.items())
    unreadable = {
        table: f"table {table} {problem}"
        for table, footer in footers.items()
        if (problem := _problem(table, footer, is_older=is_older))
    }
    rows = dict.fromkeys(TABLES, 0) | {
        table: int(footer.num_rows)
        for table, footer in footers.items()
        if table not in unreadable and not isinstance(footer, str)
    }
    tolerated = {table for table, columns in LATER.items() if not columns} if is_older else set()
    return TableFiles(
        paths, rows, frozenset(TABLES.keys() - footers.keys() - tolerated), unreadable
    )


def _footer(path: Path) -> pq.FileMetaData | str:
    """A file's footer, or why it has none."""
    if not path.is_file():
        return "it is no regular file"
    try:
        with open_regular(path) as content:
            return pq.read_metadata(content)
    except (pa.ArrowException, OSError) as error:
        return str(error).partition("\n")[0]


def _has_later(table: str, footer: pq.FileMetaData | str) -> bool:
    if table not in LATER or isinstance(footer, str):
        return False
    return not LATER[table] or any(name in footer.schema.names for name in LATER[table])


def _problem(table: str, footer: pq.FileMetaData | str, *, is_older: bool) -> str:
    """What is wrong with a table's file, in words; empty if nothing is."""
    if isinstance(footer, str):
        return f"is not a Parquet file: {footer}"
    there = footer.schema.to_arrow_schema()
    optional = LATER.get(table, ()) if is_older else ()
    for column in TABLES[table]:
        if there.get_field_index(column.name) < 0:
            if column.name not in optional:
                return f"has no column {column.name}"
        elif not _is_same(there.field(column.name).type, column.type):
            found = there.field(column.name).type
            return f"has column {column.name} as {found}, which is not {column.type}"
    return ""


def _is_same(found: pa.DataType, declared: pa.DataType) -> bool:
    """Whether two types are equal, whatever a list calls its elements."""
    if pa.types.is_list(found) and pa.types.is_list(declared):
        return _is_same(found.value_type, declared.value_type)
    return bool(found.equals(declared))

"""The table files of a run: which of them read as the contract says, and why others do not."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import RunFolderError, TableError
from contract.files import Opener, open_regular
from contract.ranges import of_earlier_release
from contract.run_folder import RunFolder
from contract.tables import OF_RUN, TABLES


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
    """Compare each table's file with the contract, without reading its rows."""
    paths = {table: folder.tables / f"{table}.parquet" for table in TABLES}
    footers = {
        table: _footer(partial(open_regular, path))
        for table, path in paths.items()
        if os.path.lexists(path)
    }
    run = _identity(folder)
    unreadable = {
        table: f"table {table} {problem}"
        for table, footer in footers.items()
        if (problem := _problem(table, footer, run))
    }
    rows = dict.fromkeys(TABLES, 0) | {
        table: int(footer.num_rows)
        for table, footer in footers.items()
        if table not in unreadable and not isinstance(footer, str)
    }
    return TableFiles(paths, rows, frozenset(TABLES.keys() - footers.keys()), unreadable)


def table_content(name: str, file: Opener) -> pa.Table:
    """The rows of a table's file.

    Raises:
        TableError: it is no regular file, or its pages are damaged.
    """
    try:
        with file() as content:
            return pq.read_table(content, schema=TABLES[name])
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise TableError(f"table {name} can't be read: {problem}") from error


def _footer(file: Opener) -> pq.FileMetaData | str:
    """A file's footer, or why it has none."""
    try:
        with file() as content:
            return pq.read_metadata(content)
    except (pa.ArrowException, OSError) as error:
        return str(error).partition("\n")[0]


def _identity(folder: RunFolder) -> bytes:
    """What the files of a run's tables name; empty if its description can't be read."""
    try:
        return folder.run().identity.encode()
    except RunFolderError:
        return b""


def _problem(table: str, footer: pq.FileMetaData | str, run: bytes) -> str:
    """What is wrong with a table's file, in words; empty if nothing is."""
    if isinstance(footer, str):
        return f"is not a Parquet file: {footer}"
    named = (footer.metadata or {}).get(OF_RUN, run)
    if named != run:
        return f"is of another run: {named.decode(errors='backslashreplace')}"
    there = footer.schema.to_arrow_schema()
    if earlier := of_earlier_release(table, there.names):
        return earlier
    for column in TABLES[table]:
        if there.get_field_index(column.name) < 0:
            return f"has no column {column.name}"
        found = there.field(column.name).type
        if not _is_same(found, column.type):
            return f"has column {column.name} as {found}, which is not {column.type}"
    return ""


def _is_same(found: pa.DataType, declared: pa.DataType) -> bool:
    """Whether two types are equal, whatever a list calls its elements."""
    if pa.types.is_list(found) and pa.types.is_list(declared):
        return _is_same(found.value_type, declared.value_type)
    return bool(found.equals(declared))

"""A run's tables, read by DuckDB."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from analysis.engine.duckdb import Database, DuckDBEngine
from analysis.runs.source import TableFiles, table_files
from analysis.runs.validity import broken_tables
from analysis.statements.trace import Trace
from contract.manifest import alterations
from contract.run_folder import RunFolder
from contract.tables import TABLES

_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")


def count_rows(folder: RunFolder) -> dict[str, int]:
    """The rows of each table of a run; 0 where it is missing or unreadable."""
    return table_files(folder).rows


def memory_here() -> int:
    """The bytes of memory that are free on this machine, or in this container."""
    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):
        free = min(free, int(_MEMORY_LIMIT.read_text()))
    return free


def load_on_duckdb(folder: RunFolder, spill: Path, *, threads: int, memory: int) -> Trace:
    """Read a run's tables by DuckDB; those that are missing or unreadable have no rows.

    Args:
        folder: the run's.
        spill: for what does not fit into the memory.
        threads: at most.
        memory: in bytes.

    Raises:
        RunFolderError: the folder has no plan or no description of a run.
    """
    database = Database(threads=threads, memory=f"{memory >> 20}MiB", spill=spill)
    return trace_of(database.engine(), folder, table_files(folder))


def trace_of(engine: DuckDBEngine, folder: RunFolder, files: TableFiles) -> Trace:
    """A run's tables. One that breaks its contract is unreadable."""
    plan, run = folder.plan(), folder.run()
    filled = {name: rows for name, rows in files.rows.items() if rows}
    for name, rows in filled.items():
        engine.add_file(name, files.paths[name].resolve(), TABLES[name], rows)
    broken = broken_tables(engine, filled)
    for name in broken:
        engine.drop(name)

    def load(name: str) -> None:
        if name not in filled or name in broken:
            engine.add(name, TABLES[name].empty_table())

    return Trace(
        engine,
        plan,
        run,
        load,
        files.rows | dict.fromkeys(broken, 0),
        missing=files.missing,
        unreadable={**files.unreadable, **broken},
        raw=frozenset(folder.raw()),
        alterations=partial(alterations, folder),
    )

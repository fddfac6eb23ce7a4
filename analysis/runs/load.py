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

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")
_CACHED = "inactive_file "
"""Of the memory of a group: the cache of files that no process reads now; the kernel frees it."""


def memory_here() -> int:
    """The bytes of memory that are free on this machine, and in each control group around us.

    A container has its limit in such a group (cgroup 2); what else runs in it shares that.
    """
    free = [int(psutil.virtual_memory().available)]
    for group in _groups():
        with suppress(OSError, ValueError):
            limit = int((group / "memory.max").read_text())
            used = int((group / "memory.current").read_text())
            stated = (group / "memory.stat").read_text().splitlines()
            cached = sum(int(line.split()[1]) for line in stated if line.startswith(_CACHED))
            free.append(max(0, limit - used + cached))
    return min(free)


def _groups() -> list[Path]:
    """The folders of our control group and of those around it; a container sees the last one."""
    path = ""
    with suppress(OSError):
        for line in _OWN_GROUP.read_text().splitlines():
            if line.startswith("0::"):
                path = line.removeprefix("0::").strip("/")
    own = _GROUPS / path
    return [own, *(parent for parent in own.parents if parent.is_relative_to(_GROUPS))]


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

"""A run's tables, read by DuckDB or by Spark."""

from pathlib import Path

from pyspark.sql import SparkSession

from analysis.engine.duckdb import DuckDBEngine
from analysis.engine.frames import Engine, Frame
from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine
from analysis.facts.remote import RemoteRun
from analysis.facts.source import TableFiles, table_files
from analysis.facts.trace import Trace
from contract.manifest import alterations
from contract.run_folder import RunFolder
from contract.tables import TABLES


def count_rows(folder: RunFolder) -> dict[str, int]:
    """The rows of each table of a run; 0 where it is missing or unreadable."""
    return table_files(folder).rows


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
    engine = DuckDBEngine(threads=threads, memory=f"{memory >> 20}MiB", spill=spill)
    return trace_of(engine, folder, table_files(folder))


def load_trace(spark: SparkSession, folder: RunFolder, remote: RemoteRun | None = None) -> Trace:
    """Read a run's tables by Spark; those that are missing or unreadable have no rows.

    Args:
        spark: reads tables with many rows where they are.
        folder: has the plan and the description of the run.
        remote: where all else is, if not there.

    Raises:
        RunFolderError: the folder has no plan or no description of a run.
    """
    files = table_files(folder, remote)
    scratch = Scratch(folder.path) if remote is None else remote.scratch
    engine = SparkEngine(spark, rows=sum(files.rows.values()), scratch=scratch)
    return trace_of(engine, folder, files, remote)


def trace_of(
    engine: Engine, folder: RunFolder, files: TableFiles, remote: RemoteRun | None = None
) -> Trace:
    """A run's tables on any engine."""

    def read(name: str) -> Frame:
        if not files.rows[name]:
            return engine.table(TABLES[name].empty_table())
        place = files.places[name]
        found = place.resolve() if isinstance(place, Path) else place
        return engine.parquet(found, TABLES[name], files.rows[name])

    return Trace(
        engine,
        folder.plan(),
        folder.run(),
        read,
        files.rows,
        missing=files.missing,
        unreadable=files.unreadable,
        raw=frozenset(folder.raw()),
        altered=tuple(alterations(folder, None if remote is None else remote.files)),
    )

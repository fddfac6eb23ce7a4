"""A run's tables, read by Spark or by another engine."""

from pathlib import Path

from pyspark.sql import SparkSession

from analysis.engine.frames import Engine, Frame
from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine
from analysis.facts.remote import RemoteRun
from analysis.facts.source import TableFiles, table_content, table_files
from analysis.facts.trace import Trace
from contract.manifest import alterations
from contract.run_folder import RunFolder
from contract.tables import TABLES


def count_rows(folder: RunFolder) -> dict[str, int]:
    """The rows of each table of a run; 0 where it is missing or unreadable."""
    return table_files(folder).rows


def load_trace(spark: SparkSession, folder: RunFolder, remote: RemoteRun | None = None) -> Trace:
    """Read a run's tables; those that are missing or unreadable have no rows, and say so.

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
        if engine.is_local(files.rows[name]):
            return engine.table(table_content(name, files.open[name]))
        place = files.places[name]
        return engine.parquet(place.resolve() if isinstance(place, Path) else place, TABLES[name])

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

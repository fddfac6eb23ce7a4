"""A run's tables on DuckDB; to be imported after `session.put_in_place`."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from analysis.load import Trace, count_rows
from bench.on_duckdb.session import Session
from harness.contract.run_folder import RunFolder
from harness.contract.tables import TABLES


@dataclass(frozen=True)
class DuckTrace(Trace):
    """What is known of a run, to DuckDB."""

    @property
    def is_small(self) -> bool:
        """As if: what a check does for Spark's sake alone on a large trace is left out."""
        return True

    def materialized(self, frame: DataFrame) -> DataFrame:
        """The rows of a frame, computed now."""
        session: Session = self.spark
        return session.computed(frame)


def load_trace(session: Session, folder: RunFolder) -> DuckTrace:
    """Read a run's tables, as `analysis.load.load_trace` does."""
    paths = {name: folder.tables / f"{name}.parquet" for name in TABLES}
    rows = count_rows(folder)

    def read(name: str) -> DataFrame:
        if not rows[name]:
            return session.createDataFrame(TABLES[name].empty_table())
        return session.parquet(Path(paths[name]).resolve())

    missing = frozenset(name for name, path in paths.items() if not path.exists())
    return DuckTrace(session, folder.plan(), folder.run(), read, rows, missing)

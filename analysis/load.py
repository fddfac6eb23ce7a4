"""A run's tables as DataFrames, with the schemas of the contract."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from harness.contract.run_folder import Plan, RunDescription, RunFolder
from harness.contract.tables import TABLES


def spark_schema(table: str) -> StructType:
    """A table's schema for Spark, made from the contract's own."""
    schema: StructType = from_arrow_schema(TABLES[table])
    return schema


_LOCAL_ROWS = 20_000
"""Up to so many rows, a table goes into the plan itself, which saves scans and their jobs."""


@dataclass(frozen=True)
class Trace:
    """All that is known of a run.

    Attributes:
        plan: what the scenario set out to do.
        run: under which conditions.
        rows: count of rows by table; 0 where a table is missing.
    """

    spark: SparkSession
    plan: Plan
    run: RunDescription
    tables: dict[str, DataFrame]
    rows: dict[str, int]
    _shared: dict[str, DataFrame] = field(default_factory=dict)

    def __getitem__(self, table: str) -> DataFrame:
        """A table by its name in the contract."""
        return self.tables[table]

    @cached_property
    def topics(self) -> DataFrame:
        """(topic, min_insync, unclean_election, retention_ms) of the plan."""
        rows = [
            (t.topic, t.min_insync, t.unclean_election, t.retention_ms) for t in self.plan.topics
        ]
        schema = "topic string, min_insync int, unclean_election boolean, retention_ms bigint"
        return self.spark.createDataFrame(rows, schema)

    @cached_property
    def groups(self) -> DataFrame:
        """(group, client, commit_epoch, reset) of the plan."""
        rows = [(g.group, g.client, g.commit_epoch, g.reset) for g in self.plan.groups]
        schema = "`group` string, client string, commit_epoch string, reset string"
        return self.spark.createDataFrame(rows, schema)

    @property
    def surviving(self) -> DataFrame:
        """(topic, partition, offset, leader_epoch, value): what any replica holds at the end."""
        columns = ("topic", "partition", "offset", "leader_epoch", "value")
        return self.shared("surviving", lambda: self["replica_records"].select(*columns).distinct())

    def shared(self, name: str, build: Callable[[], DataFrame]) -> DataFrame:
        """A DataFrame that several checks ask for, built and kept once a trace."""
        if name not in self._shared:
            self._shared[name] = build().cache()
        return self._shared[name]


def load_trace(spark: SparkSession, folder: RunFolder) -> Trace:
    """Read a run's tables; a missing one is empty, and counts 0 rows.

    Raises:
        RunFolderError: the folder has no plan or no description of a run.
    """
    tables: dict[str, DataFrame] = {}
    rows: dict[str, int] = {}
    for name, schema in TABLES.items():
        path = folder.tables / f"{name}.parquet"
        rows[name] = int(pq.read_metadata(path).num_rows) if path.exists() else 0
        if rows[name] > _LOCAL_ROWS:
            tables[name] = spark.read.schema(spark_schema(name)).parquet(str(path)).cache()
        else:
            content = pq.read_table(path, schema=schema) if rows[name] else schema.empty_table()
            tables[name] = spark.createDataFrame(content)
    return Trace(spark, folder.plan(), folder.run(), tables, rows)

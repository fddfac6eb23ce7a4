"""A run's tables as DataFrames, with the schemas of the contract."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import pyarrow as pa
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


_TOPICS = pa.schema(
    {
        "topic": pa.string(),
        "min_insync": pa.int32(),
        "unclean_election": pa.bool_(),
        "retention_ms": pa.int64(),
    }
)
_GROUPS = pa.schema({name: pa.string() for name in ("group", "client", "commit_epoch", "reset")})

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
        rows = [msgspec.structs.asdict(topic) for topic in self.plan.topics]
        return self.spark.createDataFrame(pa.Table.from_pylist(rows, schema=_TOPICS))

    @cached_property
    def groups(self) -> DataFrame:
        """(group, client, commit_epoch, reset) of the plan."""
        rows = [msgspec.structs.asdict(group) for group in self.plan.groups]
        return self.spark.createDataFrame(pa.Table.from_pylist(rows, schema=_GROUPS))

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

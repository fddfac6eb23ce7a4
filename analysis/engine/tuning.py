"""How a Spark session is set up for many rows and for few (docs/decisions/0004)."""

from pyspark.sql import SparkSession

OF_SESSIONS = {
    # Cores seldom wait: not for the last of many small tasks, nor for rows that are elsewhere.
    "spark.sql.files.maxPartitionBytes": "16MB",
    "spark.sql.files.openCostInBytes": "1MB",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16MB",
    "spark.locality.wait": "0s",
    # Without checksum files, whose modes are set by a program of their own for each.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # Files of a trace are up to so much smaller than their rows; few of them are to be broadcast.
    "spark.sql.sources.fileCompressionFactor": "100",
}
"""Settings that hold for few rows and for many."""

_ROWS_PER_PARTITION = 500_000
_WORTH_IT_ON_MUCH = (
    "spark.sql.adaptive.enabled",
    "spark.sql.constraintPropagation.enabled",
    "spark.sql.exchange.reuse",
    "spark.sql.subexpressionElimination.enabled",
)
_SPLITTING_RULES = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("PushDownLeftSemiAntiJoin", "PushLeftSemiLeftAntiThroughJoin")
)
"""They push joins below what makes one partition of a table, and so cause exchanges."""


def for_few_rows(session: SparkSession) -> None:
    """Plan for rows that are so few that planning costs more than they do.

    Then compiling generated code, adapting plans, inferring filters and moving rows between tasks
    costs more than it saves.
    """
    _set_up(session, is_much=False, partitions=1)


def for_many_rows(session: SparkSession, rows: int) -> SparkSession:
    """Another session of the same Spark, that plans for `rows` rows."""
    other = session.newSession()
    least = session.sparkContext.defaultParallelism
    _set_up(other, is_much=True, partitions=max(least, rows // _ROWS_PER_PARTITION))
    return other


def _set_up(session: SparkSession, *, is_much: bool, partitions: int) -> None:
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if is_much else "NO_CODEGEN")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB" if is_much else "-1")
    session.conf.set("spark.sql.optimizer.excludedRules", "" if is_much else _SPLITTING_RULES)
    # To sort strings for a join costs more than to hash them, where these fit into memory.
    session.conf.set(
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold", "64MB" if is_much else "0"
    )
    # Sets of a few groups each fit into memory, too; else Spark sorts what it collects.
    session.conf.set(
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold",
        "100000" if is_much else "128",
    )
    for setting in _WORTH_IT_ON_MUCH:
        session.conf.set(setting, str(is_much).lower())

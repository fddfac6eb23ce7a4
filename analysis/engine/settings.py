"""Settings of Spark that a user gives: `--conf KEY=VALUE`."""

from collections.abc import Iterable

from contract.errors import UsageError

_PREFIX = "spark."
_PREFIX_OF_SQL = "spark.sql."
MASTER = "spark.master"
PYTHON = "spark.pyspark.python"
"""Of the executors' workers. PySpark takes it from the environment alone, in client mode."""
OPTIONS_OF_JVMS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
"""These are added to the tool's own options. Any other setting replaces the tool's."""

OF_SQL = {
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
    # To sort strings for a join costs more than to hash them, where these fit into memory.
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64MB",
    # Sets of a few groups each fit into memory, too; else Spark sorts what it collects.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
}
"""For runs that Spark SQL judges (docs/decisions/0004)."""

OF_URIS = {"spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem"}
"""Hadoop's own default, in place of what local traces have (`OF_SQL`).

File systems that collect what they write in local files first, as s3a does, need it.
"""


def settings_of(given: Iterable[str]) -> dict[str, str]:
    """The settings that KEY=VALUE texts give; the last one of a key counts, as in Spark.

    Raises:
        UsageError: a text has another form, or the setting can't be given.
    """
    return dict(_setting(one) for one in given)


def _setting(given: str) -> tuple[str, str]:
    key, sign, value = given.partition("=")
    key = key.strip()
    if not sign or not key:
        raise UsageError(
            f"--conf {given}: expected KEY=VALUE, such as --conf spark.executor.memory=4g"
        )
    if not key.startswith(_PREFIX):
        raise UsageError(
            f"--conf {given}: the keys of Spark begin with spark., those of Hadoop with "
            f"spark.hadoop.: try --conf spark.hadoop.{given}"
        )
    if key == MASTER:
        raise UsageError(f"--conf {given}: use --master {value}")
    if key.startswith(_PREFIX_OF_SQL):
        raise UsageError(
            f"--conf {given}: settings of SQL can't be given. Fencepost sets them for each "
            "statement, and a verdict must not depend on them"
        )
    return key, value.strip()

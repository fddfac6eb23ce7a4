"""Settings of Spark that a user gives: `--conf KEY=VALUE`."""

from collections.abc import Iterable

from contract.errors import UsageError

_PREFIX = "spark."
_PREFIX_OF_SQL = "spark.sql."
MASTER = "spark.master"
PYTHON = "spark.pyspark.python"
"""Of the executors' workers. PySpark takes it from the environment alone, in client mode."""
OPTIONS_OF_DRIVER = "spark.driver.extraJavaOptions"
"""These are added to the tool's own options. Any other setting replaces the tool's."""


def settings_of(given: Iterable[str]) -> dict[str, str]:
    """The settings that KEY=VALUE texts give; the last one of a key counts, as in Spark.

    Raises:
        UsageError: a text has another form, or the setting can't be given.
    """
    return dict(_setting(setting) for setting in given)


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

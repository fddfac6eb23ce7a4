"""All that is used of PySpark without being part of its documented interface.

PySpark documents no way to the JVM that it starts. Two things need that JVM itself:

- the analysis asks whether it still runs, since a check whose JVM was killed judged nothing;
- runs at a URI are listed, read and written by Hadoop's file systems, since Spark itself writes no
  single file (docs/decisions/0021).

Both start from the gateway here, and call public classes of Java, Hadoop and Spark.
"""

import subprocess
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home


def gateway() -> Any | None:
    """py4j's gateway to the JVM, which outlives its sessions; None if this process has no JVM."""
    return SparkContext._gateway  # noqa: SLF001 - see above


def process() -> "subprocess.Popen[bytes] | None":
    """The process of the JVM; None if this process did not start it."""
    return getattr(gateway(), "proc", None)


def reason(error: BaseException) -> str:
    """The first line of what an error says; of an exception in the JVM, its own words.

    The name of its class, if it says nothing.
    """
    text = error.java_exception.toString() if isinstance(error, Py4JJavaError) else error
    return str(text).strip().partition("\n")[0] or type(error).__name__


def spark_home() -> Path:
    """The folder of Spark: SPARK_HOME, or that of the package pyspark."""
    return Path(_find_spark_home())

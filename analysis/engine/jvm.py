"""All that is used of PySpark without being part of its documented interface.

PySpark documents no way to the JVM that it starts. Three things need that JVM itself:

- the analysis asks whether it still runs, since a check whose JVM was killed judged nothing;
- runs at a URI are listed, read and written by Hadoop's file systems, since Spark itself writes no
  single file (docs/decisions/0021);
- a standalone master is asked what its workers have (`analysis.engine.executors`).

The first two start from the gateway here, and call public classes of Java, Hadoop and Spark. The
last sends the message by which the master makes its web page, whose port a driver does not know.
The message is no public one: a caller must do without the answer.
"""

import subprocess
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home

_STANDALONE = "spark://"
_NO_REASON = "Exception thrown in awaitResult"


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
    text = _cause(error.java_exception).toString() if isinstance(error, Py4JJavaError) else error
    return str(text).strip().partition("\n")[0] or type(error).__name__


def _cause(error: Any) -> Any:
    """The exception that is behind one which says only that a wait ended with one."""
    while _NO_REASON in error.toString() and error.getCause() is not None:
        error = error.getCause()
    return error


def masters(url: str) -> list[str]:
    """The URL of each standalone master that a URL names; none of another kind."""
    if not url.startswith(_STANDALONE):
        return []
    return [f"{_STANDALONE}{address}" for address in url.removeprefix(_STANDALONE).split(",")]


def state_of_master(master: str) -> Any:
    """What a standalone master says of itself: Spark's MasterStateResponse.

    Of its workers it has what each is made of, but not which ended, nor what of them is in use.

    Raises:
        Py4JError: it does not answer, or this Spark has no such message.
    """
    view: Any = SparkContext._jvm  # noqa: SLF001 - see above
    settings, unset = (
        view.org.apache.spark.SparkContext.getOrCreate().getConf(),
        _module(view, "scala.None"),
    )
    of_secret = _module(view, "org.apache.spark.SecurityManager")
    entry = getattr(of_secret, "$lessinit$greater$default$3")()
    security = view.org.apache.spark.SecurityManager(settings, unset, entry)
    make = _module(view, "org.apache.spark.rpc.RpcEnv").create
    network = make("fencepost", "localhost", 0, settings, security, True)
    try:
        address = _module(view, "org.apache.spark.rpc.RpcAddress").fromSparkURL(master)
        asked = _module(view, "org.apache.spark.deploy.DeployMessages$RequestMasterState")
        kind = _module(view, "scala.reflect.ClassTag").Any()
        return network.setupEndpointRef(address, "Master").askSync(asked, kind)
    finally:
        network.shutdown()


def _module(view: Any, name: str) -> Any:
    """An object of Scala."""
    return getattr(getattr(view, f"{name}$"), "MODULE$")


def spark_home() -> Path:
    """The folder of Spark: SPARK_HOME, or that of the package pyspark."""
    return Path(_find_spark_home())

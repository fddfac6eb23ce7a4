"""The Spark session that judges runs."""

import logging
import os
import shlex
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from analysis.engine.class_data import flags
from analysis.engine.quiet import quiet
from analysis.engine.spark import SMALL_INPUT_ROWS
from analysis.engine.tuning import OF_SESSIONS, for_few_rows
from contract.errors import AnalysisError

LOCAL = "local[*]"
_LOG4J2 = (Path(__file__).resolve().parent / "conf" / "log4j2.properties").as_uri()
_START_SOON = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1600m -Xmn1100m -XX:ReservedCodeCacheSize=240m"
)
_RUN_LONG = "-XX:+UseParallelGC -XX:-DontCompileHugeMethods"


def open_session(
    master: str | None = None, *, rows: int = 0, may_record: bool = False
) -> SparkSession:
    """A session on this machine (`local[*]`), or on a master given as Spark's `--master` is.

    It plans for few rows. What goes through many rows of a large trace asks for more by itself, as
    long as it runs (`Trace.materialized`). Its JVM prints nothing, as progress is shown meanwhile.

    Args:
        master: None for this machine.
        rows: of the largest trace to come. A JVM for small ones starts sooner; one for large ones
            compiles better, and may use 4 GB.
        may_record: whether its JVM records class data where none is kept; see `class_data.keep`.
    """
    is_small = rows <= SMALL_INPUT_ROWS
    jvm_flags = _START_SOON if is_small else _RUN_LONG
    log4j2 = f"-Dlog4j2.configurationFile={_LOG4J2}"
    driver_flags = f"{jvm_flags} {log4j2} {shlex.join(flags(may_record=may_record))}"
    builder = (
        SparkSession.builder.appName("fencepost")
        .master(master or LOCAL)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.sql.execution.arrow.localRelationThreshold", "1MB")
        .config(map={**OF_SESSIONS})
        .config("spark.driver.memory", "2g" if is_small else "4g")
        .config("spark.driver.extraJavaOptions", driver_flags)
        .config("spark.executor.extraJavaOptions", jvm_flags)
    )
    if master is None:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
            "spark.driver.host", "127.0.0.1"
        )
    with quiet():
        session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    # py4j logs the traceback of each call to a JVM that has ended, which Python would print.
    logging.getLogger().addHandler(logging.NullHandler())
    # PySpark prints each statement that fails; `analysis.verdict.judge` records it.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    for_few_rows(session)
    return session


def is_jvm_alive(session: SparkSession) -> bool:
    """Whether the JVM behind a session still runs; True of one that this process did not start."""
    process = getattr(session.sparkContext._gateway, "proc", None)  # noqa: SLF001 - no other way
    return process is None or process.poll() is None


def jvm_ended(session: SparkSession) -> AnalysisError:
    """The error that says how the JVM behind a session ended."""
    process = session.sparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001
    return AnalysisError(
        f"Spark's JVM ended with status {process.poll()} during the analysis (killed, or out of "
        "memory?). The run is kept: judge it again with `fencepost analyze`"
    )


def require_jvm(session: SparkSession) -> None:
    """Check that the JVM behind a session still runs.

    Raises:
        AnalysisError: it has ended, so what its checks answered last is no verdict.
    """
    if not is_jvm_alive(session):
        raise jvm_ended(session)


def close_session(session: SparkSession) -> None:
    """End a session; one whose JVM has ended has nothing left to end."""
    with suppress(Py4JError, OSError):
        session.stop()

"""The Spark session that judges runs."""

import logging
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis.engine import jvm
from analysis.engine.class_data import flags
from analysis.engine.quiet import quiet
from analysis.engine.settings import OPTIONS_OF_JVMS
from analysis.engine.spark import SMALL_INPUT_ROWS
from analysis.engine.tuning import OF_SESSIONS, for_few_rows
from contract.errors import AnalysisError

LOCAL = "local[*]"
_LOG4J2 = (Path(__file__).resolve().parent / "conf" / "log4j2.properties").as_uri()
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_START_SOON = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1600m -Xmn1100m -XX:ReservedCodeCacheSize=240m"
)
_RUN_LONG = "-XX:+UseParallelGC -XX:-DontCompileHugeMethods"


def open_session(
    master: str | None = None,
    *,
    rows: int = 0,
    may_record: bool = False,
    settings: Mapping[str, str] = _NO_SETTINGS,
) -> SparkSession:
    """A session on this machine (`local[*]`), or on a master given as Spark's `--master` is.

    It plans for few rows. What goes through many rows of a large trace asks for more by itself, as
    long as it runs (`Trace.materialized`). Its JVM prints nothing, as progress is shown meanwhile.

    Args:
        master: None for this machine.
        rows: of the largest trace to come. A JVM for small ones starts sooner; one for large ones
            compiles better, and may use 4 GB.
        may_record: whether its JVM records class data where none is kept; see `class_data.keep`.
        settings: of the user (`analysis.engine.settings`); they replace those here, except that
            options of JVMs are added.

    Raises:
        AnalysisError: Spark does not start with that.
    """
    is_small = rows <= SMALL_INPUT_ROWS
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
    )
    if master is None:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
            "spark.driver.host", "127.0.0.1"
        )
    options = _options_of_jvms(is_small=is_small, may_record=may_record)
    added = {name: f"{own} {settings.get(name, '')}".strip() for name, own in options.items()}
    builder = builder.config(map={**settings, **added})
    try:
        with quiet():
            session: SparkSession = builder.getOrCreate()
    except (Py4JError, PySparkException) as error:
        raise AnalysisError(
            f"Spark did not start on {master or LOCAL}: {jvm.reason(error)}"
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    # py4j logs the traceback of each call to a JVM that has ended, which Python would print.
    logging.getLogger().addHandler(logging.NullHandler())
    # PySpark prints each statement that fails; `analysis.verdict.judge` records it.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    for_few_rows(session)
    return session


def _options_of_jvms(*, is_small: bool, may_record: bool) -> dict[str, str]:
    """The options of the driver's JVM, and of executors, whose memory is set apart from these.

    Executors are JVMs of their own on a cluster only, where they have long to run.
    """
    log4j2 = f"-Dlog4j2.configurationFile={_LOG4J2}"
    class_data = shlex.join(flags(may_record=may_record))
    of_driver = f"{_START_SOON if is_small else _RUN_LONG} {log4j2} {class_data}"
    return dict(zip(OPTIONS_OF_JVMS, (of_driver, _RUN_LONG), strict=True))


def is_jvm_alive() -> bool:
    """Whether Spark's JVM still runs; True of one that this process did not start."""
    process = jvm.process()
    return process is None or process.poll() is None


def jvm_ended() -> AnalysisError:
    """The error that says how Spark's JVM ended."""
    process = jvm.process()
    status = "unknown" if process is None else process.poll()
    return AnalysisError(
        f"Spark's JVM ended with status {status} during the analysis (killed, or out of "
        "memory?). The run is kept: judge it again with `fencepost analyze`"
    )


def require_jvm() -> None:
    """Check that Spark's JVM still runs.

    Raises:
        AnalysisError: it has ended, so what its checks answered last is no verdict.
    """
    if not is_jvm_alive():
        raise jvm_ended()


def close_session(session: SparkSession) -> None:
    """End a session; one whose JVM has ended has nothing left to end."""
    with suppress(Py4JError, OSError):
        session.stop()

"""Spark: a context, which judges runs in its tasks, and its session for SQL where one is needed."""

import logging
import os
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import psutil
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis.engine import class_data, jvm
from analysis.engine.quiet import quiet
from analysis.engine.settings import OPTIONS_OF_DRIVER, PYTHON
from contract.errors import AnalysisError, StorageError
from contract.locks import TEMPORARY, HeldFolder, end_programs_of_unheld, remove_unheld
from contract.processes import require_master, require_spark_home

LOCAL = "local[*,3]"
"""Every core of this machine; a task may fail twice (`analysis.tasks`)."""
_LOG4J2 = (Path(__file__).resolve().parent / "conf" / "log4j2.properties").as_uri()
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_PYTHON = "PYSPARK_PYTHON"
_TEMPORARY = f"{TEMPORARY}spark-"
_ROOM_BYTES = 4 << 20
"""A multiple of what Spark was seen to write."""
_FILES_OF_JVM = "-Djava.io.tmpdir="
_START_SOON = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_OF_SPARK = {
    "spark.app.name": "fencepost",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}


def open_spark(
    master: str | None = None, *, settings: Mapping[str, str] = _NO_SETTINGS
) -> SparkContext:
    """Spark on this machine, or on a master given as Spark's `--master` is.

    Its JVM prints nothing, as progress is shown meanwhile.

    Args:
        master: None for this machine.
        settings: of the user (`analysis.engine.settings`); they replace those here, except that
            options of JVMs are added.

    Raises:
        PrerequisiteError: SPARK_HOME names no Spark, or nothing listens where the master is to be.
        StorageError: its temporary files can't be written.
        AnalysisError: Spark does not start with that.
    """
    require_spark_home()
    require_master(master)
    temporary = _writable_folder()
    python = settings.get(PYTHON) or os.environ.get(_PYTHON) or sys.executable
    os.environ[_PYTHON] = python if master else sys.executable
    files = shlex.quote(f"{_FILES_OF_JVM}{temporary}")
    options = [_START_SOON, *class_data.flags(), f"-Dlog4j2.configurationFile={_LOG4J2}", files]
    options += filter(None, [settings.get(OPTIONS_OF_DRIVER)])
    conf = SparkConf().setMaster(master or LOCAL)
    # Otherwise a folder in the current one.
    conf.set("spark.sql.warehouse.dir", (temporary / "warehouse").as_uri())
    if master is None:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        conf.set("spark.driver.bindAddress", "127.0.0.1").set("spark.driver.host", "127.0.0.1")
    conf.setAll([*{**_OF_SPARK, **settings, OPTIONS_OF_DRIVER: " ".join(options)}.items()])
    try:
        with quiet(), _temporary_files_in(temporary):
            spark = SparkContext(conf=conf)
        spark.setLogLevel("ERROR")
    except (Py4JError, PySparkException, OSError) as error:
        if jvm.process() is not None and not is_jvm_alive():
            raise jvm_ended() from error
        raise AnalysisError(
            f"Spark did not start on {master or LOCAL}: {jvm.reason(error)}"
        ) from error
    _print_no_lost_connection()
    # py4j logs the traceback of each call to a JVM that has ended, which Python would print.
    logging.getLogger().addHandler(logging.NullHandler())
    # PySpark prints each statement that fails; `analysis.verdict.judge` records it.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return spark


def sql_session() -> SparkSession:
    """The session of the Spark that runs: only what asks in SQL opens it, which takes seconds."""
    session: SparkSession = SparkSession.builder.getOrCreate()
    return session


_held: list[HeldFolder] = []
"""Of this process, until it ends."""


def folder_of_temporary_files() -> Path:
    """The folder of Spark's temporary files; what killed ones left is removed."""
    if not _held:
        # A JVM that was starting when its analysis was killed would stay without its folder.
        end_programs_of_unheld(Path(tempfile.gettempdir()), _TEMPORARY)
        remove_unheld(Path(tempfile.gettempdir()), _TEMPORARY)
        _held.append(HeldFolder(Path(tempfile.gettempdir()), _TEMPORARY))
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _end_without_files)
    return _held[0].path


def _writable_folder() -> Path:
    """The folder of Spark's temporary files, with room for those that its JVM starts with.

    PySpark waits for a file of the JVM, which would go on without it.

    Raises:
        StorageError: they can't be written.
    """
    try:
        folder = folder_of_temporary_files()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ROOM_BYTES))
    except OSError as error:
        where = tempfile.tempdir or "the folder of temporary files"
        raise StorageError(
            f"{where} can't be written ({error.strerror}), and Spark needs {_ROOM_BYTES >> 20} MiB "
            "there: free some space there, or set TMPDIR to another folder"
        ) from error
    return folder


def _end_without_files(number: int, _frame: object) -> None:
    """End by the signal, as Ctrl-C ends an analysis, after the temporary files are removed."""
    end_programs()
    for held in _held:
        held.remove()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def end_programs(kept: Collection[int] = ()) -> None:
    """End all programs that this process started, such as Spark's JVM while it starts.

    A JVM ends with its standard input only once it has written where it listens.

    Args:
        kept: the ids of processes that go on.
    """
    for child in psutil.Process().children(recursive=True):
        if child.pid not in kept:
            with suppress(psutil.NoSuchProcess):
                child.kill()


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let PySpark have its files there while it starts the JVM."""
    usual = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = usual


def _print_no_lost_connection() -> None:
    """Let PySpark's servers of accumulators print no traceback when the JVM that they serve ends.

    That it ended is reported. Nothing here has accumulators.
    """
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = lambda *_: None  # type: ignore[method-assign]


def is_jvm_alive() -> bool:
    """Whether Spark's JVM still runs; True of one that this process did not start."""
    process = jvm.process()
    return process is None or process.poll() is None


def jvm_ended() -> AnalysisError:
    """The error that says how Spark's JVM ended."""
    process = jvm.process()
    status = "unknown" if process is None else process.poll()
    return AnalysisError(
        f"Spark's JVM ended with status {status} during the analysis (killed, or out of memory?)"
    )


def end_jvm(seconds: float) -> None:
    """Let the JVM of a closed Spark end, and wait for it.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
    """
    process = jvm.process()
    if process is not None and process.stdin is not None:
        process.stdin.close()
        process.wait(seconds)


def close_spark(spark: SparkContext) -> None:
    """End Spark; one whose JVM has ended has nothing left to end."""
    with suppress(Py4JError, OSError):
        spark.stop()

"""Opens Spark within a limit, and says in one line why that fails.

PySpark waits for its JVM without a limit, and what the JVM prints when it does not start has many
lines.
"""

import io
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from types import FrameType, MappingProxyType

import psutil
from pyspark import SparkContext

from analysis.engine import session
from contract.errors import AnalysisError, PrerequisiteError

OPEN_SECONDS = 300
"""Spark opens within seconds; on a machine with much else to do, within a minute."""
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_SAFE = {"spark.executorEnv.PYTHONSAFEPATH": "1"}
"""Executors' workers import nothing from the folder that they are started in."""
_SAYS_WHY = (
    re.compile(r"(?:Caused by: )?[\w.]+\.\w*(?:Exception|Error): "),
    re.compile(r"(?:Invalid|Unrecognized|Unsupported|Improperly|Conflicting|Initial|Too) "),
    re.compile("Error: "),
)
"""How lines of a JVM begin that say why it did not start; the first kind found is reported."""


class _TooLateError(Exception):
    """Spark did not open in time."""


def open_spark(
    master: str | None = None, *, settings: Mapping[str, str] = _NO_SETTINGS
) -> SparkContext:
    """Spark, as `analysis.engine.session` opens it.

    Raises:
        AnalysisError: Spark does not start with that; in one line.
        PrerequisiteError: Java does not start it in time.
        StorageError: its temporary files can't be written.
    """
    said = io.StringIO()
    try:
        with redirect_stderr(said), _limit_time(OPEN_SECONDS):
            return session.open_spark(master, settings={**_SAFE, **settings})
    except _TooLateError:
        why = _why(said.getvalue())
        raise PrerequisiteError(
            f"Java did not start Spark within {OPEN_SECONDS} s{f' ({why})' if why else ''}: does "
            "`java -version` end, is it the Java that is meant (JAVA_HOME, PATH), and has the "
            "folder of temporary files (TMPDIR) room?"
        ) from None
    except AnalysisError as error:
        why = _why(said.getvalue())
        raise AnalysisError(f"{error}{f' ({why})' if why else ''}") from error


def _why(said: str) -> str:
    """The line of a JVM's output that names the reason; empty if none does."""
    lines = [line.strip() for line in said.splitlines()]
    reported = (line for begin in _SAYS_WHY for line in lines if begin.match(line))
    return next(reported, "")


@contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    """End the block if it takes too long, and the programs that it started.

    Raises:
        _TooLateError: it took too long. Only the main thread can be ended so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLateError

    before = {child.pid for child in psutil.Process().children(recursive=True)}
    usual = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TooLateError:
        session.end_programs(kept=before)
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)

"""The analysis before it is asked: Spark is ready when the runs are (docs/decisions/0019)."""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark import SparkContext

from analysis.engine.session import end_programs
from analysis.opening import open_spark
from contract.packages import python

EARLY = "--early"
"""Given in place of folders of runs: a folder's name is read from standard input."""
_LATER = 10
_AUTOGROUP = Path("/proc/self/autogroup")
"""Where Linux shares the CPU between sessions first, the niceness of this one."""


def ready_for_folder() -> tuple[SparkContext, list[Path | str]]:
    """Open Spark and a worker of it; then wait for a folder, a JSON string in one line.

    This process ends, and prints nothing, if standard input closes before. It starts again, as the
    analysis of that folder, if Spark could not be opened.
    """
    asked: Future[Path] = Future()
    threading.Thread(target=_read, args=(asked, lower_priority()), daemon=True).start()
    spark: SparkContext | None = None
    with suppress(Exception):
        with _silence_programs():
            spark = open_spark()
        from analysis.tasks import warm_up  # noqa: PLC0415 - while Spark's JVM starts

        warm_up(spark)
    folder = asked.result()
    if spark is None:
        options = [argument for argument in sys.argv[1:] if argument != EARLY]
        os.execv(sys.executable, python("analysis.__main__", *options, "--", str(folder)))  # noqa: S606
    return spark, [folder]


def _read(folder: "Future[Path]", restore_priority: Callable[[], None]) -> None:
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        end_programs()
        os._exit(0)
    restore_priority()
    folder.set_result(Path(json.loads(line)))


@contextmanager
def _silence_programs() -> Iterator[None]:
    """Programs that are started meanwhile print nothing, as long as they run."""
    kept = [(stream, os.dup(stream)) for stream in (1, 2)]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream, _ in kept:
            os.dup2(null, stream)
        yield
    finally:
        for stream, copy in kept:
            os.dup2(copy, stream)
            os.close(copy)
        os.close(null)


def lower_priority() -> Callable[[], None]:
    """Let other sessions' processes go first; returns the call that ends that.

    It is for a process with a session of its own, with all that it starts. What this user could not
    undo is left out.
    """
    usual = os.getpriority(os.PRIO_PGRP, 0)
    with suppress(OSError):
        _AUTOGROUP.write_text(str(_LATER))
    with suppress(PermissionError):
        # Only who may go above the usual priority may come back to it.
        os.setpriority(os.PRIO_PGRP, 0, usual - 1)
        os.setpriority(os.PRIO_PGRP, 0, usual + _LATER)

    def restore() -> None:
        with suppress(OSError):
            _AUTOGROUP.write_text("0")
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PGRP, 0, usual)

    return restore

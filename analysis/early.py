"""The analysis before it is asked: Spark is ready when the runs are (docs/decisions/0019)."""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from analysis.engine.frames import Frame
from analysis.engine.session import open_session
from analysis.engine.spark import SMALL_INPUT_ROWS, SparkEngine
from analysis.facts.load import count_rows
from analysis.facts.trace import Trace
from analysis.verdict.judge import judge
from contract.errors import RunFolderError
from contract.run_folder import GENERATED, NO_KAFKA, Plan, RunDescription, find_runs
from contract.tables import TABLES

STDIN = Path("-")
"""Given as a folder of runs: the folder's name is read from standard input."""
_LATER = 10
_AUTOGROUP = Path("/proc/self/autogroup")
"""Where Linux shares the CPU between sessions first, the niceness of this one."""


def ready_for_folder() -> tuple[SparkSession, Path]:
    """Open Spark and warm it up; then wait for a folder, a JSON string in one line.

    This process ends, and prints nothing, if standard input closes before. It starts again, as the
    analysis of that folder, if Spark could not be opened, or if it was opened for fewer rows.
    """
    asked: Future[Path] = Future()
    threading.Thread(target=_read, args=(asked, lower_priority()), daemon=True).start()
    spark: SparkSession | None = None
    with suppress(Exception):
        with _silenced():
            spark = open_session(may_record=True)
        judge(trace_without_rows(Rehearsal(spark, asked.done)))
    folder = asked.result()
    if spark is None or not _is_small(folder):
        arguments = [str(folder) if one == str(STDIN) else one for one in sys.argv[1:]]
        os.execv(sys.executable, [sys.executable, "-m", "analysis", *arguments])  # noqa: S606
    return spark, folder


def _is_small(folder: Path) -> bool:
    try:
        runs = find_runs(folder)
    except RunFolderError:
        return True  # There is nothing to judge, which is reported.
    return all(sum(count_rows(run).values()) <= SMALL_INPUT_ROWS for run in runs)


def _read(folder: "Future[Path]", restore_priority: Callable[[], None]) -> None:
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        os._exit(0)
    restore_priority()
    folder.set_result(Path(json.loads(line)))


@contextmanager
def _silenced() -> Iterator[None]:
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


class Rehearsal(SparkEngine):
    """Runs statements until it is enough; then each of the others fails at once."""

    def __init__(self, session: SparkSession, is_enough: Callable[[], bool]) -> None:
        """`is_enough` is asked before each statement."""
        super().__init__(session)
        self._is_enough = is_enough

    def rows_of(self, frame: Frame, inlined: frozenset[int]) -> pa.Table:
        """As of any engine.

        Raises:
            CancelledError: it is enough.
        """
        self._require_more()
        return super().rows_of(frame, inlined)

    def table(self, content: pa.Table) -> Frame:
        """As of any engine, but as if it had rows, so that no statement is left out.

        Raises:
            CancelledError: it is enough.
        """
        self._require_more()
        return replace(super().table(content), is_empty=False)

    def _require_more(self) -> None:
        if self._is_enough():
            raise CancelledError


def trace_without_rows(engine: SparkEngine) -> Trace:
    """A trace that lacks no table, so that each check runs its statements.

    To judge it lets Spark load and compile the classes that judging needs.
    """
    plan = Plan(
        scenario="", question="", parameters={}, topics=[], groups=[], must_judge=[], expects=[]
    )
    run = RunDescription(
        run_id="",
        scenario="",
        seed=0,
        kafka=NO_KAFKA,
        cluster=GENERATED,
        clients={},
        git_head="",
        versions={},
        config={},
        command="",
        rerun="",
        started_micros=0,
    )
    # A check whose tables count no rows runs none.
    rows = dict.fromkeys(TABLES, 1)
    return Trace(engine, plan, run, lambda name: engine.table(TABLES[name].empty_table()), rows)


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

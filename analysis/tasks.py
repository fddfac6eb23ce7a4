"""Runs as Spark tasks: each is judged in a task of its own, by DuckDB, and comes back as rows.

See docs/decisions/0035.
"""

import os
import re
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

import msgspec
from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext, TaskContext
from pyspark.errors import PySparkException

from analysis.engine import jvm
from analysis.engine.executors import Watch
from analysis.engine.hadoop import LITERAL
from analysis.engine.session import is_jvm_alive, jvm_ended, sql_session
from analysis.judging import forget_report, judge_folder, withdrawn
from analysis.report.night_rows import Judged
from analysis.runs.load import load_on_duckdb, memory_here
from analysis.runs.remote import RemoteFolder
from analysis.runs.source import table_files
from analysis.statements.trace import Trace
from contract.errors import AnalysisError, FencepostError
from contract.files import as_word, replace_file, replacing
from contract.locks import HeldFolder, remove_unheld
from contract.run_folder import RunFolder
from contract.verdicts import Verdict

ROWS_OF_A_TASK = 40_000_000
"""Of the tables of a run that a task judges: ranges of records, and other rows.

As many as were measured (docs/decisions/0064).
"""
_FEW_ROWS = 1_000_000
"""Statements over so few cost planning: a second thread adds a fifteenth to the CPU time."""
_VERDICT, _ERROR, _REPORT = "verdict", "error", "report/"
_PIECE_BYTES = 4 << 20
_JUDGED_AT_MOST = 2
"""Attempts of a task that judge. What ended its worker twice would end it again."""
_COPIES = "fencepost-run-"
_LOOK_SECONDS = 0.3
_PACKAGES = ("analysis", "contract", "duckdb", "fencepost", "msgspec", "pyarrow", "sqlglot")
"""Of the packages that a task imports, those whose absence says that it lacks Fencepost."""

_NO_INTERPRETER = re.compile(
    r'Cannot run program "([^"]+)"[^:\n]*: (?:error=\d+, |Exec failed, error: \d+ )?\(?([^\n)]+)'
)
"""What a JVM says of a program that it can't start, and why."""


class _Error(msgspec.Struct, frozen=True):
    message: str
    exit_code: int


class File(NamedTuple):
    """A row that a task is given: a run, and of one at a URI a file of it.

    Attributes:
        run: its number.
        uri: of the file; empty for a run of this machine, of which a task gets one row.
        name: its path below the run's folder.
        content: all of it.
    """

    run: int
    uri: str = ""
    name: str = ""
    content: bytes = b""


class Piece(NamedTuple):
    """A row that a task returns.

    Attributes:
        run: its number.
        name: `verdict` or `error`, or the path of a file of its report.
        content: of these the JSON, of a file a piece.
    """

    run: int
    name: str
    content: bytes


@dataclass(frozen=True)
class Due:
    """A run that is to be judged.

    Attributes:
        folder: the run's, or the local one with its descriptions.
        remote: where its files are, if elsewhere.
    """

    folder: RunFolder
    remote: RemoteFolder | None


@dataclass(frozen=True)
class Share:
    """What a task may use of its machine.

    Attributes:
        at_once: tasks on the machine at the same time; 0: as many as it has cores.
    """

    at_once: int

    def of_this_machine(self) -> tuple[int, int]:
        """Threads, and bytes of memory: half of what is free, divided by the tasks.

        `spark.executor.pyspark.memory` limits the address space of the worker instead.
        """
        cores = cores_here()
        at_once = self.at_once or cores
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        free = memory_here() if limit == resource.RLIM_INFINITY else limit * at_once
        return max(1, cores // at_once), free // 2 // at_once


def cores_here() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def judge_in_tasks(
    spark: SparkContext,
    runs: Sequence[Due],
    *,
    at_once: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
    on_wait: Callable[[str], None] = lambda _: None,
) -> list[Judged]:
    """Judge runs, each in a task; what ends one of them leaves the others their verdicts.

    Args:
        spark: as many runs are judged at a time as its executors have cores.
        runs: at a path that executors have too, or at a URI.
        at_once: of `Share`.
        on_progress: called with the number of runs that are done.
        on_wait: called with what all tasks wait for.

    Raises:
        AnalysisError: the executors can't judge any run, or none can start.
    """
    # Not as rows: a path may be no text in UTF-8.
    places = [str(run.folder.path.absolute()) for run in runs]
    judged = files_of(spark, runs).mapPartitions(partial(judged_pieces, Share(at_once), places))
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(judged.collect)
        try:
            _await(spark, asked, on_progress, on_wait)
        except BaseException:
            _cancel(spark, asked)
            raise
    try:
        found = _by_run(asked.result())
    except (PySparkException, Py4JError, OSError) as error:
        if not is_jvm_alive():
            raise jvm_ended() from error
        raise AnalysisError(_reason(error)) from error
    return [_judged_of(run, found.get(index, {})) for index, run in enumerate(runs)]


def warm_up(spark: SparkContext) -> None:
    """Let a Python worker start and import what judging needs; it stays for the first run."""
    spark.parallelize([0], 1).mapPartitions(_pass).collect()


def _pass(rows: Iterable[int]) -> Iterable[int]:
    return rows


def files_of(spark: SparkContext, runs: Sequence[Due]) -> RDD[File]:
    """What tasks are given, a partition for each run: of a run at a URI a row for each file."""
    here = [File(at) for at, run in enumerate(runs) if run.remote is None]
    parts = [spark.parallelize(here, len(here))] if here else []
    for at, run in enumerate(runs):
        if run.remote is not None:
            uri = run.remote.with_uri(str(run.folder.path))
            files = sql_session().read.format("binaryFile")
            found = files.options(**LITERAL, recursiveFileLookup=True).load(uri)
            names = f"substring(path, {len(uri) + 2})"
            found = found.where(f"{names} not like '{_REPORT}%'").coalesce(1)
            rows = found.selectExpr(f"{at} as run", "path", f"{names} as name", "content")
            parts.append(rows.rdd.map(_as_file))
    return parts[0] if len(parts) == 1 else spark.union(parts)


def _as_file(row: tuple[int, str, str, bytearray]) -> File:
    return File(*row[:-1], bytes(row[-1]))


def judged_pieces(share: Share, places: Sequence[str], rows: Iterator[File]) -> Iterator[Piece]:
    """In a task: judge the run of its rows, of which each has a place."""
    first = next(rows, None)
    if first is None:
        return
    if not first.uri:
        # A worker that has not read the end of its rows ends, and the next one imports all again.
        list(rows)
    run, place = first.run, places[first.run]
    uri = first.uri.removesuffix(f"/{first.name}")
    task = TaskContext.get()
    if task is not None and task.attemptNumber() >= _JUDGED_AT_MOST:
        if not first.uri:
            forget_report(RunFolder(Path(place)))
        yield Piece(run, _ERROR, _encode(_worker_ended(uri or place)))
        return
    if not first.uri:
        yield _result(run, judge_here(share, RunFolder(Path(place))))
        return
    remove_unheld(Path(gettempdir()), _COPIES)
    copies = HeldFolder(Path(gettempdir()), _COPIES)
    try:
        folder = RunFolder(copies.path / uri.rpartition("/")[2])
        _copy(folder.path, first)
        for row in rows:
            _copy(folder.path, row)
        judged = judge_here(share, folder)
        error = judged.error and judged.error.replace(str(folder.path), uri)
        yield _result(run, replace(judged, error=error))
        yield from _report(run, folder.report)
    finally:
        copies.remove()


def judge_here(share: Share, folder: RunFolder) -> Judged:
    """Judge a run in this process; one that is too large for a task is not judged."""
    threads, memory = share.of_this_machine()
    rows = rows_of(folder)

    def load(spill: Path) -> Trace:
        if rows > ROWS_OF_A_TASK:
            raise AnalysisError(_too_large(rows))
        few = rows <= _FEW_ROWS
        return load_on_duckdb(folder, spill, threads=1 if few else threads, memory=memory)

    where = "in a task of Spark" if TaskContext.get() else "in a process of its own"
    return judge_folder(folder, load, why=f"{rows:,} rows of tables, {where}")


def rows_of(folder: RunFolder) -> int:
    """The rows of all tables of a run; 0 where they can't be read, which judging it reports."""
    try:
        folder.require_own()
        return sum(table_files(folder).rows.values())
    except FencepostError:
        return 0


def _too_large(rows: int) -> str:
    return (
        f"its tables have {rows:,} rows, more than the {ROWS_OF_A_TASK:,} that a task judges: run "
        "the scenario for a shorter time, or with fewer records (fencepost docs limits)"
    )


def _copy(folder: Path, of: File) -> None:
    file = folder / of.name
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as copy:
        copy.write(of.content)


def _result(run: int, judged: Judged) -> Piece:
    if judged.verdict is None:
        return Piece(run, _ERROR, _encode(_Error(judged.error or "", judged.exit_code)))
    return Piece(run, _VERDICT, _encode(judged.verdict))


def _report(run: int, report: Path) -> Iterator[Piece]:
    """The files of a report, in pieces."""
    if not report.is_dir():
        return
    for file in sorted(report.iterdir()):
        with file.open("rb") as content:
            while piece := content.read(_PIECE_BYTES):
                yield Piece(run, f"{_REPORT}{file.name}", piece)


def _encode(content: msgspec.Struct) -> bytes:
    return msgspec.json.encode(content)


def _worker_ended(run: str) -> _Error:
    return _Error(
        f"the Python worker that judged this run ended {_JUDGED_AT_MOST} times (killed, or out of "
        "memory?). The run is kept: judge it again, with more memory, with: fencepost analyze "
        f"{as_word(run)}",
        AnalysisError.exit_code,
    )


def _await(
    spark: SparkContext,
    job: "Future[list[Piece]]",
    on_progress: Callable[[int], None],
    on_wait: Callable[[str], None],
) -> None:
    """Wait for the end of the only job.

    Raises:
        AnalysisError: no worker can have an executor.
    """
    tracker, reported = spark.statusTracker(), 0
    watch = Watch(spark, on_wait)
    while not wait([job], timeout=_LOOK_SECONDS).done:
        with suppress(Py4JError, OSError):
            infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            stages = [stage for stage in infos if stage is not None]
            done = sum(stage.numCompletedTasks for stage in stages)
            if done > reported:
                on_progress(done)
                reported = done
            watch.look(sum(stage.numActiveTasks for stage in stages) if stages else None)


def _cancel(spark: SparkContext, job: "Future[list[Piece]]") -> None:
    while not wait([job], timeout=_LOOK_SECONDS).done:
        with suppress(Py4JError, OSError):
            spark.cancelAllJobs()


def _by_run(pieces: Iterable[Piece]) -> dict[int, dict[str, bytes]]:
    """By run and name; the pieces of a file are joined."""
    found: dict[int, dict[str, list[bytes]]] = {}
    for run, name, content in pieces:
        found.setdefault(run, {}).setdefault(name, []).append(content)
    return {
        run: {name: b"".join(parts) for name, parts in files.items()}
        for run, files in found.items()
    }


def _judged_of(run: Due, found: dict[str, bytes]) -> Judged:
    if _VERDICT not in found:
        error = msgspec.json.decode(found[_ERROR], type=_Error)
        judged = Judged(run.folder, None, error.message, error.exit_code)
        return judged if run.remote is None else withdrawn(judged, run.remote)
    verdict = msgspec.json.decode(found[_VERDICT], type=Verdict)
    judged = Judged(run.folder, verdict)
    return judged if run.remote is None else _publish(run.remote, judged, found)


def _publish(remote: RemoteFolder, judged: Judged, found: dict[str, bytes]) -> Judged:
    """Write a report at its URI."""
    report = judged.folder.report
    report.mkdir(exist_ok=True)
    for name, content in found.items():
        if name.startswith(_REPORT):
            replace_file(report / name.removeprefix(_REPORT), content)
    try:
        remote.publish(report)
    except FencepostError as error:
        return Judged(judged.folder, None, str(error), error.exit_code)
    return judged


def _reason(error: BaseException) -> str:
    """Why executors judged nothing, in a sentence."""
    text = str(error)
    for package in _PACKAGES:
        if f"No module named '{package}" in text:
            return (
                f"Spark's executors have no Python package {package}. Give them Fencepost: install "
                "it there, or send a packed environment (fencepost docs clusters)"
            )
    if interpreter := _NO_INTERPRETER.search(text):
        path, why = interpreter.groups()
        return (
            f"Spark's executors have no Python interpreter {path} ({why}). Install one with "
            "Fencepost there, name theirs with --conf spark.pyspark.python=..., or send a packed "
            "environment (fencepost docs clusters)"
        )
    return f"Spark could not run the tasks that judge: {jvm.reason(error)}"

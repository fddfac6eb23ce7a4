"""Runs as Spark tasks: each is judged in a task of its own, by DuckDB, and comes back as rows.

See docs/decisions/0035.
"""

import os
import re
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from tempfile import gettempdir

import msgspec
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from analysis.engine import jvm
from analysis.engine.executors import Watch
from analysis.engine.scratch import LITERAL
from analysis.engine.session import is_jvm_alive, jvm_ended
from analysis.judging import forget_report, judge_folder, withdrawn
from analysis.report.night_rows import Judged
from analysis.runs.load import load_on_duckdb, memory_here
from analysis.runs.remote import RemoteFolder
from analysis.runs.source import table_files
from contract.errors import AnalysisError, FencepostError
from contract.locks import HeldFolder, remove_unheld
from contract.run_folder import RunFolder
from contract.verdicts import Engine, Verdict

ROWS_OF_A_TASK = 20_000_000
"""Of the tables of a run that a task judges: ranges of records, and other rows.

These take 10 GB; with less memory DuckDB spills (docs/decisions/0035).
"""
_RESULTS = "run int, name string, content binary"
"""Rows of a task: run, then `verdict` or `error` with its JSON, or a piece of a report's file."""
_VERDICT, _ERROR, _REPORT = "verdict", "error", "report/"
_PIECE_BYTES = 4 << 20
_JUDGED_AT_MOST = 2
"""Attempts of a task that judge. What ended its worker twice would end it again."""
_COPIES = "fencepost-run-"
_LOOK_SECONDS = 0.3
_PARALLELISM = "spark.sql.leafNodeDefaultParallelism"
_PACKAGES = ("analysis", "contract", "duckdb", "fencepost", "msgspec", "pyarrow", "sqlglot")
"""Of the packages that a task imports, those whose absence says that it lacks Fencepost."""

_NO_INTERPRETER = re.compile(
    r'Cannot run program "([^"]+)"[^:\n]*: (?:error=\d+, |Exec failed, error: \d+ )?\(?([^\n)]+)'
)
"""What a JVM says of a program that it can't start, and why."""


class _Error(msgspec.Struct, frozen=True):
    message: str
    exit_code: int


@dataclass(frozen=True)
class Due:
    """A run that is to be judged.

    Attributes:
        folder: the run's, or the local one with its descriptions.
        remote: where its files are, if elsewhere.
        rows: of its tables.
        engine: that judges it.
        why: this engine, in words.
    """

    folder: RunFolder
    remote: RemoteFolder | None
    rows: int
    engine: Engine
    why: str


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


def rows_of(folder: RunFolder, remote: RemoteFolder | None = None) -> int:
    """The rows of all tables of a run; 0 where they can't be read, which judging it reports."""
    try:
        folder.require_own()
        files = table_files(folder, None if remote is None else remote.run(folder))
    except FencepostError:
        return 0
    return sum(files.rows.values())


def judge_in_tasks(
    spark: SparkSession,
    runs: Sequence[Due],
    *,
    at_once: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
    on_wait: Callable[[str], None] = lambda _: None,
) -> list[Judged]:
    """Judge runs, each in a task; what ends one of them leaves the others their verdicts.

    Args:
        spark: the session; as many runs are judged at a time as its executors have cores.
        runs: at a path that executors have too, or at a URI.
        at_once: of `Share`.
        on_progress: called with the number of runs that are done.
        on_wait: called with what all tasks wait for.

    Raises:
        AnalysisError: the executors can't judge any run, or none can start.
    """
    # Not as rows: a path may be no text in UTF-8.
    places = [(str(run.folder.path.absolute()), run.why) for run in runs]
    judge = partial(judged_rows, Share(at_once), places)
    rows = as_frame(spark, runs).mapInArrow(judge, _RESULTS)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(rows.toArrow)
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
    return [_judged(run, found.get(index, {})) for index, run in enumerate(runs)]


def warm_up(spark: SparkSession) -> None:
    """Let a Python worker start and import what judging needs; it stays for the first run."""
    spark.range(1, numPartitions=1).mapInArrow(_pass, "id long").toArrow()


def _pass(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def as_frame(spark: SparkSession, runs: Sequence[Due]) -> DataFrame:
    """(run, path, name, content), a partition for each run.

    Of a run at a URI, one row a file: its URI, its path below the run's, and its content. Of a
    local one, one row with its number only.
    """
    here = [at for at, run in enumerate(runs) if run.remote is None]
    frames = []
    if here:
        spark.conf.set(_PARALLELISM, str(len(here)))
        frames.append(
            spark.createDataFrame(pa.table({"run": here})).selectExpr(
                "cast(run as int) as run",
                "cast(null as string) as path",
                "cast(null as string) as name",
                "cast(null as binary) as content",
            )
        )
    for at, run in enumerate(runs):
        if run.remote is not None:
            uri = run.remote.shown(str(run.folder.path))
            files = spark.read.format("binaryFile").options(**LITERAL, recursiveFileLookup=True)
            frames.append(
                files.load(uri)
                .coalesce(1)
                .selectExpr(
                    f"cast({at} as int) as run",
                    "path",
                    f"substring(path, {len(uri) + 2}) as name",
                    "content",
                )
                .where(f"name not like '{_REPORT}%'")
            )
    return reduce(DataFrame.unionAll, frames)


def judged_rows(
    share: Share, places: Sequence[tuple[str, str]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """In a task: judge the run of its rows. Reads all of them, or Spark would end the worker.

    `places`: the folder of each run, and why it is judged in a task.
    """
    rows = (row for batch in batches for row in batch.to_pylist())
    first = next(rows, None)
    if first is None:
        return
    if first["name"] is None:
        list(rows)
    run, (place, why) = first["run"], places[first["run"]]
    task = TaskContext.get()
    if task is not None and task.attemptNumber() >= _JUDGED_AT_MOST:
        if first["name"] is None:
            forget_report(RunFolder(Path(place)))
        yield _row(run, _ERROR, _encoded(_worker_ended()))
        return
    if first["name"] is None:
        yield from _result(run, judge_here(share, RunFolder(Path(place)), why))
        return
    uri = first["path"].removesuffix(f"/{first['name']}")
    remove_unheld(Path(gettempdir()), _COPIES)
    copies = HeldFolder(Path(gettempdir()), _COPIES)
    try:
        folder = RunFolder(copies.path / uri.rpartition("/")[2])
        _copy(folder.path, first)
        for row in rows:
            _copy(folder.path, row)
        judged = judge_here(share, folder, why)
        error = judged.error and judged.error.replace(str(folder.path), uri)
        yield from _result(run, replace(judged, error=error))
        yield from _report(run, folder.report)
    finally:
        copies.remove()


def judge_here(share: Share, folder: RunFolder, why: str) -> Judged:
    """Judge a run in this process, by DuckDB; `why` so, in words."""
    threads, memory = share.of_this_machine()
    return judge_folder(
        folder,
        lambda spill: load_on_duckdb(folder, spill, threads=threads, memory=memory),
        engine=Engine.DUCKDB,
        why=why,
    )


def _copy(folder: Path, row: Mapping[str, bytes]) -> None:
    file = folder / str(row["name"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(row["content"])


def _result(run: int, judged: Judged) -> Iterator[pa.RecordBatch]:
    if judged.verdict is None:
        yield _row(run, _ERROR, _encoded(_Error(judged.error or "", judged.exit_code)))
    else:
        yield _row(run, _VERDICT, _encoded(judged.verdict))


def _report(run: int, report: Path) -> Iterator[pa.RecordBatch]:
    """The files of a report, in pieces."""
    if not report.is_dir():
        return
    for file in sorted(report.iterdir()):
        with file.open("rb") as content:
            while piece := content.read(_PIECE_BYTES):
                yield _row(run, f"{_REPORT}{file.name}", piece)


def _row(run: int, name: str, content: bytes) -> pa.RecordBatch:
    columns = {
        "run": pa.array([run], pa.int32()),
        "name": [name],
        "content": pa.array([content], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _encoded(content: msgspec.Struct) -> bytes:
    return msgspec.json.encode(content)


def _worker_ended() -> _Error:
    return _Error(
        f"the Python worker that judged this run ended {_JUDGED_AT_MOST} times (killed, or out of "
        "memory?). The run is kept: judge it again with `fencepost analyze --engine sql`, or with "
        "more memory",
        AnalysisError.exit_code,
    )


def _await(
    spark: SparkSession,
    job: "Future[pa.Table]",
    on_progress: Callable[[int], None],
    on_wait: Callable[[str], None],
) -> None:
    """Wait for the end of the only job of a session.

    Raises:
        AnalysisError: no worker can have an executor.
    """
    tracker, reported = spark.sparkContext.statusTracker(), 0
    watch = Watch(spark.sparkContext, on_wait)
    while not wait([job], timeout=_LOOK_SECONDS).done:
        with suppress(Py4JError, OSError):
            infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            stages = [stage for stage in infos if stage is not None]
            done = sum(stage.numCompletedTasks for stage in stages)
            if done > reported:
                on_progress(done)
                reported = done
            watch.look(sum(stage.numActiveTasks for stage in stages) if stages else None)


def _cancel(spark: SparkSession, job: "Future[pa.Table]") -> None:
    while not wait([job], timeout=_LOOK_SECONDS).done:
        with suppress(Py4JError, OSError):
            spark.sparkContext.cancelAllJobs()


def _by_run(rows: pa.Table) -> dict[int, dict[str, bytes]]:
    """By run and name; the pieces of a file are joined."""
    found: dict[int, dict[str, bytes]] = {}
    for row in rows.to_pylist():
        files = found.setdefault(row["run"], {})
        files[row["name"]] = files.get(row["name"], b"") + row["content"]
    return found


def _judged(run: Due, found: Mapping[str, bytes]) -> Judged:
    if _VERDICT not in found:
        error = msgspec.json.decode(found[_ERROR], type=_Error)
        judged = Judged(run.folder, None, error.message, error.exit_code)
        return judged if run.remote is None else withdrawn(judged, run.remote)
    verdict = msgspec.json.decode(found[_VERDICT], type=Verdict)
    judged = Judged(run.folder, verdict)
    return judged if run.remote is None else _published(run.remote, judged, found)


def _published(remote: RemoteFolder, judged: Judged, found: Mapping[str, bytes]) -> Judged:
    """Write a report at its URI."""
    report = judged.folder.report
    report.mkdir(exist_ok=True)
    for name, content in found.items():
        if name.startswith(_REPORT):
            (report / name.removeprefix(_REPORT)).write_bytes(content)
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
                "it there, or send a packed environment (docs/clusters.md)"
            )
    if interpreter := _NO_INTERPRETER.search(text):
        path, why = interpreter.groups()
        return (
            f"Spark's executors have no Python interpreter {path} ({why}). Install one with "
            "Fencepost there, name theirs with --conf spark.pyspark.python=..., or send a packed "
            "environment (docs/clusters.md)"
        )
    return f"Spark could not run the tasks that judge: {jvm.reason(error)}"

"""The store: all findings and verdicts of judged runs, as Parquet by night and scenario.

It is partitioned by `night` (or session), `scenario` and `run`, on any file system of Hadoop. Spark
writes it. A run that is judged again replaces its own rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.engine import jvm
from analysis.engine.scratch import LITERAL, in_full
from analysis.report.night_rows import Judged
from contract.errors import AnalysisError
from contract.findings import FINDINGS, FINDINGS_FILE
from contract.locks import alone_in
from contract.nights import home_of
from contract.regular_files import open_regular, printable, storage_error
from contract.run_folder import STORE_FOLDER
from contract.uris import place

_KEYS = ("night", "scenario", "run")
_RUNS = pa.schema(
    [
        ("at_run", pa.int32()),
        *((name, pa.string()) for name in _KEYS),
        ("run_id", pa.string()),
        ("seed", pa.int64()),
        ("kafka", pa.string()),
        ("build", pa.string()),
        ("cluster", pa.string()),
        ("started_micros", pa.int64()),
        ("ended_micros", pa.int64()),
        ("run_verdict", pa.string()),
        ("engine", pa.string()),
        ("judging_seconds", pa.float64()),
        ("verdict_json", pa.string()),
    ]
)
"""`at_run` is left out of the store; `verdict_json` is the run's own row's."""


def write_store(
    spark: SparkSession, judged: Sequence[tuple[Judged, str]], store: str | None
) -> None:
    """Write a row for each run, whose `check` is null, and one for each finding.

    Args:
        spark: the session.
        judged: runs with a verdict, and the folder or URI of each.
        store: its folder or URI; None: that of the results folder that a run is in, if it has one.

    Raises:
        FencepostError: it can't be written.
    """
    by_store: dict[str, list[tuple[Judged, str]]] = {}
    for one, where in judged:
        if (home := store or _store_of(where)) is not None:
            by_store.setdefault(home, []).append((one, where))
    for home, runs in by_store.items():
        folder = place(home)
        try:
            with _alone_in(folder):
                _write(spark, runs, in_full(folder))
        except (PySparkException, Py4JError, OSError) as error:
            raise storage_error(error, Path(home)) or AnalysisError(
                f"the store {home} can't be written: {jvm.reason(error)}"
            ) from error


def _write(spark: SparkSession, runs: Sequence[tuple[Judged, str]], home: str) -> None:
    rows = [_row(at, one, where) for at, (one, where) in enumerate(runs)]
    of_runs = spark.createDataFrame(pa.Table.from_pylist(rows, schema=_RUNS))
    found = _findings(spark, [where for _, where in runs])
    of_findings = found.join(of_runs.drop("verdict_json"), "at_run")
    stored = of_runs.unionByName(of_findings, allowMissingColumns=True).drop("at_run")
    writer = stored.coalesce(1).write.option("partitionOverwriteMode", "dynamic")
    writer.mode("overwrite").partitionBy(*_KEYS).parquet(home)


@contextmanager
def _alone_in(store: Path | str) -> Iterator[None]:
    """Let other analyses of this machine wait; no other file system has such locks."""
    if isinstance(store, str):
        yield
        return
    store.mkdir(parents=True, exist_ok=True)
    with alone_in(store):
        yield


def _findings(spark: SparkSession, places: Sequence[str]) -> DataFrame:
    """The rows of the runs' files of findings, with `at_run`."""
    return reduce(
        DataFrame.unionAll,
        [
            _findings_of(spark, place(where)).selectExpr("*", f"{at} as at_run")
            for at, where in enumerate(places)
        ],
    )


def _findings_of(spark: SparkSession, run: Path | str) -> DataFrame:
    if isinstance(run, Path) and str(run) != printable(str(run)):
        # Java has no such name of a file.
        with open_regular(run / "report" / FINDINGS_FILE) as content:
            return spark.createDataFrame(pq.read_table(content, schema=FINDINGS))
    schema = from_arrow_schema(FINDINGS)
    file = f"{in_full(run)}/report/{FINDINGS_FILE}"
    return spark.read.options(**LITERAL).schema(schema).parquet(file)


def _store_of(where: str) -> str | None:
    """The store of the results folder that a local run is in."""
    path = place(where)
    if isinstance(path, str):
        return None
    stores = (above / STORE_FOLDER for above in path.resolve().parents)
    return next((str(one) for one in stores if one.is_dir() and not one.is_symlink()), None)


def _row(at: int, one: Judged, where: str) -> dict[str, object]:
    verdict, run = one.verdict, one.folder.run()
    if verdict is None:
        raise ValueError(f"{where} has no verdict")
    judging = verdict.judging
    return {
        "at_run": at,
        **dict(zip(_KEYS, _keys(verdict.scenario, where), strict=True)),
        "run_id": verdict.run_id,
        "seed": verdict.seed,
        "kafka": verdict.kafka,
        "build": verdict.build,
        "cluster": verdict.cluster,
        "started_micros": run.started_micros,
        "ended_micros": run.ended_micros,
        "run_verdict": str(verdict.verdict),
        "engine": None if judging is None else str(judging.engine),
        "judging_seconds": None if judging is None else judging.seconds,
        "verdict_json": msgspec.json.encode(verdict).decode(),
    }


def _keys(scenario: str, where: str) -> tuple[str, str, str]:
    """Night, scenario and run: by the night, else the session, else the folder above."""
    path = place(where)
    if isinstance(path, Path):
        path = path.resolve()
        if (home := home_of(path)) is not None:
            return printable(home.name), scenario, printable(str(path.relative_to(home)))
    above, _, name = printable(str(path)).rstrip("/").rpartition("/")
    return above.rpartition("/")[2], scenario, name

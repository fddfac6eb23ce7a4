"""The store: all findings and verdicts of judged runs, as Parquet by night and scenario.

It is partitioned by `night` (or session), `scenario` and `run`, on any file system of Hadoop. Spark
writes it. A run that is judged again replaces its own rows.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
from contract.nights import home_of, lasting_parameters, read_night
from contract.regular_files import open_regular, printable, read_file, storage_error
from contract.run_folder import STORE_FOLDER, RunFolder
from contract.uris import place
from contract.verdicts import CheckVerdict

_KEYS = ("night", "scenario", "run")
_KEY_BYTES_MAX = 200
"""A key and its value are the name of a folder, of which a file system takes 255 bytes."""
_PLAN, _PLAN_FILE = "plan", "random.json"
"""The parameter that names the file of a plan, and the plan in the run's folder."""
_CAME_TO = (CheckVerdict.HOLDS, CheckVerdict.PERMITTED, CheckVerdict.VIOLATED)
_RESUMED = pa.struct([("client", pa.string()), ("redelivered", pa.int64())])
_UNEXPECTED = pa.struct([("check", pa.string()), ("group", pa.string())])
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
        ("suite", pa.string()),
        ("expect", pa.string()),
        ("parameters", pa.string()),
        ("plan", pa.string()),
        ("clients", pa.list_(pa.string())),
        ("judged", pa.list_(pa.string())),
        ("resumed", pa.list_(_RESUMED)),
        ("unexpected", pa.list_(_UNEXPECTED)),
        ("verdict_json", pa.string()),
    ]
)
"""`at_run` and `unexpected` are left out of the store.

suite, expect: of the night's entry; null of a run of no night.
parameters: those that say what was done, as JSON.
plan: the hash of the random plan that the run was given; empty where it drew one, or has none.
clients: of its groups.
judged: the checks that came to a verdict on it.
resumed: for each resumption the client, and the records that were delivered again.
"""
_OF_RUN = ("clients", "judged", "resumed", "unexpected", "verdict_json")
"""Columns that rows of findings do not have."""
_IS_UNEXPECTED = (
    "verdict = 'violation' and "
    "exists(unexpected, one -> one.check = check and one.`group` <=> `group`)"
)
STORED = pa.schema(
    [
        *(one for one in _RUNS if one.name not in ("at_run", "unexpected")),
        *FINDINGS,
        ("is_unexpected", pa.bool_()),
    ]
)
"""The columns of the store; rows of earlier releases lack some."""


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
        if (home := store or store_of(where)) is not None:
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
    of_findings = found.join(of_runs, "at_run")
    of_findings = of_findings.selectExpr("*", f"{_IS_UNEXPECTED} as is_unexpected").drop(*_OF_RUN)
    stored = of_runs.unionByName(of_findings, allowMissingColumns=True)
    stored = stored.drop("at_run", "unexpected")
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


def store_of(where: str) -> str | None:
    """The store of the results folder that a local run or night is in; None without one."""
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
    night = _planned(where)
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
        "suite": None if night is None else night[0],
        "expect": None if night is None else night[1],
        "parameters": _what_was_done(verdict.parameters),
        "plan": _given_plan(one.folder, verdict.parameters),
        "clients": sorted({client for plan in one.folder.plan().groups for client in plan.clients}),
        "judged": [name for name, result in verdict.checks.items() if result.verdict in _CAME_TO],
        "resumed": [
            {"client": row.client, "redelivered": row.redelivered} for row in verdict.resumption
        ],
        "unexpected": [{"check": row.check, "group": row.group} for row in verdict.unexpected],
        "verdict_json": msgspec.json.encode(verdict).decode(),
    }


def _what_was_done(parameters: Mapping[str, Any]) -> str:
    given = lasting_parameters(parameters)
    given.pop(_PLAN, None)
    return json.dumps(given, sort_keys=True)


def _given_plan(run: RunFolder, parameters: Mapping[str, Any]) -> str:
    file = run.path / _PLAN_FILE
    if not parameters.get(_PLAN) or not file.is_file():
        return ""
    return hashlib.sha256(read_file(file)).hexdigest()


def night_of(path: Path) -> str:
    """The name of a local night in the store."""
    return printable(path.resolve().name)


def _planned(where: str) -> tuple[str, str] | None:
    """The suite of the night that a local run is in, and the verdict that it expects."""
    path = place(where)
    if not isinstance(path, Path):
        return None
    home = home_of(path)
    night = None if home is None else read_night(home)
    if home is None or night is None:
        return None
    above = path.resolve().parents
    mine = (run for run in night.runs if run.folder and (home / run.folder).resolve() in above)
    return next(((night.suite, str(run.expect)) for run in mine), None)


def _keys(scenario: str, where: str) -> tuple[str, ...]:
    """Night, scenario and run, each as the name of a folder can have it."""
    return tuple(_shortened(key) for key in _place_of(scenario, where))


def _shortened(key: str) -> str:
    """Spark escapes a key in the name of its folder (`ExternalCatalogUtils.escapePathName`)."""
    escaped = quote(key, safe=" ,@")
    if len(escaped) <= _KEY_BYTES_MAX:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{escaped[: _KEY_BYTES_MAX // 2].replace('%', '-')}-{digest[:12]}"


def _place_of(scenario: str, where: str) -> tuple[str, str, str]:
    """Night, scenario and run: by the night, else the session, else the folder above."""
    path = place(where)
    if isinstance(path, Path):
        path = path.resolve()
        if (home := home_of(path)) is not None:
            return night_of(home), scenario, printable(str(path.relative_to(home)))
    above, _, name = printable(str(path)).rstrip("/").rpartition("/")
    return above.rpartition("/")[2], scenario, name

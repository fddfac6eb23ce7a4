"""The store: all findings and verdicts of judged runs, as Parquet by night and scenario.

It is partitioned by `night` (or session), `scenario` and `run`, on any file system of Hadoop. Spark
reads it, and writes it at a URI. A run that is judged again replaces its own rows.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from analysis.engine import jvm
from analysis.engine.session import sql_session
from analysis.report.night_rows import Judged
from contract.errors import AnalysisError
from contract.files import open_regular, place, printable, read_file, replace_file, storage_error
from contract.locks import alone_in
from contract.nights import home_of, lasting_parameters, read_night
from contract.run_folder import STORE_FOLDER, RunFolder
from contract.verdicts import FINDINGS, FINDINGS_FILE, CheckVerdict

_KEYS = ("night", "scenario", "run")
_KEY_BYTES_MAX = 200
"""A key and its value are the name of a folder, of which a file system takes 255 bytes."""
_PLAN, _PLAN_FILE = "plan", "random.json"
"""The parameter that names the file of a plan, and the plan in the run's folder."""
_CAME_TO = (CheckVerdict.HOLDS, CheckVerdict.PERMITTED, CheckVerdict.VIOLATED)
_RESUMED = pa.struct([("client", pa.string()), ("redelivered", pa.int64())])
_OF_RUN = pa.schema(
    [
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
    ]
)
"""suite, expect: of the night's entry; null of a run of no night.
parameters: those that say what was done, as JSON.
plan: the hash of the random plan that the run was given; empty where it drew one, or has none.
"""
_OF_RUN_ALONE = pa.schema(
    [
        ("clients", pa.list_(pa.string())),
        ("judged", pa.list_(pa.string())),
        ("resumed", pa.list_(_RESUMED)),
        ("verdict_json", pa.string()),
    ]
)
"""Null in rows of findings.

clients: of its groups.
judged: the checks that came to a verdict on it.
resumed: for each resumption the client, and the records that were delivered again.
"""
STORED = pa.schema([*_OF_RUN, *_OF_RUN_ALONE, *FINDINGS, ("is_unexpected", pa.bool_())])
"""The columns of the store; rows of earlier releases lack some."""
_FILE = "rows.parquet"
_NO_NAME = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
"""What Spark escapes in the name of a partition's folder (`ExternalCatalogUtils`)."""


def write_store(judged: Sequence[tuple[Judged, str]], store: str | None) -> None:
    """Write a row for each run, whose `check` is null, and one for each finding.

    Spark runs if the store is at a URI.

    Args:
        judged: runs with a verdict, and the folder or URI of each.
        store: its folder or URI; None: that of the results folder that a run is in, if it has one.

    Raises:
        FencepostError: it can't be written.
    """
    by_store: dict[str, list[tuple[Judged, str]]] = {}
    for run, where in judged:
        if (home := store or store_of(where)) is not None:
            by_store.setdefault(home, []).append((run, where))
    for home, runs in by_store.items():
        folder = place(home)
        try:
            with _alone_in(folder):
                rows = (_rows(run, where) for run, where in runs)
                if isinstance(folder, Path):
                    for of_run in rows:
                        _write_here(of_run, folder)
                else:
                    _write_there(pa.concat_tables(rows), folder)
        except (PySparkException, Py4JError, pa.ArrowException, OSError) as error:
            raise storage_error(error, Path(home)) or AnalysisError(
                f"the store {home} can't be written: {jvm.reason(error)}"
            ) from error


def _write_here(rows: pa.Table, store: Path) -> None:
    """Write the rows of a run as Spark does, in place of those that its partition has."""
    keys = [rows[key][0].as_py() for key in _KEYS]
    names = [
        f"{key}={_NO_NAME.sub(_escape, value)}" for key, value in zip(_KEYS, keys, strict=True)
    ]
    partition = store.joinpath(*names)
    partition.mkdir(parents=True, exist_ok=True)
    content = pa.BufferOutputStream()
    pq.write_table(rows.drop_columns(list(_KEYS)), content)
    replace_file(partition / _FILE, content.getvalue())
    for earlier in partition.glob("*.parquet"):
        if earlier.name != _FILE:
            earlier.unlink()


def _escape(character: re.Match[str]) -> str:
    return f"%{ord(character[0]):02X}"


def _write_there(rows: pa.Table, store: str) -> None:
    writer = sql_session().createDataFrame(rows).coalesce(1).write
    writer = writer.option("partitionOverwriteMode", "dynamic").mode("overwrite")
    writer.partitionBy(*_KEYS).parquet(store)


@contextmanager
def _alone_in(store: Path | str) -> Iterator[None]:
    """Let other analyses of this machine wait; no other file system has such locks."""
    if isinstance(store, str):
        yield
        return
    store.mkdir(parents=True, exist_ok=True)
    with alone_in(store):
        yield


def store_of(where: str) -> str | None:
    """The store of the results folder that a local run or night is in; None without one."""
    path = place(where)
    if isinstance(path, str):
        return None
    stores = (above / STORE_FOLDER for above in path.resolve().parents)
    return next((str(store) for store in stores if store.is_dir() and not store.is_symlink()), None)


def _rows(judged: Judged, where: str) -> pa.Table:
    """The rows of a run: its own, and those of its findings."""
    verdict, run = judged.verdict, judged.folder.run()
    if verdict is None:
        raise ValueError(f"{where} has no verdict")
    judging = verdict.judging
    night = _suite_and_expectation(where)
    of_run = {
        **dict(zip(_KEYS, _keys(verdict.scenario, where), strict=True)),
        "run_id": verdict.run_id,
        "seed": verdict.seed,
        "kafka": verdict.kafka,
        "build": verdict.build,
        "cluster": verdict.cluster,
        "started_micros": run.started_micros,
        "ended_micros": run.ended_micros,
        "run_verdict": str(verdict.verdict),
        "engine": None if judging is None else judging.engine,
        "judging_seconds": None if judging is None else judging.seconds,
        "suite": None if night is None else night[0],
        "expect": None if night is None else night[1],
        "parameters": _what_was_done(verdict.parameters),
        "plan": _given_plan(judged.folder, verdict.parameters),
    }
    alone = {
        "clients": sorted(
            {client for plan in judged.folder.plan().groups for client in plan.clients}
        ),
        "judged": [name for name, result in verdict.checks.items() if result.verdict in _CAME_TO],
        "resumed": [
            {"client": row.client, "redelivered": row.redelivered} for row in verdict.resumption
        ],
        "verdict_json": msgspec.json.encode(verdict).decode(),
    }
    with open_regular(judged.folder.report / FINDINGS_FILE) as content:
        found = pq.read_table(content, schema=FINDINGS)
    unexpected = {("violation", row.check, row.group) for row in verdict.unexpected}
    kinds = zip(*(found[name].to_pylist() for name in ("verdict", "check", "group")), strict=True)
    columns = {
        name: pa.repeat(pa.scalar(of_run[name], _OF_RUN.field(name).type), found.num_rows)
        for name in _OF_RUN.names
    }
    columns |= {name: found[name] for name in FINDINGS.names}
    columns["is_unexpected"] = pa.array([kind in unexpected for kind in kinds], pa.bool_())
    findings = pa.table(columns)
    row = pa.Table.from_pylist([of_run | alone], schema=STORED)
    return pa.concat_tables([row, findings], promote_options="default").select(STORED.names)


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


def _suite_and_expectation(where: str) -> tuple[str, str] | None:
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
    return tuple(_shorten_key(key) for key in _place_of(scenario, where))


def _shorten_key(key: str) -> str:
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

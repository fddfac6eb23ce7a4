"""`fencepost` as a process of its own, and scenarios that are run without being judged."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from stage import TOLD

from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from contract.ranges import RECORDS, count_rows
from contract.run_folder import RunFolder
from contract.software import Build
from harness.invocation import Session
from harness.session.catalog import ScenarioFile
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root
from tests.made import make_struct
from tests.programs import ran_python

ROOT = Path(__file__).resolve().parents[2]
POOL = PoolKind.EMBEDDED if sandbox_problem() is None else PoolKind.LOOPBACK
"""The better one of those that this machine can do without Docker."""


def fencepost(*arguments: str, **env: str) -> "subprocess.Popen[str]":
    """Start it; standard error goes where standard output goes."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", **env},
    )


def run_to_end(*arguments: str, **env: str) -> tuple[int, str]:
    """Run it to its end; its exit status, and what it said."""
    process = fencepost(*arguments, **env)
    said, _ = process.communicate()
    return process.returncode, said


def facts_of(program: str, *arguments: object) -> Any:
    """What a program in this folder prints at last, as JSON."""
    folder = Path(__file__).parent
    paths = {"PYTHONPATH": f"{ROOT}:{folder}", "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    ended = ran_python(folder / program, *map(str, arguments), cwd=ROOT, env=paths)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def ran(
    scenario: ScenarioFile, results: Path, pool: PoolKind, *, build: Build | None = None
) -> Path:
    """Run a scenario to its end, and leave it unjudged; the session's folder."""
    session = make_struct(
        Session,
        seed=1,
        kafka="4.4.0" if build is None else build.kafka,
        build=build,
        cluster=pool,
        command="pytest",
        results=str(results),
    )
    with node_root(results) as root:
        ended = run_ducktape([scenario], session, results=results, root=root, on_phase=print)
    return ended.folder


@contextmanager
def telling(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a scenario tell the stories whose tests of this file are run, and no other."""
    items = [item for item in request.session.items if item.path == request.path]
    stories = [item.callspec.params["story"] for item in items if isinstance(item, pytest.Function)]
    with patch.dict(os.environ, {TOLD: json.dumps(stories)}):
        yield


def records_in(run: RunFolder) -> dict[str, int]:
    """The number of records in each table of records."""
    files = {name: run.tables / f"{name}.parquet" for name in RECORDS}
    return {name: count_rows(name, pq.read_table(path)) for name, path in files.items()}

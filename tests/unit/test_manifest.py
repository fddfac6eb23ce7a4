"""What changed in a run's folder since it was collected."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.nodes.pool import PoolKind
from contract.manifest import (
    DECODED_AGAIN,
    MANIFEST_FILE,
    TABLES_OF_HISTORIES,
    alterations,
    write_manifest,
)
from contract.run_folder import GENERATED, POOLS, RunFolder
from harness.decode.server_logs import TABLES_OF_SERVER_LOGS
from tests.descriptions import description_of

HISTORY = "history/clients.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path)
    run.write_run(description_of())
    for name in (
        "plan.json",
        HISTORY,
        "clients/clients.log",
        "brokers/1/server.log",
        "tables/polls.parquet",
        "tables/log_starts.parquet",
        "report/index.html",
        "segments/1/t-0/0.log",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    write_manifest(run)
    return run


def test_as_collected(folder: RunFolder) -> None:
    assert list(alterations(folder)) == []


@pytest.mark.parametrize("cluster", POOLS)
@pytest.mark.parametrize("ended_micros", [None, 2])
def test_a_run_of_ours_without_a_manifest_can_not_be_relied_on(
    folder: RunFolder, cluster: str, ended_micros: int | None
) -> None:
    folder.write_run(description_of(cluster=cluster, ended_micros=ended_micros))
    (folder.path / MANIFEST_FILE).unlink()
    (told,) = alterations(folder)
    assert told.startswith("manifest.json is missing: the run was not collected to its end, or its")


@pytest.mark.parametrize("cluster", [GENERATED, "elsewhere"])
def test_a_run_from_elsewhere_without_a_manifest_is_not_compared(
    folder: RunFolder, cluster: str
) -> None:
    folder.write_run(description_of(cluster=cluster))
    (folder.path / MANIFEST_FILE).unlink()
    (folder.path / HISTORY).unlink()
    assert list(alterations(folder)) == []


def test_our_runs_are_those_of_pools() -> None:
    assert set(POOLS) == {str(kind) for kind in PoolKind}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda path: (path / HISTORY).write_text("x"), f"{HISTORY} was changed after the run"),
        (lambda path: (path / HISTORY).unlink(), f"{HISTORY} is missing, though it was collected"),
        (
            lambda path: (path / "history" / "more.jsonl").touch(),
            "history/more.jsonl was added after the run",
        ),
        (
            lambda path: (path / "tables" / "log_starts.parquet").write_text("x"),
            "tables/log_starts.parquet was changed after the run",
        ),
        (lambda path: (path / MANIFEST_FILE).write_text("{"), "manifest.json is invalid"),
        (lambda path: (path / MANIFEST_FILE).write_text("{}"), "manifest.json is invalid"),
        (
            lambda path: (path / MANIFEST_FILE).write_text('{"files":{}}'),
            "manifest.json is invalid",
        ),
        (
            lambda path: (path / MANIFEST_FILE).write_text('{"schema":2,"files":{}}'),
            "manifest.json is invalid: {path}/manifest.json has schema 2, and this release knows",
        ),
    ],
)
def test_an_alteration_is_named(
    folder: RunFolder, change: Callable[[Path], object], expected: str
) -> None:
    change(folder.path)
    (found,) = alterations(folder)
    assert found.startswith(expected.format(path=folder.path))


@pytest.mark.parametrize(
    "name", ["report/index.html", "tables/polls.parquet", "segments/1/t-0/0.log"]
)
def test_what_the_analysis_writes_or_does_not_read_may_change(folder: RunFolder, name: str) -> None:
    (folder.path / name).write_text("new")
    assert list(alterations(folder)) == []


def test_the_tables_that_are_decoded_again_are_those_of_histories_and_logs() -> None:
    assert {*TABLES_OF_HISTORIES, "resets", "servers", *TABLES_OF_SERVER_LOGS} == DECODED_AGAIN

"""Runs as Spark tasks: each is judged by itself, wherever it is, whatever happens to another."""

import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext, TaskContext

from analysis import tasks
from analysis.runs import load
from analysis.tasks import Due, File, Piece, Share, judge_here, judge_in_tasks
from contract.errors import AnalysisError
from contract.run_folder import PLAN_FILE, STORE_FOLDER, RunFolder
from contract.verdicts import RunVerdict
from tests.programs import ran_python
from tests.traces import generated

pytestmark = [pytest.mark.spark, pytest.mark.extended]


def in_tasks(*folders: RunFolder) -> list[Due]:
    return [Due(folder, None) for folder in folders]


def test_each_run_is_a_partition(spark: SparkContext, tmp_path: Path) -> None:
    folders = [RunFolder(tmp_path / str(number)) for number in range(7)]
    given = tasks.files_of(spark, in_tasks(*folders)).glom().collect()
    assert given == [[File(at)] for at in range(7)]


def test_runs_come_back_in_their_order_and_one_that_is_damaged_stops_no_other(
    spark: SparkContext, tmp_path: Path
) -> None:
    folders = [generated(tmp_path / f"it's {number}", seed=number) for number in range(3)]
    (folders[1].path / "plan.json").write_text("{")
    judged = judge_in_tasks(spark, in_tasks(*folders))
    assert [run.folder for run in judged] == folders
    assert [run.exit_code for run in judged] == [0, 64, 0]
    assert f"{folders[1].path / 'plan.json'} is not a valid Plan" in str(judged[1].error)
    for run in (judged[0], judged[2]):
        assert run.verdict is not None
        assert run.verdict.verdict is RunVerdict.PASS
        assert run.verdict.judging is not None
        assert run.verdict.judging.engine == "DuckDB"
        assert run.verdict.judging.why.endswith(" rows of tables, in a task of Spark")
        kept = msgspec.json.decode((run.folder.report / "verdict.json").read_bytes())
        page = (run.folder.report / "index.html").read_text()
        assert kept["judging"]["engine"] == "DuckDB"
        assert f"DuckDB: {run.verdict.judging.why}" in page
        assert not list(run.folder.path.glob(".judging-*"))


def test_a_run_that_ends_its_worker_is_an_error_and_the_others_are_judged(
    spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = tasks.judged_pieces

    def kill_worker(share: Share, places: Sequence[str], rows: Iterator[File]) -> Iterator[Piece]:
        file = next(rows)
        task = TaskContext.get()
        if file.run == 1 and task is not None and task.attemptNumber() < 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return judge(share, places, iter([file]))

    monkeypatch.setattr(tasks, "judged_pieces", kill_worker)
    folders = [generated(tmp_path / str(number), seed=number) for number in range(3)]
    first, second, third = judge_in_tasks(spark, in_tasks(*folders))
    assert first.verdict is not None
    assert third.verdict is not None
    assert second.verdict is None
    assert second.exit_code == AnalysisError.exit_code
    assert "the Python worker that judged this run ended 2 times" in str(second.error)


def test_a_worker_judges_several_runs(tmp_path: Path) -> None:
    # Spark ends a worker that has not read the end of what its task was given.
    folder = generated(tmp_path)
    ended: list[bool] = []

    def rows() -> Iterator[File]:
        yield File(0)
        ended.append(True)

    (piece,) = tasks.judged_pieces(Share(1), [str(folder.path)], rows())
    assert (piece.name, ended) == ("verdict", [True])


def test_a_run_with_more_rows_than_a_task_judges_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = generated(tmp_path)
    monkeypatch.setattr(tasks, "ROWS_OF_A_TASK", 7)
    judged = judge_here(Share(1), folder)
    assert (judged.verdict, judged.exit_code) == (None, AnalysisError.exit_code)
    assert re.search(
        r"tables have [\d,]+ rows, more than the 7 that a task judges", judged.error or ""
    )


def test_a_share_is_a_part_of_the_machine() -> None:
    cores = tasks.cores_here()
    threads, memory = Share(at_once=cores).of_this_machine()
    all_threads, all_memory = Share(at_once=1).of_this_machine()
    assert (threads, all_threads) == (1, cores)
    assert 0 < memory < all_memory < tasks.memory_here()


def test_free_memory_is_that_of_the_tightest_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").write_text("4:memory:/other\n0::/pod/task\n")
    monkeypatch.setattr(load, "_GROUPS", tmp_path)
    monkeypatch.setattr(load, "_OWN_GROUP", tmp_path / "own")
    for group, limit in (("pod/task", "max"), ("pod", "9000"), (".", "20000")):
        folder = tmp_path / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("5000\n")
        (folder / "memory.stat").write_text("anon 4000\ninactive_file 1000\nactive_file 1\n")
    assert tasks.memory_here() == 5000


@pytest.mark.long
def test_executors_without_our_packages_are_named_in_a_sentence(tmp_path: Path) -> None:
    folder = generated(tmp_path / "run")
    bare = Path(sys.base_prefix) / "bin" / "python3"
    options = ("--master", "local[1]", "--conf", f"spark.pyspark.python={bare}")
    ended = ran_python("-m", "harness", "analyze", folder.path, *options)
    assert ended.returncode == 70, ended.stderr
    (said,) = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert re.search(r"Spark's executors have no Python package \w+", said)
    assert "fencepost docs clusters" in said
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "name",
    [pytest.param("run", marks=pytest.mark.long), "run " + "[ü]" * 50],
    ids=["short", "long"],
)
def test_the_store_has_a_row_of_each_run_and_finding_and_replaces_them(
    name: str, tmp_path: Path
) -> None:
    folder = generated(tmp_path / "night 1" / name)
    plan = folder.path / PLAN_FILE
    given = msgspec.json.decode(plan.read_bytes()) | {"parameters": {"coverage": "/of/a/night"}}
    plan.write_bytes(msgspec.json.encode(given))
    (tmp_path / STORE_FOLDER).mkdir()
    for _ in range(2):
        ended = ran_python("-m", "harness", "analyze", folder.path)
        assert ended.returncode == 0, ended.stderr
        (kept,) = (tmp_path / STORE_FOLDER).rglob("*.parquet")
        # As an earlier release left them.
        pq.write_table(pa.table({"run_id": ["earlier"]}), kept.with_name("part-0-a.parquet"))
    kept.with_name("part-0-a.parquet").unlink()
    rows = ds.dataset(tmp_path / STORE_FOLDER, partitioning="hive").to_table().to_pylist()
    verdict = msgspec.json.decode((folder.report / "verdict.json").read_bytes())
    findings = sum(result["findings"] for result in verdict["checks"].values())
    (of_run,) = [row for row in rows if row["check"] is None]
    assert len(rows) == 1 + findings
    assert (of_run["night"], of_run["scenario"]) == ("night 1", verdict["scenario"])
    assert (of_run["run_verdict"], of_run["engine"]) == ("pass", "DuckDB")
    assert (of_run["suite"], of_run["parameters"], of_run["plan"]) == (None, "{}", "")
    assert set(of_run["judged"]) < set(verdict["checks"])
    assert {row["is_unexpected"] for row in rows if row["check"] is not None} <= {False}

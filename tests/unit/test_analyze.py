"""`fencepost analyze` over a session whose runs are damaged, each in its own way."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil
import pytest

from contract.run_folder import NODES_FOLDER, RunDescription, RunFolder
from contract.waiting import wait_until
from tests.descriptions import description_of, plan_of
from tests.programs import ran_python

pytestmark = [pytest.mark.spark, pytest.mark.extended]

PLAN = plan_of(question="", must_judge=["lost_record"])
RUN = description_of(
    started_micros=1_790_000_000_000_000,
    ended_micros=1_790_000_001_000_000,
    jars={"tiny-1.0.jar": "5eed" * 16},
)
TOO_LONG_AGO = -(10**400)


def run_folder(path: Path, run: RunDescription = RUN) -> RunFolder:
    """A run without tables that an earlier analysis found to pass."""
    folder = RunFolder(path)
    folder.write_plan(PLAN)
    folder.write_run(run)
    folder.report.mkdir()
    for name in ("verdict.json", "index.html"):
        (folder.report / name).write_text("pass")
    return folder


def test_a_run_that_can_not_be_judged_stops_no_other_and_keeps_no_verdict(tmp_path: Path) -> None:
    undated = run_folder(tmp_path / "a", msgspec.structs.replace(RUN, started_micros=TOO_LONG_AGO))
    damaged = run_folder(tmp_path / "b")
    (damaged.path / "plan.json").write_text("{")
    empty = run_folder(tmp_path / "c")
    (tmp_path / NODES_FOLDER).mkdir()
    ended = ran_python("-m", "harness", "analyze", tmp_path)
    assert ended.returncode == 64, ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    for folder, file, kind in (
        (undated, "run.json", "RunDescription"),
        (damaged, "plan.json", "Plan"),
    ):
        refused = f"error: {folder.path}: {folder.path / file} is not a valid {kind}"
        assert refused in ended.stderr
        left = {path.name for path in folder.report.iterdir()}
        assert not left & {"verdict.json", "index.html"}
    page = (empty.report / "index.html").read_text()
    assert f"{'5eed' * 16}  tiny-1.0.jar" in page
    verdict = msgspec.json.decode((empty.report / "verdict.json").read_bytes())
    assert verdict["verdict"] == "undecided"
    summary = msgspec.json.decode((tmp_path / "report" / "summary.json").read_bytes())
    assert [row["verdict"] for row in summary["runs"]] == ["undecided"] * 3
    assert ["error" in row for row in summary["runs"]] == [True, True, False]


@pytest.mark.parametrize(
    ("options", "code", "reported"),
    [
        (["--master", "nonsense"], 64, "error: --master nonsense: expected local, "),
        (["--conf", "spark.driver.memory=1k"], 64, "error: --conf spark.driver.memory=1k: Spark"),
        (["--master", "k8s://https://127.0.0.1:1"], 70, "error: Spark did not start on k8s://"),
    ],
)
def test_a_spark_that_does_not_start_is_one_line(
    tmp_path: Path, options: list[str], code: int, reported: str
) -> None:
    folder = run_folder(tmp_path / "a")
    ended = ran_python("-m", "analysis", folder.path, *options)
    assert ended.returncode == code
    *_, line = ended.stderr.splitlines()
    assert line.startswith(reported)
    assert "Exception in thread" not in ended.stderr
    assert "\tat " not in ended.stderr


def early_analysis() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "analysis", "--early"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def processes_of(session: int) -> list[psutil.Process]:
    """The processes in a session, by its first one's id."""
    found = []
    for process in psutil.process_iter(["status"]):
        with suppress(ProcessLookupError):
            if process.info["status"] != psutil.STATUS_ZOMBIE and os.getsid(process.pid) == session:
                found.append(process)
    return found


def awaited_jvm(session: int) -> None:
    wait_until(
        lambda: any(process.name() == "java" for process in processes_of(session)),
        what="Spark's JVM",
        timeout_seconds=60,
    )


def test_an_early_analysis_judges_the_run_that_it_is_given_later(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a\nrun")
    process = early_analysis()
    awaited_jvm(process.pid)
    said, errors = process.communicate(json.dumps(str(folder.path)) + "\n", timeout=300)
    assert process.returncode == 2
    assert "WARN" not in errors
    assert "undecided s, seed 1" in said
    assert msgspec.json.decode((folder.report / "verdict.json").read_bytes())["run_id"] == "r"
    assert (folder.report / "index.html").read_text() != "pass"


def test_an_early_analysis_ends_with_its_standard_input() -> None:
    process = early_analysis()
    awaited_jvm(process.pid)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0
    # Also a JVM that has only begun, and has little of the CPU: it is lower in priority.
    wait_until(lambda: not processes_of(process.pid), what="the JVM's end", timeout_seconds=20)

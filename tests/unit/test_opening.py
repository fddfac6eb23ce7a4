"""Spark that does not open: its options are told in one line, and nothing stays behind."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from analysis import cli, opening
from analysis.engine import session
from contract.errors import AnalysisError, PrerequisiteError, UsageError
from contract.spark_options import is_local, require_options
from contract.verdicts import Engine

OF_JVM = """WARNING: Using incubator modules
Error: Could not create the Java Virtual Machine.
Error: A fatal exception has occurred. Program will exit.
Invalid initial heap size: -Xms-5g
"""
OF_SPARK = """Exception in thread "main"
org.apache.spark.SparkException: Could not parse Master URL: 'x'
\tat org.apache.spark.SparkContext$.createTaskScheduler(SparkContext.scala)
"""


@pytest.fixture
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def opens(monkeypatch: pytest.MonkeyPatch, how: Callable[[], Any]) -> None:
    monkeypatch.setattr(session, "open_session", lambda *_, **__: how())


@pytest.mark.parametrize(
    "master",
    [
        "nope",
        "",
        "local[-3]",
        "local[0]",
        "local[x]",
        "local[2",
        "spark://",
        "spark://a:b",
        "yarn ",
    ],
)
def test_a_master_of_another_form_is_named(master: str) -> None:
    with pytest.raises(UsageError, match=r"^--master "):
        require_options(master, [])


@pytest.mark.parametrize(
    "master",
    [
        None,
        "local",
        "local[2]",
        "local[*]",
        "local[*,3]",
        "local[2, 1]",
        "local-cluster[2,1,1024]",
        "spark://a:7077,b:7077",
        "yarn",
        "k8s://https://a:443",
    ],
)
def test_masters_of_spark_are_taken(master: str | None) -> None:
    require_options(master, ["spark.driver.memory=4g", "spark.executor.cores=2", "spark.x=-5g"])
    assert is_local(master) == (master is None or master.partition("[")[0] == "local")


@pytest.mark.parametrize(
    "setting",
    [
        "spark.driver.memory=-5g",
        "spark.executor.memory=0",
        "spark.executor.memoryOverhead=1 g",
        "spark.driver.memory=",
        "spark.executor.cores=abc",
        "spark.task.cpus=0",
        "spark.cores.max=-1",
    ],
)
def test_a_setting_of_another_form_is_named(setting: str) -> None:
    with pytest.raises(UsageError, match=f"^--conf {setting}: expected "):
        require_options("local[2]", ["spark.executor.memory=4g", setting])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (OF_JVM, "Invalid initial heap size: -Xms-5g"),
        (OF_SPARK, "org.apache.spark.SparkException: Could not parse Master URL: 'x'"),
        ("", ""),
    ],
)
def test_of_what_the_jvm_prints_one_line_is_told(
    said: str,
    why: str,
    own_temp: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails() -> None:
        sys.stderr.write(said)
        raise AnalysisError("Spark did not start on local")

    opens(monkeypatch, fails)
    with pytest.raises(AnalysisError) as told:
        opening.open_session()
    assert str(told.value) == f"Spark did not start on local{f' ({why})' if why else ''}"
    with pytest.raises(UsageError, match=r"^--conf spark\.a=b: Spark did not start"):
        cli.Asked(None, {"spark.a": "b"}).open([Engine.DUCKDB])
    with pytest.raises(AnalysisError):
        cli.Asked("spark://a:7077", {"spark.a": "b"}).open([Engine.DUCKDB])
    assert capfd.readouterr() == ("", "")
    assert list(own_temp.iterdir()) == []


def test_a_java_that_hangs_is_ended(own_temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[psutil.Process] = []

    def hangs() -> None:
        java = subprocess.Popen(["sh", "-c", "sleep 1000; true"])
        started.append(psutil.Process(java.pid))
        java.wait()

    opens(monkeypatch, hangs)
    monkeypatch.setattr(opening, "OPEN_SECONDS", 0.5)
    with pytest.raises(PrerequisiteError, match="Java did not start Spark within"):
        opening.open_session()
    assert not started[0].is_running() or started[0].status() == psutil.STATUS_ZOMBIE
    assert list(own_temp.iterdir()) == []

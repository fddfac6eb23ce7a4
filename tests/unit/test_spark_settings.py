"""Settings of Spark that a user gives."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.engine import session
from analysis.engine.session import _options_of_jvms, open_session
from analysis.engine.settings import OPTIONS_OF_JVMS, settings_of
from contract.errors import AnalysisError, UsageError
from contract.held import HeldFolder
from contract.verdicts import Engine


def test_a_value_may_hold_equals_signs_and_the_last_one_counts() -> None:
    given = ["spark.a=1", "spark.driver.extraJavaOptions=-Da=b -Dc=d", "spark.a= 2 ", "spark.e="]
    assert settings_of(given) == {
        "spark.a": "2",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
        "spark.e": "",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("spark.executor.memory", "expected KEY=VALUE"),
        ("=4g", "expected KEY=VALUE"),
        ("", "expected KEY=VALUE"),
        ("fs.s3a.endpoint=here", "--conf spark.hadoop.fs.s3a.endpoint=here"),
        ("spark.master=local", "use --master local"),
        ("spark.sql.session.timeZone=CET", "settings of SQL can't be given"),
    ],
)
def test_a_bad_setting_is_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings_of([given])


@pytest.mark.parametrize("engine", Engine)
def test_executors_are_told_no_size_of_their_heap(engine: Engine) -> None:
    """Their default is 1 GB, and a JVM with a smaller heap than it begins with does not start."""
    of_executors = _options_of_jvms(engine, Path("it's"))[OPTIONS_OF_JVMS[1]]
    assert "-Xm" not in of_executors


def test_a_jvm_that_refuses_its_first_call_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that was ended while it started."""

    def refused(_: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refused)
    with pytest.raises(AnalysisError, match=r"Spark did not start on .*Connection refused"):
        open_session()


def test_temporary_files_of_a_killed_analysis_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(session, "_held", [])
    killed = HeldFolder(tmp_path, "fencepost-spark-")
    (killed.path / "spark-1").mkdir()
    left = shutil.move(killed.path, tmp_path / "kept")
    killed.remove()
    shutil.move(left, killed.path)
    own = session.folder_of_temporary_files()
    assert session.folder_of_temporary_files() == own
    assert list(tmp_path.iterdir()) == [own]


def test_an_analysis_that_is_asked_to_end_removes_its_temporary_files(tmp_path: Path) -> None:
    program = (
        "import signal; from analysis.engine import session\n"
        "(session.folder_of_temporary_files() / 'spark-1').mkdir()\n"
        "signal.raise_signal(signal.SIGTERM)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert ended.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []

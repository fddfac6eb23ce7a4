"""The first analysis keeps the class data of Spark's JVM, and the next one maps it."""

import subprocess
import sys
from pathlib import Path

import pytest

from analysis.engine import class_data

PROGRAM = """\
import sys
from pathlib import Path
sys.prefix = sys.argv[1]
from rich.console import Console
from analysis.engine.class_data import keep
from analysis.engine.session import open_session
spark = open_session("local[1]", may_record=True)
spark.range(3).groupBy("id").count().collect()
pid = spark._jvm.java.lang.ProcessHandle.current().pid()
spark.stop()
keep(Console(width=200))
print(Path(f"/proc/{pid}/maps").read_text())
"""


def ran(prefix: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, prefix], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows what a JVM maps")
def test_the_first_analysis_records_and_the_second_maps(tmp_path: Path) -> None:
    first = ran(tmp_path)
    (archive,) = (tmp_path / "share" / "fencepost").glob("spark-*.jsa")
    assert first.startswith("recording Spark's class data, once")
    assert "dynamic" not in first.lower()
    assert str(archive) not in first
    second = ran(tmp_path)
    assert "recording" not in second
    assert str(archive) in second


def test_only_an_analysis_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert class_data.flags() == []
    assert "-XX:+RecordDynamicDumpInfo" in class_data.flags(may_record=True)


def test_a_jvm_with_folders_on_its_class_path_does_not_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would end when it is to write the archive."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").touch()
    assert class_data.flags(may_record=True) == []

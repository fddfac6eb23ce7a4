"""A SPARK_HOME that has no Spark is told before anything starts."""

from pathlib import Path

import pytest

from analysis.engine.session import open_session
from contract.errors import PrerequisiteError
from contract.spark_home import require_spark_home
from harness.commands.requirements import require_programs


@pytest.mark.parametrize("require", [require_programs, open_session])
@pytest.mark.parametrize("home", ["/nonexist", "", "a file", "a folder", "not executable"])
def test_a_spark_home_without_spark_is_told(
    require: object, home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(require)
    monkeypatch.chdir(tmp_path)
    Path("a file").touch()
    Path("a folder").mkdir()
    Path("not executable", "bin").mkdir(parents=True)
    Path("not executable", "bin", "spark-submit").touch(mode=0o644)
    monkeypatch.setenv("SPARK_HOME", home)
    with pytest.raises(PrerequisiteError, match=f"^SPARK_HOME={home} names no Spark .*unset it$"):
        require()


def test_a_spark_home_with_spark_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = tmp_path / "bin" / "spark-submit"
    launcher.parent.mkdir()
    launcher.touch(mode=0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    require_spark_home()
    monkeypatch.delenv("SPARK_HOME")
    require_spark_home()

"""No child of the program imports from the current folder, and one without a result is an error."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract.child import run_child
from contract.errors import AnalysisError
from contract.python import PACKAGES, environment, python

PARTS = ("analysis", "cluster", "contract", "harness", "scenarios", "simulator")
STARTS_PYTHON = re.compile(r'"-m"')
ONLY_HERE = {Path("contract/python.py")}
HOSTILE = "raise SystemExit(0)\n"
WHAT = "the child"
TELLS = "from contract.child import report_end; report_end(); raise SystemExit({})"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder whose modules end a program that imports them, with success."""
    names = ("random", "html", "queue", "typer", "pyspark", "contract", "analysis", "duckdb")
    for name in names:
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PRINTS = "import random, html, queue, contract, sys; print(sys.path, random.__file__)"


@pytest.mark.parametrize("given", ["", ".", ":", "/nowhere:", ".:/nowhere", "relative"])
def test_the_current_folder_is_not_imported(
    given: str, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", given)
    inner = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PRINTS!r}], check=True)"
    )
    for command in ([*python("json.tool")[:2], "-c", PRINTS], [sys.executable, "-c", inner]):
        ended = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        assert str(PACKAGES) in ended.stdout
        assert str(hostile) not in ended.stdout


def test_absolute_folders_of_a_pythonpath_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/opt/spark/python::.")
    assert environment()["PYTHONPATH"] == f"{PACKAGES}{os.pathsep}/opt/spark/python"
    assert environment({"PYTHONPATH": "x"})["PYTHONPATH"] == str(PACKAGES)


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "nowhere"],
        ["explain", "nowhere"],
        ["open", "page.html", "--standalone", "file.html"],
    ],
)
def test_a_command_ends_as_it_does_elsewhere(arguments: list[str], hostile: Path) -> None:
    (hostile / "page.html").write_text("<script src='other.js'></script>")
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "harness", *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 64, ended.stderr
    assert ended.stderr.startswith("error: ")


@pytest.mark.parametrize("status", [0, 1, 2, 64, 70])
def test_a_child_that_ends_without_its_result_is_an_error(status: int) -> None:
    with pytest.raises(AnalysisError, match=f"ended with status {status} and without a result"):
        run_child([sys.executable, "-c", f"raise SystemExit({status})"], what=WHAT)
    assert run_child([sys.executable, "-c", TELLS.format(status)], what=WHAT) == status


def test_a_child_that_was_killed_is_an_error() -> None:
    with pytest.raises(AnalysisError, match="killed by signal 9"):
        run_child([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], what=WHAT)


def test_the_end_of_a_childs_child_is_not_that_of_the_child() -> None:
    inner = "from contract.child import report_end; report_end()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    with pytest.raises(AnalysisError, match="without a result"):
        run_child([sys.executable, "-c", outer], what=WHAT)


def test_python_is_started_at_one_place() -> None:
    files = {file for part in PARTS for file in (PACKAGES / part).rglob("*.py")}
    found = {one.relative_to(PACKAGES) for one in files if STARTS_PYTHON.search(one.read_text())}
    assert found == ONLY_HERE

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from setup import FILES, PACKAGES, TOP, below
from tests.programs import ran, ran_python

pytestmark = pytest.mark.extended

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "raise SystemExit('a module of the user was imported')\n"
IMPORTS_ALL = """
import pkgutil, sys, fencepost
found = [one.name for one in pkgutil.walk_packages(fencepost.__path__, "fencepost.")]
for name in found:
    if not name.endswith(("__main__", ".linting")) and ".scenarios." not in name:
        __import__(name)
print(len(found), *sorted(sys.modules))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is installed of a wheel."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "setup.py", "--quiet", "build_py", f"--build-lib={folder}"]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """A folder of a user with packages of the same names as ours."""
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(HOSTILE)
    return tmp_path


def run(built: Path, users: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    own = {
        "PYTHONPATH": os.pathsep.join(map(str, (users, built))),
        "FENCEPOST_CACHE": str(users / "cache"),
    }
    return ran_python(*arguments, cwd=users, env=os.environ | own)


def test_a_wheel_has_one_package_and_every_file(built: Path) -> None:
    listed = ran("git", "ls-files", TOP, *PACKAGES, cwd=ROOT)
    names = [name.removeprefix(f"{TOP}/") for name in (*listed.stdout.split(), *FILES)]
    names = [name for name in names if not name.startswith("extras/conform/released/")]
    assert [path.name for path in built.iterdir()] == [TOP]
    assert [name for name in names if not (built / TOP / name).is_file()] == []


def test_no_module_imports_a_package_of_the_user(built: Path, users: Path) -> None:
    ended = run(built, users, "-P", "-c", IMPORTS_ALL)
    assert ended.returncode == 0, ended.stderr
    count, *imported = ended.stdout.split()
    assert int(count) > 200
    assert set(PACKAGES).isdisjoint(imported)


def test_a_string_that_names_a_module_names_it_in_the_wheel(built: Path) -> None:
    names = re.compile(rf"(?<![\w./]){TOP}\.(?:{'|'.join(PACKAGES)})(?:\.[a-z_]+)+")
    plain = re.compile(rf"(?<![\w./])(?:{'|'.join(PACKAGES)})(?:\.[a-z_]+)+")
    found = set()
    for path in (built / TOP).rglob("*.py"):
        tree = ast.parse(path.read_text())
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        for text in texts:
            if isinstance(text, str) and "\n" not in text and " " not in text:
                found |= set(names.findall(text))
                assert not plain.search(text), f"{path}: {text}"
    assert f"{TOP}.analysis.prepare" in found


def test_a_command_runs_beside_packages_of_the_user(built: Path, users: Path) -> None:
    ended = run(built, users, "-m", "fencepost", "analyze", "nowhere")
    assert (ended.returncode, ended.stdout) == (64, "")
    assert "nowhere" in ended.stderr


def test_what_is_made_later_is_in_the_cache_of_the_user(built: Path, users: Path) -> None:
    names = "FILE, path_of_lock('kafka-1.2.3'), path_of_lock('kafka-4.4.0')"
    program = (
        "from fencepost.analysis.engine.prepared import FILE\n"
        "from fencepost.cluster.kafka.lock import path_of_lock\n"
        f"print(*({names}))"
    )
    ended = run(built, users, "-P", "-c", program)
    assert ended.returncode == 0, ended.stderr
    prepared, own_lock, lock = map(Path, ended.stdout.split())
    assert (prepared.parent, own_lock.parent) == (users / "cache", users / "cache" / "locks")
    assert lock.parent == built / TOP / "cluster" / "kafka" / "locks"


def test_an_import_or_a_name_is_changed_and_nothing_else() -> None:
    source = (
        '"""Of contract.packages."""\n'
        "from contract import errors\n"
        "from contract.errors import UsageError\n"
        "from analysis_of import contract\n"
        "from . import cluster\n"
        "AGENT = python('cluster.nodes.agent')\n"
        "CLUSTER = 'cluster'\n"
        "MODULE = f'harness.clients.{name}_consumer'\n"
    )
    assert below(source).splitlines() == [
        '"""Of contract.packages."""',
        "from fencepost.contract import errors",
        "from fencepost.contract.errors import UsageError",
        "from analysis_of import contract",
        "from . import cluster",
        "AGENT = python('fencepost.cluster.nodes.agent')",
        "CLUSTER = 'cluster'",
        "MODULE = f'fencepost.harness.clients.{name}_consumer'",
    ]

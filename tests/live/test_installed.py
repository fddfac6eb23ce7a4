"""The wheel, installed: what commands do and leave in a folder with packages of a user."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import POOL, ROOT

from tests.programs import ran

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(900)]
HOSTILE = "raise SystemExit('a module of the user was imported')\n"
NAMES = ("contract", "simulator", "harness", "cluster", "analysis", "scenarios", "extras")
COMMANDS = [
    ["list"],
    ["doctor"],
    ["versions", "fetch", "4.4.0"],
    ["versions", "fetch", "kafka-python@3.0.8"],
    ["patch", "list"],
    ["docker", "compose"],
    ["generate", "results/made", "--events", "2000"],
    ["analyze", "results/made"],
    ["explain", "results/made"],
    ["run", "baseline", "--cluster", POOL.value],
    ["play", "start", "--cluster", POOL.value],
    ["play", "fault", "pause", "leader:orders-0", "--for", "1s"],
    ["play", "shell", "1", "python3", "-c", "print(1)"],
    ["clean"],
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the program `fencepost`."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-build-isolation", f"--wheel-dir={folder}"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    command = [sys.executable, "-m", "uv", "tool", "install", "--quiet", str(wheel)]
    subprocess.run(
        [*command, f"--python={sys.executable}"], env={**os.environ, **places}, check=True
    )
    return folder / "bin"


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a user with packages of the same names as ours."""
    folder = tmp_path_factory.mktemp("user")
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(HOSTILE)
    return folder


def run_command(programs: Path, users: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return ran(*command, cwd=users, env=os.environ | {"PATH": path, "PYTHONPATH": str(users)})


def test_all_commands_work_and_leave_results_only(programs: Path, users: Path) -> None:
    for command in COMMANDS:
        ended = run_command(programs, users, "fencepost", *command)
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        assert "make " not in ended.stdout + ended.stderr
        assert {path.name for path in users.iterdir()} <= {*NAMES, "results"}, command


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_a_patch_is_built(programs: Path, users: Path) -> None:
    ended = run_command(programs, users, "fencepost", "patch", "build", "option-3", "4.3.1")
    assert ended.returncode == 0, ended.stderr
    assert Path(ended.stdout.split()[0]).is_file()


def test_no_package_lacks_what_it_asks_for(programs: Path, users: Path) -> None:
    (python,) = programs.parent.glob("tools/*/bin/python")
    ended = run_command(programs, users, sys.executable, "-m", "uv", "pip", "check", f"-p{python}")
    assert ended.returncode == 0, ended.stderr

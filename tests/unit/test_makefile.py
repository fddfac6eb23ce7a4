"""What `make` hands to the shell: a path is one word, whatever is in it."""

import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ODD = "it's; an odd `name` & more"


def printed(target: str, *variables: str) -> str:
    command = ["make", "--dry-run", "--old-file", ".venv/.ready", target, *variables]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("target", "variable"),
    [
        ("demo", "RESULTS"),
        ("scenario", "RESULTS"),
        ("nightly", "RESULTS"),
        ("playground", "RESULTS"),
        ("reproduction", "RESULTS"),
        ("clean", "RESULTS"),
        ("report", "RUN"),
        ("lies", "RUNS"),
        ("docker-image", "BASE_IMAGE"),
    ],
)
def test_a_path_is_one_word(target: str, variable: str) -> None:
    said = printed(target, f"{variable}={ODD}")
    (first, *_) = [line for line in said.splitlines() if "odd" in line]
    words = shlex.split(first, comments=False)
    assert {ODD, f"{ODD};"} & set(words)


def collected(target: str) -> set[Path]:
    """The files of tests that a target runs."""
    words = [word for word in shlex.split(printed(target)) if word.startswith("tests/")]
    ignored = shlex.split(printed(target).partition("--ignore")[2])[:1]
    paths = [ROOT / word for word in words if word not in ignored]
    files = {
        file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])
    }
    return files - {ROOT / word for word in ignored}


def test_each_file_of_tests_is_run_by_one_target() -> None:
    quick, live = collected("test"), collected("test-live")
    assert quick & live == set()
    assert quick | live == set((ROOT / "tests").rglob("test_*.py"))

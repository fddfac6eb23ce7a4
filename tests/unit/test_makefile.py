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


EXTENDED = "extended"
Tests = set[tuple[Path, bool]]
"""Files, and whether it is their tests that are marked as extended."""


def with_marks(files: set[Path]) -> Tests:
    marked = {file for file in files if f"pytest.mark.{EXTENDED}" in file.read_text()}
    return {(file, False) for file in files} | {(file, True) for file in marked}


def collected(target: str) -> Tests:
    """What a target runs."""
    return {one for line in printed(target).splitlines() for one in of_line(line)}


def of_line(line: str) -> Tests:
    words, ignored = shlex.split(line), shlex.split(line.partition("--ignore")[2])[:1]
    named = {ROOT / word for word in words if word.startswith("tests/") and word not in ignored}
    files = {file for one in named for file in (one.rglob("test_*.py") if one.is_dir() else [one])}
    found = with_marks(files - {ROOT / word for word in ignored})
    if "-m" not in words:
        return found
    asked = words[words.index("-m") + 1]
    return {(file, is_extended) for file, is_extended in found if is_asked(asked, is_extended)}


def is_asked(expression: str, is_extended: bool) -> bool:  # noqa: FBT001 - of a pair
    return is_extended != expression.startswith(f"not {EXTENDED}")


def test_each_test_is_run_by_one_target() -> None:
    quick, live = collected("test"), collected("test-live")
    assert quick & live == set()
    assert quick | live == with_marks(set((ROOT / "tests").rglob("test_*.py")))

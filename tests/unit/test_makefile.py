"""What `make` hands to the shell: a path is one word, whatever is in it."""

import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ODD = "it's; an odd `name` & more"


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
    command = ["make", "--dry-run", "--old-file", ".venv/.ready", target, f"{variable}={ODD}"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (first, *_) = [line for line in printed.splitlines() if "odd" in line]
    words = shlex.split(first, comments=False)
    assert {ODD, f"{ODD};"} & set(words)

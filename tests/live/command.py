"""`fencepost` as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def fencepost(*arguments: str, **env: str) -> "subprocess.Popen[str]":
    """Start it; standard error goes where standard output goes."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", **env},
    )


def finished(*arguments: str, **env: str) -> tuple[int, str]:
    """Run it to its end; its exit status, and what it said."""
    process = fencepost(*arguments, **env)
    said, _ = process.communicate()
    return process.returncode, said

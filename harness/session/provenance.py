"""The conditions of a run, for its first lines and `run.json`."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("fencepost", "ducktape", "pyspark", "jpype1", "pyarrow")


def git_head() -> str:
    """Return the current commit, with `+changes` if files differ; `unknown` outside git."""
    head = _git("rev-parse", "HEAD")
    if head is None:
        return "unknown"
    return f"{head}+changes" if _git("status", "--porcelain") else head


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect a run."""
    found = {"python": platform.python_version(), "kernel": platform.release()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _git(*arguments: str) -> str | None:
    try:
        ended = subprocess.run(
            ["git", "-C", str(_ROOT), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None

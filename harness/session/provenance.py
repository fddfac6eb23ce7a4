"""Under which conditions a run takes place: what its first lines and `run.json` say."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("fencepost", "ducktape", "pyspark", "jpype1", "pyarrow")


def git_head() -> str:
    """The commit that runs, `+changes` behind it where files differ; `unknown` outside git."""
    head = _git("rev-parse", "HEAD")
    if head is None:
        return "unknown"
    return f"{head}+changes" if _git("status", "--porcelain") else head


def versions() -> dict[str, str]:
    """Python and the packages that decide how a run behaves."""
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

"""The conditions of a run, for its first lines and `run.json`."""

import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from contract.builds import Build
from harness.invocation import Session

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


def session_of(*, seed: int, kafka: str, cluster: str, build: Build | None = None) -> Session:
    """Return the settings of what this command runs, with the conditions under which it runs.

    Args:
        seed: of all random choices.
        kafka: the version of the servers.
        cluster: the pool of nodes.
        build: what runs; None: the release of that version.
    """
    return Session(
        seed=seed,
        kafka=kafka,
        build=build,
        cluster=cluster,
        command=shlex.join(sys.argv),
        git_head=git_head(),
        versions=versions(),
    )


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

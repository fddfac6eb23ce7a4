"""The settings of an invocation, for ducktape's process, and the conditions of its runs."""

import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import UsageError
from contract.packages import IS_INSTALLED
from contract.software import Build, Choice, released

GLOBALS_KEY = "fencepost"
_ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("fencepost", "ducktape", "pyspark", "jpype1", "pyarrow")


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one `fencepost run`, the same for all its scenarios.

    kafka: the version of the servers.
    build: what runs; None: the release of that version.
    named: how commands name each scenario.
    is_endless: a phase may take any time, as one of a playground does; none is taken for hung.
    """

    seed: int
    kafka: str
    cluster: str
    command: str
    git_head: str
    versions: dict[str, str]
    results: str = ""
    build: Build | None = None
    named: dict[str, str] = {}
    is_endless: bool = False

    @property
    def builds(self) -> Build:
        """What runs."""
        return released(self.kafka) if self.build is None else self.build

    def rerun(self, scenario: str, parameters: Mapping[str, Any]) -> str:
        """Return the command that repeats a scenario, by its name or path."""
        return rerun_command(
            scenario, parameters, cluster=self.cluster, choice=self.builds.choice, seed=self.seed
        )

    def as_globals(self) -> str:
        """Return the value of ducktape's `--globals`."""
        return msgspec.json.encode({GLOBALS_KEY: self}).decode()

    @classmethod
    def from_globals(cls, values: dict[str, Any]) -> "Session":
        """Read the settings from ducktape's globals.

        Raises:
            UsageError: ducktape was started by hand without them.
        """
        if GLOBALS_KEY not in values:
            raise UsageError(
                "the scenario got no session settings: start it with `fencepost run`, "
                "or hand ducktape the --globals that `fencepost run` prints"
            )
        return msgspec.convert(values[GLOBALS_KEY], cls)


def command_line() -> str:
    """Return the command of this process."""
    return shlex.join(sys.argv)


def rerun_command(
    scenario: str, parameters: Mapping[str, Any], *, cluster: str, choice: Choice, seed: int
) -> str:
    """Return the command line of a run; without parameters a scenario runs all that it declares."""
    words = ["fencepost", "run", scenario, "--cluster", cluster, *choice.words()]
    words += ["--seed", str(seed)]
    if parameters:
        words += ["--parameters", json.dumps(dict(parameters))]
    return shlex.join(words)


def git_head() -> str:
    """Return the commit of this code, with `+changes` if files differ; else `unknown`.

    An installation may be in a repository of its user.
    """
    head = None if IS_INSTALLED else _git("rev-parse", "HEAD")
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
    """Return the settings of what this command runs, with the conditions under which it runs."""
    return Session(
        seed=seed,
        kafka=kafka,
        build=build,
        cluster=cluster,
        command=command_line(),
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

"""The settings that an invocation passes to the scenarios in ducktape's process."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from contract.builds import Build, Choice, released
from contract.errors import UsageError

GLOBALS_KEY = "fencepost"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one `fencepost run`, the same for all its scenarios.

    kafka: the version of the servers.
    build: what runs; None: the release of that version.
    """

    seed: int
    kafka: str
    cluster: str
    command: str
    git_head: str
    versions: dict[str, str]
    results: str = ""
    build: Build | None = None

    @property
    def builds(self) -> Build:
        """What runs."""
        return released(self.kafka) if self.build is None else self.build

    def rerun(self, scenario: str, parameters: Mapping[str, Any]) -> str:
        """Return the command that repeats a scenario."""
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


def rerun_command(
    scenario: str, parameters: Mapping[str, Any], *, cluster: str, choice: Choice, seed: int
) -> str:
    """Return the command line of a run; without parameters a scenario runs all that it declares."""
    words = ["fencepost", "run", scenario, "--cluster", cluster, *choice.words()]
    words += ["--seed", str(seed)]
    if parameters:
        words += ["--parameters", json.dumps(dict(parameters))]
    return shlex.join(words)

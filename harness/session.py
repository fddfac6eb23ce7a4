"""What one invocation hands to the scenarios that ducktape runs in another process."""

from typing import Any

import msgspec

from harness.contract.errors import UsageError

GLOBALS_KEY = "fencepost"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one `fencepost run`, the same for all its scenarios."""

    seed: int
    kafka: str
    cluster: str
    command: str
    git_head: str
    versions: dict[str, str]
    results: str = ""

    def as_globals(self) -> str:
        """As the value of ducktape's `--globals`."""
        return msgspec.json.encode({GLOBALS_KEY: self}).decode()

    @classmethod
    def from_globals(cls, values: dict[str, Any]) -> "Session":
        """From ducktape's globals.

        Raises:
            UsageError: ducktape was started by hand without them.
        """
        if GLOBALS_KEY not in values:
            raise UsageError(
                "the scenario got no session settings: start it with `fencepost run`, "
                "or hand ducktape the --globals that `fencepost run` prints"
            )
        return msgspec.convert(values[GLOBALS_KEY], cls)

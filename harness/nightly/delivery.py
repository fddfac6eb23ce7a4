"""The command that reads the summary of a night once it is judged; it changes no verdict."""

import os
import signal
import subprocess
from pathlib import Path

from cluster.nodes.tether import tether_command
from contract.errors import UsageError
from contract.nights import SUMMARY_FILE

NIGHT = "FENCEPOST_NIGHT"
"""In the environment of the command: the folder of the night."""
SECONDS_MAX = 60
_ERROR_OF_SHELL = 2
_SHELL = ("sh", "-c")


def require_command(command: str) -> None:
    """Check that the shell can read a command, without running it.

    Raises:
        UsageError: it can't.
    """
    read = subprocess.run(
        [_SHELL[0], "-n", *_SHELL[1:], command], capture_output=True, text=True, check=False
    )
    if not command.strip() or read.returncode != 0:
        why = read.stderr.strip() or "it is empty"
        raise UsageError(f"--on-end takes a command of the shell: {why}")


def run_on_end(command: str, night: Path) -> str | None:
    """Let the shell run a command that reads the summary of a night; returns why that failed.

    What it prints goes to standard error. If it takes too long, it is killed with all that it has
    started.
    """
    with subprocess.Popen(
        tether_command([*_SHELL, command]),
        stdin=subprocess.PIPE,
        stdout=_ERROR_OF_SHELL,
        env={**os.environ, NIGHT: str(night)},
        start_new_session=True,
    ) as process:
        try:
            process.communicate((night / "report" / SUMMARY_FILE).read_bytes(), SECONDS_MAX)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return f"the command of --on-end did not end within {SECONDS_MAX} s, and was killed"
    if process.returncode == 0:
        return None
    return f"the command of --on-end ended with status {process.returncode}"

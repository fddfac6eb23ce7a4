"""A process that dies with its parent, where the kernel can do that (Linux).

`python -m cluster.nodes.tether COMMAND...` becomes the command, tethered.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent dies; it ends now if that has happened."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        os._exit(1)


def tethered(argv: list[str]) -> list[str]:
    """The command that runs `argv` as a process that dies with its parent."""
    return [sys.executable, "-m", "cluster.nodes.tether", *argv]


if __name__ == "__main__":
    die_with_parent()
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - becoming the command is the point

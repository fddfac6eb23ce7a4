"""A process that ends with its parent, where the kernel supports it (Linux).

`python -m cluster.nodes.tether PARENT COMMAND...` becomes the command, tethered to process PARENT.
"""

import ctypes
import os
import signal
import sys

from contract.packages import python

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def tether_command(argv: list[str]) -> list[str]:
    """Return the command that runs `argv` as a process that ends with this one."""
    return python("cluster.nodes.tether", str(os.getpid()), *argv)


def main() -> None:
    """Tether this process and replace it by the command, unless its parent has ended already."""
    die_with_parent()
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent ended before this process began")
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - becoming the command is the point


if __name__ == "__main__":
    main()

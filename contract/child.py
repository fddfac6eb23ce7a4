"""A program that runs as a child of this one; Ctrl-C reaches only the parent."""

import subprocess
from collections.abc import Sequence

_END_SECONDS = 10


def run_child(argv: Sequence[str]) -> int:
    """Run a program to its end and return its exit status.

    It is in a session of its own, so that a terminal's Ctrl-C reaches only this process, which ends
    the program by SIGTERM, or SIGKILL if that takes too long.

    Raises:
        KeyboardInterrupt: this process was interrupted; the program has ended.
    """
    return finish_child(subprocess.Popen(argv, start_new_session=True))


def finish_child(child: "subprocess.Popen[bytes]") -> int:
    """Wait for a program's end and return its exit status, as `run_child` does.

    Raises:
        KeyboardInterrupt: this process was interrupted; the program has ended.
    """
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.terminate()
        try:
            child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise

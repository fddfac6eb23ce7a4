"""A program that runs as a child of this one; Ctrl-C reaches only the parent."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from contract.errors import WaitTimeoutError
from contract.waiting import wait_until

_END_SECONDS = 10
_GROUP_SECONDS = 5


def run_child(argv: Sequence[str], *, stdout: int | None = None) -> int:
    """Run a program to its end and return its exit status.

    `stdout`: as of `subprocess.Popen`.

    It is in a session of its own, so that a terminal's Ctrl-C reaches only this process, which ends
    the program by SIGTERM, or SIGKILL if that takes too long. What the program started ends with
    it, also where the program was killed and that is stopped.

    Raises:
        KeyboardInterrupt: this process was interrupted; the program has ended.
    """
    child: subprocess.Popen[bytes] | None = None
    try:
        with _interrupts_later():
            child = subprocess.Popen(argv, stdout=stdout, start_new_session=True)
        return _waited_for(child)
    except KeyboardInterrupt:
        if child is not None:
            _end(child)
        raise


def finish_child(child: "subprocess.Popen[bytes]") -> int:
    """Wait for a program's end and return its exit status, as `run_child` does.

    The program was started in a session of its own.

    Raises:
        KeyboardInterrupt: this process was interrupted; the program has ended.
    """
    try:
        return _waited_for(child)
    except KeyboardInterrupt:
        _end(child)
        raise


def _waited_for(child: "subprocess.Popen[bytes]") -> int:
    status = child.wait()
    if status < 0:
        _end_group(child.pid)
    return status


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.terminate()
    try:
        child.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    _end_group(child.pid)


def _end_group(group: int) -> None:
    """Let what a program left end by itself, as Spark's JVM does, or kill it."""
    with suppress(WaitTimeoutError):
        wait_until(
            lambda: not _has_processes(group),
            what="the end of what a program started",
            timeout_seconds=_GROUP_SECONDS,
        )
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """An interrupt meanwhile is raised at the end of the block.

    Else it might come when a program has started, and nothing yet refers to it.

    Raises:
        KeyboardInterrupt: this process was interrupted meanwhile.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        raise KeyboardInterrupt

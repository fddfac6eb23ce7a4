"""A program that runs as a child of this one; Ctrl-C reaches only the parent.

A program of this project reports its end to its parent (`report_end`). One that ends
without that has no result, whatever its exit status: a module that it loads may have ended it.
"""

import os
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from contract.errors import AnalysisError, WaitTimeoutError
from contract.python import environment
from contract.waiting import wait_until

_END_SECONDS = 10
_GROUP_SECONDS = 5
_PIPE = "FENCEPOST_END"
"""Names the pipe to the parent: its descriptor and its inode, so that no other one is taken."""


class Child:
    """A program of this project that was started, in a session of its own.

    A terminal's Ctrl-C reaches only this process, which ends the program by SIGTERM, or SIGKILL if
    that takes too long.
    """

    def __init__(
        self, argv: Sequence[str], *, stdin: int | None = None, stdout: int | None = None
    ) -> None:
        """Start it; `stdin` and `stdout` are as of `subprocess.Popen`."""
        reported, to_parent = os.pipe()
        os.set_blocking(reported, False)
        self._reported = os.fdopen(reported, "rb", buffering=0)
        pipe = f"{to_parent}:{os.fstat(to_parent).st_ino}"
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=stdout,
                env=environment({_PIPE: pipe}),
                pass_fds=(to_parent,),
                start_new_session=True,
            )
        except BaseException:
            self._reported.close()
            raise
        finally:
            os.close(to_parent)

    def finish(self, *, what: str) -> int:
        """Wait for its end and return its exit status; `what` names the program in messages.

        Raises:
            AnalysisError: it was killed, or ended without a result.
            KeyboardInterrupt: this process was interrupted; the program has ended.
        """
        try:
            status = self.process.wait()
        except KeyboardInterrupt:
            self.end()
            raise
        with self._reported:
            # None where another process of it keeps the pipe open.
            has_reported = bool(self._reported.read(1))
        if status < 0:
            _end_group(self.process.pid)
            raise AnalysisError(f"{what} was killed by signal {-status}")
        if not has_reported:
            raise AnalysisError(
                f"{what} ended with status {status} and without a result: something that it loads "
                "ended it"
            )
        return status

    def end(self) -> None:
        """End the program and the processes that it started, by SIGKILL if SIGTERM does not."""
        self._reported.close()
        self.process.terminate()
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        _end_group(self.process.pid)


def run_child(argv: Sequence[str], *, what: str, stdout: int | None = None) -> int:
    """Run a program to its end and return its exit status.

    Args:
        argv: its command.
        what: names the program in messages.
        stdout: as of `subprocess.Popen`.

    Raises:
        AnalysisError: it was killed, or ended without a result.
        KeyboardInterrupt: this process was interrupted; the program has ended.
    """
    child: Child | None = None
    try:
        with _interrupts_later():
            child = Child(argv, stdout=stdout)
        return child.finish(what=what)
    except KeyboardInterrupt:
        if child is not None:
            child.end()
        raise


def report_end() -> None:
    """Report to the parent, if it is one of this project, that this program comes to its end."""
    descriptor, _, inode = os.environ.get(_PIPE, "").partition(":")
    with suppress(OSError, ValueError):
        found = os.fstat(int(descriptor))
        if stat.S_ISFIFO(found.st_mode) and found.st_ino == int(inode):
            os.write(int(descriptor), b"\n")


def _end_group(group: int) -> None:
    """Wait for the processes that a program left, such as Spark's JVM, then kill the rest."""
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
    """Delay an interrupt (Ctrl-C) during the block until the block ends.

    Otherwise it might be raised after a program was started and before a variable refers to it.

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

"""The stacks of the threads of servers and workers, as they print them on SIGQUIT.

`python -m cluster.nodes.stacks` prints those of all servers and workers of a container, as JSON.
"""

import os
import re
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from contract.errors import WaitTimeoutError
from contract.waiting import wait_until

PRINT_SECONDS = 15
_PROCESSES = Path("/proc")
_SERVER = "kafka.Kafka"
_WORKER = re.compile(r"(.+\.)?harness\.clients\.\w+_(worker|consumer|producer)")
_NODE = re.compile(r"node-\d+")
_ENDS = (b"JNI global ref", b"most recent call first")
"""What stacks have at their end, or near it: HotSpot's, and those of Python's faulthandler."""
_MAX_BYTES = 4 << 20
_STOPPED = b"State:\tT"


@dataclass(frozen=True)
class _Process:
    """A server or worker; `before`: the size of its output before it was asked."""

    pid: int
    name: str
    before: int

    @property
    def printed(self) -> bytes:
        """What it has printed since then; empty if it has ended."""
        with suppress(OSError), (_PROCESSES / str(self.pid) / "fd" / "1").open("rb") as output:
            output.seek(self.before)
            return output.read(_MAX_BYTES)
        return b""

    @property
    def is_stopped(self) -> bool:
        """Whether SIGSTOP holds it, so that it prints nothing."""
        with suppress(OSError):
            return _STOPPED in (_PROCESSES / str(self.pid) / "status").read_bytes()
        return False


def stacks_of(pids: Iterable[int]) -> dict[str, str]:
    """Let those processes that are servers or workers print their stacks; returns them by name.

    A process that is stopped, or prints nothing in time, has a sentence instead.
    """
    found = [process for pid in pids if (process := _process(pid)) is not None]
    asked = [process for process in found if not process.is_stopped]
    for process in asked:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGQUIT)
    with suppress(WaitTimeoutError):
        wait_until(
            lambda: all(any(end in other.printed for end in _ENDS) for other in asked),
            what="the stacks of servers and workers",
            timeout_seconds=PRINT_SECONDS,
        )
    return {process.name: _text_of_stacks(process, is_asked=process in asked) for process in found}


def _process(pid: int) -> _Process | None:
    """A process if it is a server or a worker."""
    with suppress(OSError):
        command = (_PROCESSES / str(pid) / "cmdline").read_bytes()
        words = command.decode(errors="replace").removesuffix("\0").split("\0")
        is_server = _SERVER in words
        if is_server or (any(map(_WORKER.fullmatch, words)) and words[-1].endswith("plan.json")):
            home = Path(words[-1]).parent
            node = next((part for part in home.parts if _NODE.fullmatch(part)), "")
            name = "-".join(part for part in (node, home.name, str(pid)) if part)
            return _Process(pid, name, (_PROCESSES / str(pid) / "fd" / "1").stat().st_size)
    return None


def _text_of_stacks(process: _Process, *, is_asked: bool) -> str:
    if not is_asked:
        return "The process is stopped (SIGSTOP), so it prints no stacks.\n"
    printed = process.printed.decode(errors="replace")
    return printed or f"The process printed no stacks within {PRINT_SECONDS} s.\n"


if __name__ == "__main__":
    ids = [int(path.name) for path in _PROCESSES.iterdir() if path.name.isdecimal()]
    sys.stdout.buffer.write(msgspec.json.encode(stacks_of(ids)))

"""What the processes of a session report to its owner, line by line, through a pipe of their own.

On their common standard output a line may be cut by that of another process, since Python writes a
line and its end apart.
"""

import os
import selectors
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from contract.errors import FencepostError
from contract.locks import alone_by

PIPE = "FENCEPOST_REPORTS"
"""In the environment of such a process: the path of the pipe."""
_CHUNK_BYTES = 1 << 16
_LOCK = "reports.lock"
_LOCK_SECONDS = 30


def report(line: str) -> None:
    """Print a line for readers, and send it to the owner if there is one that reads."""
    print(line, flush=True)
    if PIPE in os.environ:
        with suppress(OSError, FencepostError):
            _send(Path(os.environ[PIPE]), f"{line}\n".encode())


def _send(pipe: Path, content: bytes) -> None:
    lock = pipe.with_name(_LOCK)
    with alone_by(lock, what="another report", timeout_seconds=_LOCK_SECONDS):
        end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.set_blocking(end, True)
            while content:
                content = content[os.write(end, content) :]
        finally:
            os.close(end)


@contextmanager
def reports(pipe: Path) -> Iterator[int]:
    """Make the pipe, and open the end that its owner reads.

    The other end stays open too, so that the pipe does not end with one of the processes.
    """
    os.mkfifo(pipe)
    with ExitStack() as ends:
        mine, other = (os.open(pipe, side | os.O_NONBLOCK) for side in (os.O_RDONLY, os.O_WRONLY))
        ends.callback(os.close, mine)
        ends.callback(os.close, other)
        yield mine


def lines_of(stdout: int, pipe: int) -> Iterator[tuple[str, bool]]:
    """Return what processes print and report, as it comes, until they have ended.

    Args:
        stdout: the end of their common standard output that their owner reads.
        pipe: that of their reports.

    Returns:
        lines without their ends, and whether each is a report.
    """
    begun = {stdout: b"", pipe: b""}
    with selectors.DefaultSelector() as selector:
        for end in begun:
            selector.register(end, selectors.EVENT_READ)
        is_open = True
        while is_open or selector.select(timeout=0):
            for key, _ in selector.select():
                if not (chunk := os.read(key.fd, _CHUNK_BYTES)):
                    selector.unregister(key.fd)
                    is_open = False
                *whole, begun[key.fd] = (begun[key.fd] + chunk).split(b"\n")
                for line in whole:
                    yield line.decode(errors="replace"), key.fd == pipe
    if begun[stdout]:
        yield begun[stdout].decode(errors="replace"), False

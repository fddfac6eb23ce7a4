"""Measures the offsets of the nodes' clocks, since histories are compared by time."""

import time
from collections.abc import Callable, Iterable

from cluster.nodes.node import Node
from contract.events import ClockRead
from harness.clients.history import HistoryWriter
from harness.clients.process import WorkerService

_READINGS_MAX = 20
_TIGHT_MICROS = 20_000
"""Bounds this close to each other need no further reading."""
_READ_SECONDS = 30
_PRINT_TIME = "import time; print(time.time_ns() // 1000)"


def read_clocks(
    history: HistoryWriter, workers: Iterable[WorkerService], servers: Iterable[Node]
) -> None:
    """Read each node's clock until its bounds are tight, and write them to the history.

    A node's reading lies between the driver's clock before the request and after the response; the
    tightest bounds of several readings count. A worker reads its own clock; on a server's node a
    process prints it.
    """
    clocks: dict[str, Callable[[], int]] = {w.host.name: w.clock_micros for w in workers}
    clocks |= {node.name: _clock_of(node) for node in servers}
    for name, clock in clocks.items():
        ahead, behind = bounds(clock)
        history.write(ClockRead, node=name, ahead_micros=ahead, behind_micros=behind)


def bounds(clock: Callable[[], int]) -> tuple[int, int]:
    """Return how far a clock is ahead of this one at most and at least, in microseconds."""
    aheads, behinds = [], []
    for _ in range(_READINGS_MAX):
        asked = time.time_ns() // 1000
        read = clock()
        aheads.append(read - asked)
        behinds.append(read - time.time_ns() // 1000)
        if min(aheads) - max(behinds) <= _TIGHT_MICROS:
            break
    return min(aheads), max(behinds)


def _clock_of(node: Node) -> Callable[[], int]:
    def read() -> int:
        printed = node.run(
            [node.python, "-I", "-S", "-c", _PRINT_TIME], timeout_seconds=_READ_SECONDS
        )
        return int(printed.output)

    return read

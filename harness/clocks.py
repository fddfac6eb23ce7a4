"""How far the nodes' clocks are apart: measured, since histories are compared by them."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from cluster.nodes.node import Node
from harness.clients.history import HistoryWriter
from harness.clients.process import WorkerService
from harness.contract.events import ClockRead

_READINGS = 3
_READ_SECONDS = 30
_TELL = "import time; print(time.time_ns() // 1000)"


def read_clocks(
    history: HistoryWriter, workers: Iterable[WorkerService], servers: Iterable[Node]
) -> None:
    """Read the clock of each node several times, and write what bounds them to the history.

    What a node tells lies between the driver's clock before it was asked and after it answered;
    of several readings the tightest bounds count. A worker tells by its pipe, a server's node by a
    process of its own.
    """
    clocks: dict[str, Callable[[], int]] = {w.host.name: w.clock_micros for w in workers}
    clocks |= {node.name: _clock_of(node) for node in servers}
    with ThreadPoolExecutor(max_workers=2) as pool:
        for name, (ahead, behind) in zip(clocks, pool.map(_bounds, clocks.values()), strict=True):
            history.write(ClockRead, node=name, ahead_micros=ahead, behind_micros=behind)


def _bounds(clock: Callable[[], int]) -> tuple[int, int]:
    """(ahead at most, ahead at least), in microseconds."""
    ahead, behind = [], []
    for _ in range(_READINGS):
        asked = time.time_ns() // 1000
        told = clock()
        ahead.append(told - asked)
        behind.append(told - time.time_ns() // 1000)
    return min(ahead), max(behind)


def _clock_of(node: Node) -> Callable[[], int]:
    def tell() -> int:
        told = node.run([node.python, "-I", "-S", "-c", _TELL], timeout_seconds=_READ_SECONDS)
        return int(told.output)

    return tell

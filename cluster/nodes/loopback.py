"""The loopback pool: nodes are folders, each with a loopback address of its own.

For machines without namespaces. It supports process faults only.
"""

import functools
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster.nodes.local import LocalNode
from cluster.nodes.node import FIRST_HOST, Node, NodeProcess
from cluster.nodes.tether import tethered
from contract.errors import PrerequisiteError
from contract.held import HeldName, hold_first

_NETWORKS = 256


class LoopbackNode(LocalNode):
    """A node whose processes end with the harness, where the kernel supports it (Linux)."""

    def __init__(self, name: str, address: str, root: Path, *, held: HeldName) -> None:
        """Processes bind to `address`, so that nodes can use the same ports.

        `held` keeps other runs off the addresses of the pool, as long as one of its nodes exists.
        """
        super().__init__(name, address, root, frozenset())
        self._held = held

    def spawn(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> NodeProcess:
        """Start a process that ends with the calling process, which may be a fork."""
        spawn = functools.partial(super().spawn, tethered([*argv]), log=log, env=env, cwd=cwd)
        return _parent(os.getpid()).submit(spawn).result()

    def shell_command(self) -> list[str]:
        """Return no prefix: the node is this machine."""
        return []


@functools.cache
def _parent(pid: int) -> ThreadPoolExecutor:
    """Return the thread of process `pid` that spawns, which lasts until the process ends.

    On Linux the parent is a thread: its tethered children are killed when that thread ends.
    """
    return ThreadPoolExecutor(1, thread_name_prefix=f"parent-{pid}")


class LoopbackPool:
    """Nodes `node-1`, `node-2`, ... at 127.0.0.11, 127.0.0.12, ...

    A second pool of this machine has 127.0.1.11, 127.0.1.12, ... while the first one is held.
    """

    def __init__(self, *, size: int, root: Path) -> None:
        """Take the first free network, and check that its addresses can be bound."""
        self.nodes: list[Node] = []
        network, held = _take_network()
        for index in range(size):
            address = f"127.0.{network}.{FIRST_HOST + index}"
            _require_bindable(address)
            self.nodes.append(LoopbackNode(f"node-{index + 1}", address, root, held=held))


def _take_network() -> tuple[str, HeldName]:
    """Lock and return the first of the networks 127.0.0.0, 127.0.1.0, ... that no run holds.

    Locks are a user's own. On Linux, where each network can be bound, each user begins at another.

    Raises:
        PrerequisiteError: all are held.
    """
    first = os.getuid() if sys.platform == "linux" else 0
    try:
        return hold_first((str((first + at) % _NETWORKS) for at in range(_NETWORKS)), "loopback-")
    except BlockingIOError:
        raise PrerequisiteError(
            f"{_NETWORKS} runs on loopback hold all its networks: wait until one has ended"
        ) from None


def _require_bindable(address: str) -> None:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            raise PrerequisiteError(
                f"{address} can't be bound ({error.strerror}); on macOS add it with: "
                f"sudo ifconfig lo0 alias {address}"
            ) from None

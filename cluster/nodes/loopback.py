"""The loopback pool: nodes are folders, each with a loopback address of its own.

For machines where no namespaces work. It bears process faults only.
"""

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path

from cluster.nodes.local import LocalNode
from cluster.nodes.node import Capability, Node
from harness.contract.errors import PrerequisiteError

_FIRST_HOST = 11
_PR_SET_PDEATHSIG = 1


class LoopbackNode(LocalNode):
    """A node whose processes die with the harness, where the kernel can do that (Linux)."""

    def __init__(self, name: str, address: str, root: Path) -> None:
        """Processes bind to `address`, so that nodes can use the same ports."""
        super().__init__(name, address, root, frozenset({Capability.PAUSE}))

    def _enter(self) -> list[str]:
        return [sys.executable, "-m", "cluster.nodes.loopback"] if sys.platform == "linux" else []


class LoopbackPool:
    """Nodes `node-1`, `node-2`, ... at 127.0.0.11, 127.0.0.12, ..."""

    def __init__(self, *, size: int, root: Path) -> None:
        """Check that the addresses can be bound."""
        self.nodes: list[Node] = []
        for index in range(size):
            address = f"127.0.0.{_FIRST_HOST + index}"
            _require_bindable(address)
            self.nodes.append(LoopbackNode(f"node-{index + 1}", address, root))

    def close(self) -> None:
        """The nodes hold nothing but their processes and folders."""


def _require_bindable(address: str) -> None:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            raise PrerequisiteError(
                f"{address} can't be bound ({error.strerror}); on macOS add it with: "
                f"sudo ifconfig lo0 alias {address}"
            ) from None


def _die_with_parent_and_become(argv: list[str]) -> None:
    """Ask the kernel to kill this process when its parent dies, then become the command."""
    if os.getppid() == 1:
        os._exit(1)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execvp(argv[0], argv)  # noqa: S606 - becoming the command is the point


if __name__ == "__main__":
    _die_with_parent_and_become(sys.argv[1:])

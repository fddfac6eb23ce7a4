"""A node: the one abstraction over a container, a network namespace or a plain folder."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class Capability(enum.Enum):
    """What a pool's nodes can do beyond running processes."""

    CUT_PEER = "cut-peer"
    CUT_PORT = "cut-port"
    PAUSE = "pause"


@dataclass(frozen=True)
class Completed:
    """How a command on a node ended."""

    status: int
    output: str


class NodeProcess(ABC):
    """A process that was started on a node and is still the harness's to stop."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """Its process id, as the node sees it."""

    @abstractmethod
    def send_line(self, line: str) -> None:
        """Write one line to its standard input.

        Raises:
            NodeError: it has ended, or was started without an input.
        """

    @abstractmethod
    def signal(self, number: int) -> None:
        """Send it a signal; nothing happens when it has ended."""

    @abstractmethod
    def status(self) -> int | None:
        """Its exit status (negative: killed by that signal), None while it runs."""

    @abstractmethod
    def wait(self, timeout_seconds: float) -> int:
        """Wait for its end and return the exit status.

        Raises:
            WaitTimeoutError: it still runs.
        """


class Node(ABC):
    """A place where processes run, with an address that the other nodes reach.

    Attributes:
        name: unique in its pool, e.g. `node-1`.
        address: by which the other nodes reach it, e.g. `10.88.0.11`.
        folder: absolute and writable, as processes on the node see it; emptied before a scenario.
        python: the interpreter for workers on the node; it imports `harness` and JPype.
        java: the `java` command on the node.
        capabilities: what faults it can bear.
    """

    name: str
    address: str
    folder: Path
    python: str
    java: str
    capabilities: frozenset[Capability]

    @abstractmethod
    def kafka_jars(self, version: str) -> Path:
        """The folder with the jars of a Kafka version, as the node sees it."""

    @abstractmethod
    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_seconds: float,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command to its end; output is standard output and error together.

        Raises:
            CommandFailedError: the exit status is not 0 and `check` is set; shows the last output.
            WaitTimeoutError: it did not end in time (and was killed).
        """

    @abstractmethod
    def spawn(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> NodeProcess:
        """Start a process whose output is appended to `log` (a path on the node).

        It gets a standard input that `NodeProcess.send_line` writes to, and its own process group.
        """

    @abstractmethod
    def read(self, path: Path, *, offset: int = 0) -> bytes:
        """A file's bytes from `offset` on; empty where the file does not exist (yet)."""

    @abstractmethod
    def write(self, path: Path, content: bytes) -> None:
        """Create or replace a file; missing folders above it are made."""

    def write_all(self, files: Mapping[Path, bytes]) -> None:
        """Create or replace several files, by path."""
        for path, content in files.items():
            self.write(path, content)

    @abstractmethod
    def copy_from(self, source: Path, target: Path) -> None:
        """Copy a file or a folder's content from the node to a local path.

        Raises:
            NodeError: there is no such path on the node.
        """

    @abstractmethod
    def copy_to(self, source: Path, target: Path) -> None:
        """Copy a local file or a folder's content to a path on the node."""

    @abstractmethod
    def remove(self, path: Path) -> None:
        """Remove a file or a folder with its content; nothing happens where there is none."""

    @abstractmethod
    def cut_peer(self, peer: "Node") -> None:
        """Drop everything that this node sends to `peer` (needs `Capability.CUT_PEER`).

        One call blocks one way out; a TCP connection needs both ways, so one is enough to stop it.

        Raises:
            FaultError: the pool can't.
        """

    @abstractmethod
    def heal_peer(self, peer: "Node") -> None:
        """Undo `cut_peer`; nothing happens where it was not cut."""

"""A node: the one abstraction over a container, a network namespace or a plain folder."""

import enum
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.nodes.traffic import Packets, Traffic
from contract.errors import CommandFailedError
from contract.software import Jar

FIRST_HOST = 11
"""The last number of the first node's address, where nodes have addresses of one network."""
NODES_MAX = 255 - FIRST_HOST
_OUTPUT_SHOWN = 2000


class Capability(enum.Enum):
    """What a fault needs of nodes, or of the machine, in addition to processes."""

    CUT = "cuts (nftables)"
    FILE_LIMITS = "file limits (prlimit)"


class NodeState(enum.StrEnum):
    """Whether what is on a node runs, as the fault that holds there says.

    slow: some of the time, so it responds late: it is asked and awaited as one that runs.
    suspended: not at all, so the harness asks it nothing.
    """

    RUNNING = "running"
    SLOW = "slow"
    SUSPENDED = "paused"


@dataclass(frozen=True)
class Completed:
    """The exit status and output of a command on a node."""

    status: int
    output: str


class NodeProcess(ABC):
    """A process on a node that the harness started and stops."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """Its process id on the node."""

    @abstractmethod
    def send_line(self, line: str) -> None:
        """Write one line to its standard input.

        Raises:
            NodeError: it has ended, or was started without an input.
        """

    @abstractmethod
    def signal(self, number: int) -> None:
        """Send it a signal; does nothing if it has ended."""

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
    """A host for processes, with an address that the other nodes reach.

    Attributes:
        name: unique in its pool, e.g. `node-1`.
        address: by which the other nodes reach it, e.g. `10.88.0.11`.
        folder: absolute and writable, a path on the node; emptied before a scenario.
        python: the interpreter for workers on the node; it imports `harness` and JPype.
        java: the `java` command on the node.
        capabilities: the faults that it supports.
        state: that faults set, and their heals set back.
    """

    name: str
    address: str
    folder: Path
    python: str
    java: str
    capabilities: frozenset[Capability]
    state: NodeState = NodeState.RUNNING

    @abstractmethod
    def class_path(self, version: str, own: Sequence[Jar] = ()) -> list[Path]:
        """Return a class path on the node: own jars, then a Kafka version's with their lock's hash.

        Args:
            version: a locked one; empty: own jars only.
            own: jars of this machine, which a node elsewhere gets copies of.

        Raises:
            DistributionError: a jar is missing, or has another hash.
        """

    @abstractmethod
    def packages(self, client: str) -> Path:
        """Return the folder on the node with the packages of a client's version.

        Args:
            client: as plans name it, e.g. `kafka-python@3.0.8`.

        Raises:
            DistributionError: it has no lock file, or can't be installed.
        """

    def class_data(self, class_path: Sequence[Path]) -> list[str]:
        """Flags of a JVM that starts with class data of Kafka; none where none is made."""
        del class_path
        return []

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
        ended = self._run(argv, timeout_seconds=timeout_seconds, env=env or {})
        if check and ended.status != 0:
            raise CommandFailedError(
                f"{shlex.join(argv)} on {self.name} ended with status {ended.status}: "
                f"{ended.output[-_OUTPUT_SHOWN:]}"
            )
        return ended

    @abstractmethod
    def _run(
        self, argv: Sequence[str], *, timeout_seconds: float, env: Mapping[str, str]
    ) -> Completed:
        """Run a command to its end, whatever its exit status."""

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
    def write_all(self, files: Mapping[Path, bytes]) -> None:
        """Create or replace several files, by path; missing folders above them are made.

        Raises:
            NodeError: one can't be written, e.g. since the disk is full.
        """

    def write(self, path: Path, content: bytes) -> None:
        """Create or replace a file; missing folders above it are made."""
        self.write_all({path: content})

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
        """Remove a file or a folder with its content; does nothing if there is none."""

    @abstractmethod
    def shell_command(self) -> list[str]:
        """Return the prefix of a command that a user runs on the node in a terminal."""

    @abstractmethod
    def pause(self) -> None:
        """Suspend everything that runs on the node, at once; its `state` stays."""

    @abstractmethod
    def resume(self) -> None:
        """Resume everything on the node; does nothing if it was not paused."""

    @abstractmethod
    def is_suspended(self) -> bool:
        """Return whether the operating system reports everything on the node as suspended."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL everything that runs on the node, as a power failure does."""

    @abstractmethod
    def block(self, traffic: Traffic) -> None:
        """Drop packets of this node (needs `Capability.CUT`); verify that the rule exists.

        Raises:
            FaultError: the pool does not support it.
        """

    @abstractmethod
    def unblock(self, traffic: Traffic) -> None:
        """Undo this `block` only; does nothing if these packets pass."""

    @abstractmethod
    def packets(self, traffic: Traffic) -> Packets | None:
        """Return the counts of these packets since `block`; None where no rule drops them."""

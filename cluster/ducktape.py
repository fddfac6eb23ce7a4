"""A pool of nodes as a ducktape cluster, and a node as a ducktape account; no sshd anywhere.

`ducktape --cluster cluster.ducktape.PoolCluster` reads the pool's kind, size and folder from the
environment (`FENCEPOST_POOL_KIND`, `FENCEPOST_POOL_SIZE`, `FENCEPOST_POOL_ROOT`). ducktape's own
JsonCluster, for hosts over SSH, is not supported: scenarios need the nodes of a pool.
"""

import io
import multiprocessing
import os
import shlex
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ducktape.cluster.cluster import Cluster
from ducktape.cluster.cluster_node import ClusterNode
from ducktape.cluster.cluster_spec import ClusterSpec
from ducktape.cluster.consts import LINUX
from ducktape.cluster.node_container import NodeContainer
from ducktape.cluster.remoteaccount import (
    RemoteAccount,
    RemoteAccountSSHConfig,
    RemoteCommandError,
)

from cluster.nodes.docker_pool import DockerPool
from cluster.nodes.local import EmbeddedPool, LoopbackPool
from cluster.nodes.node import Node
from cluster.nodes.pool import CONTAINERS_FILE, PoolKind
from cluster.refusal import refuse
from contract.errors import FencepostError, NodeError, UsageError

SCENARIO_ENDED = "the scenario's process "
"""Begins the line that says how it ended, where it did not give its nodes back."""
_COMMAND_SECONDS = 300
_WATCH_SECONDS = 2


class PoolCluster(Cluster):  # type: ignore[misc]
    """All nodes of one pool, for one ducktape session."""

    def __init__(self, **_kwargs: Any) -> None:
        """Open the pool that the environment names.

        Raises:
            UsageError: it names none.
            PrerequisiteError: the pool can't be opened; `fencepost run` reports it too.
        """
        super().__init__()
        try:
            pool = _open_pool()
        except FencepostError as error:
            refuse(error)
            raise
        self._pool = pool
        self._free = NodeContainer([ClusterNode(NodeAccount(node)) for node in pool.nodes])
        self._taken = NodeContainer()
        self._allocations = 0
        self.scenarios: list[BaseProcess] = []
        """The processes of scenarios that were started, as the runner says; the last one last."""
        threading.Thread(target=self._watch_scenarios, daemon=True).start()

    def _watch_scenarios(self) -> None:
        """End ducktape when a scenario's process has ended without giving its nodes back.

        This happens if the process was killed, e.g. for lack of memory, or left by `os._exit`.
        ducktape's runner would
        wait for its message until the timeout of 30 minutes. After a scenario's end the runner
        gives the nodes back at once.
        """
        missed: int | None = None
        never = threading.Event()
        while not never.wait(_WATCH_SECONDS):
            is_gone = len(self._taken) and not multiprocessing.active_children()
            if is_gone and missed == self._allocations:
                print(f"{SCENARIO_ENDED}{_how_ended(self.scenarios)}", flush=True)
                os._exit(FencepostError.exit_code)
            missed = self._allocations if is_gone else None

    def do_alloc(self, cluster_spec: ClusterSpec) -> list[ClusterNode]:
        """Take nodes out of the pool."""
        self._allocations += 1
        nodes, _ = self._free.remove_spec(cluster_spec)
        self._taken.add_nodes(nodes)
        return list(nodes)

    def free_single(self, node: ClusterNode) -> None:
        """Give a node back."""
        self._taken.remove_node(node)
        self._free.add_node(node)
        node.account.close()

    def available(self) -> ClusterSpec:
        """The nodes that are free."""
        return ClusterSpec.from_nodes(self._free)

    def used(self) -> ClusterSpec:
        """The nodes that are taken."""
        return ClusterSpec.from_nodes(self._taken)


def _how_ended(processes: Sequence[BaseProcess]) -> str:
    """Say how processes ended, by the exit status of the last one."""
    status = processes[-1].exitcode if processes else None
    if status is None:
        return "ended"
    if status < 0:
        return f"was killed by signal {-status}"
    return f"ended by itself, with status {status},"


def _open_pool() -> DockerPool | EmbeddedPool | LoopbackPool:
    """Nodes that are started once and serve every scenario of a session."""
    try:
        kind = PoolKind(os.environ["FENCEPOST_POOL_KIND"])
        size = int(os.environ["FENCEPOST_POOL_SIZE"])
        root = Path(os.environ["FENCEPOST_POOL_ROOT"])
    except KeyError as missing:
        raise UsageError(f"{missing} is not set: start scenarios with `fencepost run`") from None
    match kind:
        case PoolKind.EMBEDDED:
            return EmbeddedPool(size=size, root=root)
        case PoolKind.DOCKER:
            pool = DockerPool(size=size)
            (root / CONTAINERS_FILE).write_text("\n".join(node.name for node in pool.nodes))
            return pool
        case PoolKind.LOOPBACK:
            return LoopbackPool(size=size, root=root)


class NodeAccount(RemoteAccount):  # type: ignore[misc]
    """A ducktape account that uses the node's own exec and copy."""

    def __init__(self, node: Node) -> None:
        """The host's name is the node's."""
        super().__init__(
            RemoteAccountSSHConfig(host=node.name, hostname=node.address),
            externally_routable_ip=node.address,
        )
        self.node = node
        self.os = LINUX

    def available(self) -> bool:
        """True: a node is available as long as its pool."""
        return True

    def close(self) -> None:
        """Drop the test's logger. There is no connection to close."""
        self.logger = None

    def ssh(self, cmd: str, allow_fail: bool = False) -> int:  # noqa: FBT001, FBT002 - ducktape's
        """Run a shell command and return its exit status."""
        return self._shell(cmd, allow_fail=allow_fail)[0]

    def ssh_output(
        self,
        cmd: str,
        allow_fail: bool = False,  # noqa: FBT001, FBT002 - ducktape's signature
        combine_stderr: bool = True,  # noqa: ARG002, FBT001, FBT002 - ducktape's signature
        timeout_sec: float | None = None,
    ) -> bytes:
        """Run a shell command and return its output, standard error included."""
        return self._shell(cmd, allow_fail=allow_fail, timeout_seconds=timeout_sec)[1].encode()

    def ssh_capture(self, cmd: str, allow_fail: bool = False, **_kwargs: Any) -> Iterator[str]:  # noqa: FBT001, FBT002
        """Run a shell command and return its lines."""
        return iter(self._shell(cmd, allow_fail=allow_fail)[1].splitlines(keepends=True))

    def copy_from(self, src: str, dest: str) -> None:
        """Copy from the node; into `dest` if that is a folder, as scp does."""
        target = Path(dest)
        self.node.copy_from(Path(src), target / Path(src).name if target.is_dir() else target)

    def copy_to(self, src: str, dest: str) -> None:
        """Copy to the node; into `dest` if that is a folder there."""
        target = Path(dest)
        self.node.copy_to(Path(src), target / Path(src).name if self.isdir(dest) else target)

    def exists(self, path: str) -> bool:
        """Return whether the path exists on the node."""
        return self._test("-e", path)

    def isfile(self, path: str) -> bool:
        """Return whether the path is a file."""
        return self._test("-f", path)

    def isdir(self, path: str) -> bool:
        """Return whether the path is a folder."""
        return self._test("-d", path)

    def islink(self, path: str) -> bool:
        """Return whether the path is a symbolic link."""
        return self._test("-L", path)

    @contextmanager
    def open(self, path: str, mode: str = "r") -> Iterator[io.StringIO | io.BytesIO]:
        """Open a file of the node in memory; changes are written back at the end."""
        content = b"" if "w" in mode else self.node.read(Path(path))
        file = io.BytesIO(content) if "b" in mode else io.StringIO(content.decode())
        if "a" in mode:
            file.seek(0, io.SEEK_END)
        yield file
        if mode.strip("b") != "r":
            written = file.getvalue()
            self.node.write(Path(path), written if isinstance(written, bytes) else written.encode())

    def create_file(self, path: str, contents: str) -> None:
        """Create or replace a file."""
        self.node.write(Path(path), contents.encode())

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        """Make a folder."""
        self.ssh(f"mkdir -m {mode:o} {shlex.quote(path)}")

    def mkdirs(self, path: str, mode: int = 0o755) -> None:
        """Make a folder and those above it."""
        self.ssh(f"mkdir -p -m {mode:o} {shlex.quote(path)}")

    def remove(self, path: str, allow_fail: bool = False) -> None:  # noqa: FBT001, FBT002
        """Remove a file or a folder."""
        self.ssh(f"rm -r {shlex.quote(path)}", allow_fail=allow_fail)

    def _test(self, flag: str, path: str) -> bool:
        return self.node.run(["test", flag, path], timeout_seconds=10, check=False).status == 0

    def _shell(
        self, command: str, *, allow_fail: bool, timeout_seconds: float | None = None
    ) -> tuple[int, str]:
        ended = self.node.run(
            ["bash", "-c", command],
            timeout_seconds=timeout_seconds or _COMMAND_SECONDS,
            check=False,
        )
        if ended.status != 0 and not allow_fail:
            raise RemoteCommandError(self, command, ended.status, ended.output)
        return ended.status, ended.output


def node_of(allocated: ClusterNode) -> Node:
    """Return the node of a ducktape allocation.

    Raises:
        NodeError: it is a host of another kind of ducktape cluster.
    """
    if not isinstance(allocated.account, NodeAccount):
        raise NodeError(f"{allocated.account} is not a node of a Fencepost pool")
    return allocated.account.node

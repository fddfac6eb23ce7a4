"""A pool of nodes as a ducktape cluster, and a node as a ducktape account; no sshd anywhere.

`ducktape --cluster cluster.ducktape.PoolCluster` reads the pool's kind, size and folder from the
environment (`FENCEPOST_POOL_KIND`, `FENCEPOST_POOL_SIZE`, `FENCEPOST_POOL_ROOT`). ducktape's own
JsonCluster, for hosts over SSH, is not supported: scenarios need the nodes of a pool.
"""

import multiprocessing
import os
import threading
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ducktape.cluster.cluster import Cluster
from ducktape.cluster.cluster_node import ClusterNode
from ducktape.cluster.cluster_spec import ClusterSpec
from ducktape.cluster.consts import LINUX
from ducktape.cluster.node_container import NodeContainer
from ducktape.cluster.remoteaccount import RemoteAccount, RemoteAccountSSHConfig

from cluster.nodes.docker_pool import DockerPool
from cluster.nodes.local import EmbeddedPool, LoopbackPool
from cluster.nodes.node import Node
from cluster.nodes.pool import CONTAINERS_FILE, PoolKind
from cluster.refusal import refuse
from cluster.reports import report
from contract.errors import FencepostError, NodeError, UsageError
from contract.files import replace_text

SCENARIO_ENDED = "the scenario's process "
"""Begins the report that says how it ended, where it did not give its nodes back."""
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
                report(f"{SCENARIO_ENDED}{_how_ended(self.scenarios)}")
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
            replace_text(root / CONTAINERS_FILE, "\n".join(node.name for node in pool.nodes))
            return pool
        case PoolKind.LOOPBACK:
            return LoopbackPool(size=size, root=root)


class NodeAccount(RemoteAccount):  # type: ignore[misc]
    """A ducktape account of a node; what runs there and is copied, the node does itself."""

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


def node_of(allocated: ClusterNode) -> Node:
    """Return the node of a ducktape allocation.

    Raises:
        NodeError: it is a host of another kind of ducktape cluster.
    """
    if not isinstance(allocated.account, NodeAccount):
        raise NodeError(f"{allocated.account} is not a node of a Fencepost pool")
    return allocated.account.node

"""The kinds of pools, and the function that opens one."""

import enum
from pathlib import Path
from typing import Protocol

from cluster.nodes.docker_pool import DockerPool
from cluster.nodes.local import EmbeddedPool, LoopbackPool
from cluster.nodes.node import Node

CONTAINERS_FILE = "containers"
"""In the folder of a session's nodes on the Docker pool: the names of its containers."""


class PoolKind(enum.StrEnum):
    """Where nodes come from."""

    EMBEDDED = "embedded"
    DOCKER = "docker"
    LOOPBACK = "loopback"


class Pool(Protocol):
    """Nodes that are started once and serve every scenario of a session."""

    nodes: list[Node]


def open_pool(kind: PoolKind, *, size: int, root: Path) -> Pool:
    """Open a pool of `size` nodes that keep their files below `root`."""
    match kind:
        case PoolKind.EMBEDDED:
            return EmbeddedPool(size=size, root=root)
        case PoolKind.DOCKER:
            pool = DockerPool(size=size)
            (root / CONTAINERS_FILE).write_text("\n".join(node.name for node in pool.nodes))
            return pool
        case PoolKind.LOOPBACK:
            return LoopbackPool(size=size, root=root)

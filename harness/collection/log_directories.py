"""Copies of servers' log directories: at the end, and before a possible truncation."""

import time
from pathlib import Path

from cluster.kafka.service import KafkaService
from cluster.nodes.node import Node

_LEFT_ON_THE_NODE = (".index", ".timeindex", ".txnindex", ".lock")
"""Files of a log directory whose content the segments have too."""
_OF_ITS_OWN = "__"
"""Topics with such names are Kafka's own."""
_METADATA_LOG = "__cluster_metadata-0"
_COPY_SECONDS = 60


def copy_log_directory(kafka: KafkaService, server: int, target: Path) -> None:
    """Copy a log directory of a server that does not run, or whose node is paused."""
    _copy(kafka.host(server), kafka.data(server), target)


def keep_log_directory(kafka: KafkaService, server: int, kept: Path) -> None:
    """Copy a server's metadata log and replicas of users' topics now, before it may truncate them.

    Args:
        kafka: the cluster.
        server: it may run.
        kept: receives a folder named by the time, in microseconds since 1970, with one of the
            server.
    """
    node, data = kafka.host(server), kafka.data(server)
    target = kept / str(time.time_ns() // 1000) / str(server)
    if node.is_paused or not kafka.is_running(server):
        _copy(node, data, target)
    else:
        # A file that grows while it is archived would damage the archive.
        still = data.with_name("kept")
        node.run(["cp", "-r", str(data), str(still)], timeout_seconds=_COPY_SECONDS, check=False)
        _copy(node, still, target)
        node.remove(still)
    for path in target.rglob(f"{_OF_ITS_OWN}*/*"):
        if path.parent.name != _METADATA_LOG or path.suffix != ".log":
            path.unlink()


def _copy(node: Node, source: Path, target: Path) -> None:
    """Copy a log directory from its node, without the files that are not needed."""
    node.copy_from(source, target)
    for path in target.rglob("*"):
        if path.name.endswith(_LEFT_ON_THE_NODE):
            path.unlink()

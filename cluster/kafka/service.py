"""A Kafka cluster as a ducktape service: real brokers and controllers, one per node."""

import re
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ducktape.services.service import Service

from cluster.ducktape import node_of
from cluster.kafka.config import (
    LOG_CONFIGS,
    format_options,
    java_options,
    new_directory_id,
    server_properties,
    setting_ms,
)
from cluster.kafka.topology import CLIENT_PORT, Topology
from cluster.nodes.node import Node, NodeProcess, NodeState
from contract.errors import NodeError
from contract.software import ClassPath

_STOP_SECONDS = 30
_LOG_TAIL_BYTES = 2000
_LINES_SHOWN = 20
_DIRECTORY_ID, _META = "directory.id", "meta.properties"
_FORMAT_SECONDS = 60
_CLUSTER_ID = "fencepost-cluster-000Q"


def log_end(tail: str) -> str:
    """Say how a log ends: by its last line, of which a message may be cut, then by more of them."""
    lines = [line for line in tail.splitlines() if line.strip()]
    if not lines:
        return "its log is empty"
    return "\n".join([f"its log ends with: {lines[-1].strip()}", *lines[:-1][-_LINES_SHOWN:]])


class KafkaService(Service):  # type: ignore[misc]
    """Starts, stops and kills single servers, and gives the paths of their files.

    It does not wait until a server is ready: a running server may still be fenced (see the
        observer).

    Attributes:
        proxy: the address of the proxy that clients use; None without one. Set before the start.
    """

    def __init__(
        self, context: Any, topology: Topology, *, version: str, classes: ClassPath | None = None
    ) -> None:
        """Allocate the nodes; nothing is started."""
        super().__init__(context, num_nodes=topology.node_count)
        self.topology = topology
        self.version = version
        first = ClassPath(locked=version) if classes is None else classes
        self._classes = dict.fromkeys(topology.server_ids, first)
        self._hosts = {
            server_id: node_of(allocated)
            for server_id, allocated in zip(topology.server_ids, self.nodes, strict=True)
        }
        self._processes: dict[int, NodeProcess] = {}
        self.proxy: str | None = None

    def host(self, server_id: int) -> Node:
        """The node of a server."""
        return self._hosts[server_id]

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` of all brokers."""
        return ",".join(map(self.bootstrap_through, self.topology.broker_ids))

    def settings_ms(self, *names: str) -> dict[str, int]:
        """Server settings in milliseconds, by name; see `setting_ms`."""
        return {name: setting_ms(self.topology, name) for name in names}

    def bootstrap_through(self, broker_id: int | None) -> str:
        """`bootstrap.servers` of one broker only; None: of all."""
        if broker_id is None:
            return self.bootstrap
        if self.proxy is not None:
            return f"{self.proxy}:{self.topology.proxy_port(broker_id)}"
        return f"{self._hosts[broker_id].address}:{CLIENT_PORT}"

    def data(self, server_id: int) -> Path:
        """The server's log directory, on its node."""
        return self._home(server_id) / "data"

    def directory_id(self, server_id: int) -> str:
        """The id of the server's log directory, by its `meta.properties`.

        Raises:
            NodeError: it is not formatted, or has no id.
        """
        lines = self._hosts[server_id].read(self.data(server_id) / _META).decode()
        found = [line for line in lines.splitlines() if line.startswith(f"{_DIRECTORY_ID}=")]
        if not found:
            raise NodeError(f"the log directory of server {server_id} has no id")
        return found[0].removeprefix(f"{_DIRECTORY_ID}=")

    def log_file(self, server_id: int) -> Path:
        """The server's log, on its node."""
        return self._home(server_id) / "server.log"

    def log_tail(self, server_id: int) -> str:
        """The last lines of the server's log."""
        content = self._hosts[server_id].read(self.log_file(server_id))
        return content[-_LOG_TAIL_BYTES:].decode(errors="replace")

    def start(self, **_kwargs: Any) -> None:
        """Format and start all servers at once."""
        ids = self.topology.server_ids
        alike: dict[str, list[int]] = {}
        for server_id in ids:
            # A voter of a dynamic quorum has a directory id that all of them know.
            kind = str(server_id) if self.topology.spares else self.topology.roles(server_id)
            alike.setdefault(kind, []).append(server_id)
        with ThreadPoolExecutor(len(ids)) as pool:
            list(pool.map(self._format, alike.values()))
            list(pool.map(self.start_server, ids))

    def start_server(self, server_id: int, *, fresh: bool = False) -> None:
        """Start one server; `fresh` configures it and formats its log directory first."""
        if self.is_running(server_id):
            raise NodeError(f"server {server_id} runs already")
        if fresh:
            self._format([server_id])
        home = self._home(server_id)
        serve = [*self._java(server_id), "kafka.Kafka", f"{home}/server.properties"]
        self._processes[server_id] = self._hosts[server_id].spawn(
            serve, log=self.log_file(server_id), cwd=home
        )

    def _format(self, server_ids: Sequence[int]) -> None:
        """Configure servers of the same roles, and format the log directory of the first.

        The others get copies, with ids of their own: a JVM less for each.
        """
        first, *others = server_ids
        for server_id in server_ids:
            self._configure(server_id)
        properties = f"{self._home(first)}/server.properties"
        form = [*self._java(first), "kafka.tools.StorageTool"]
        form += ["format", "-t", _CLUSTER_ID, "-c", properties]
        form += format_options(self.topology, server_id=first, addresses=self._addresses)
        self._hosts[first].run(form, timeout_seconds=_FORMAT_SECONDS)
        files = self._files_of(first) if others else {}
        for server_id in others:
            meta = files[_META].decode()
            for key, value in {"node.id": server_id, _DIRECTORY_ID: new_directory_id()}.items():
                meta = re.sub(rf"^{key}=.*", f"{key}={value}", meta, flags=re.MULTILINE)
            copies = {**files, _META: meta.encode()}
            data = self.data(server_id)
            self._hosts[server_id].write_all({data / name: copies[name] for name in copies})

    def _files_of(self, server_id: int) -> dict[str, bytes]:
        """The files of a formatted log directory, by their paths below it."""
        node, data = self._hosts[server_id], self.data(server_id)
        listed = ["find", str(data), "-type", "f", "-printf", r"%P\n"]
        names = node.run(listed, timeout_seconds=_FORMAT_SECONDS).output.splitlines()
        return {name: node.read(data / name) for name in names}

    def _java(self, server_id: int) -> list[str]:
        """The command of a JVM with the class path of a server."""
        node, classes = self._hosts[server_id], self._classes[server_id]
        class_path = node.class_path(classes.locked, classes.own)
        options = java_options(self._home(server_id), class_path, topology=self.topology)
        return [node.java, *node.class_data(class_path), *options]

    def classes(self, server_id: int) -> ClassPath:
        """The class path of a server's next start."""
        return self._classes[server_id]

    def install(self, server_id: int, classes: ClassPath) -> None:
        """Let a server have another class path from its next start on."""
        self._classes[server_id] = classes

    def is_running(self, server_id: int) -> bool:
        """Whether the server's process runs (paused counts as running)."""
        process = self._processes.get(server_id)
        return process is not None and process.status() is None

    def answering_brokers(self) -> list[int]:
        """The ids of brokers that run and are not paused, in order."""
        return [
            i
            for i in self.topology.broker_ids
            if self._hosts[i].state is not NodeState.SUSPENDED and self.is_running(i)
        ]

    def require_running(self, server_id: int) -> None:
        """Raise an error with the end of the server's log if it does not run.

        Raises:
            NodeError: its process ended.
        """
        if not self.is_running(server_id):
            status = self.process(server_id).status()
            ended = f"server {server_id} ended with status {status}"
            raise NodeError(f"{ended}; {log_end(self.log_tail(server_id))}")

    def process(self, server_id: int) -> NodeProcess:
        """The process that was last started for a server.

        Raises:
            NodeError: none was started.
        """
        try:
            return self._processes[server_id]
        except KeyError:
            raise NodeError(f"server {server_id} was never started") from None

    def kill_server(self, server_id: int) -> int:
        """SIGKILL a server; returns its exit status."""
        process = self.process(server_id)
        process.signal(signal.SIGKILL)
        return process.wait(_STOP_SECONDS)

    def stop_server(self, server_id: int) -> int:
        """Ask a server to shut down (controlled shutdown); returns its exit status."""
        process = self.process(server_id)
        process.signal(signal.SIGTERM)
        return process.wait(_STOP_SECONDS)

    def kill_all(self) -> None:
        """SIGKILL every server, so that the files stay as they are."""
        for server_id in self._processes:
            self.kill_if_running(server_id)

    def kill_if_running(self, server_id: int) -> None:
        """SIGKILL a server, unless it has ended or was never started."""
        if self.is_running(server_id):
            self.kill_server(server_id)

    def stop(self, **_kwargs: Any) -> None:
        """SIGKILL the server; at the end of a test no graceful shutdown is needed."""
        self.kill_all()

    def clean(self, **_kwargs: Any) -> None:
        """Remove the server's files from its node."""
        for server_id, node in self._hosts.items():
            node.remove(self._home(server_id))

    def _home(self, server_id: int) -> Path:
        return self._hosts[server_id].folder / "kafka"

    @property
    def _addresses(self) -> dict[int, str]:
        return {i: host.address for i, host in self._hosts.items()}

    def _configure(self, server_id: int) -> None:
        node, home = self._hosts[server_id], self._home(server_id)
        properties = server_properties(
            self.topology,
            server_id=server_id,
            addresses=self._addresses,
            data=self.data(server_id),
            proxy=self.proxy,
        )
        files = {"server.properties": properties, **LOG_CONFIGS}
        node.write_all({home / name: content.encode() for name, content in files.items()})

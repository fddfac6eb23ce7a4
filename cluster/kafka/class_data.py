"""Class data of Kafka's servers, recorded once per version from a server of its own."""

import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster.kafka import distribution
from cluster.kafka.config import LOG_CONFIGS, java_options, kafka_class_data, server_properties
from cluster.kafka.topology import Topology
from cluster.nodes.host import Host, HostProcess
from cluster.nodes.tether import tether_command
from contract.errors import FencepostError, NodeError
from contract.locks import temporary_folder
from contract.processes import CLASS_DATA_QUIET, java_command
from contract.waiting import wait_until

_ADDRESS = "127.0.0.1"
_LISTENERS = ("CLIENT", "REPLICATION", "CONTROLLER")
_CLUSTER_ID = "fencepost-classes-000Q"
_STARTED = b"Kafka Server started"
_START_SECONDS = 60
_END_SECONDS = 60
_LOG_TAIL_BYTES = 2000


def ensure(version: str, *, on_phase: Callable[[str], None]) -> str | None:
    """Make the class data archive of a version where it is missing, which takes some 10 s.

    Nothing is made where Java or the virtual environment can't have one, or another process makes
    it.

    Args:
        version: of Kafka, whose jars are checked before they are run.
        on_phase: called with what is made, before it is made.

    Returns:
        Why it could not be made; None if nothing failed.
    """
    try:
        class_path = distribution.class_path(version)
        place = kafka_class_data(class_path)
        if place is None or place.archive is not None:
            return None
        with place.making() as archive:
            if archive is not None:
                on_phase(f"recording the class data of Kafka {version}, once")
                recording = [*CLASS_DATA_QUIET, f"-XX:ArchiveClassesAtExit={archive}"]
                with lone_server(class_path, flags=recording) as server:
                    server.signal(signal.SIGTERM)
                    server.wait(_END_SECONDS)
    except (FencepostError, OSError) as error:
        return str(error)
    return None


@contextmanager
def lone_server(class_path: list[Path], *, flags: Sequence[str]) -> Iterator[HostProcess]:
    """A cluster of one server on loopback, started and ready; it is killed at the end.

    Raises:
        NodeError: its log directory can't be formatted, or it did not start.
        WaitTimeoutError: it did not start in time.
    """
    with temporary_folder("classes") as folder:
        home = folder.resolve()
        host = Host(home)
        for file, content in {"server.properties": _properties(home), **LOG_CONFIGS}.items():
            host.write(home / file, content.encode())
        options, properties = java_options(home, class_path), str(home / "server.properties")
        form = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", properties]
        ended = host.run(
            tether_command([java_command(), *options, *form]), timeout_seconds=_START_SECONDS
        )
        if ended.status != 0:
            raise NodeError(f"a log directory can't be formatted: {ended.output}")
        log = home / "server.log"
        serve = tether_command([java_command(), *options, *flags, "kafka.Kafka", properties])
        server = host.spawn(serve, log=log)
        try:
            _await_start(host, server, log)
            yield server
        finally:
            host.kill_all()


def _await_start(host: Host, server: HostProcess, log: Path) -> None:
    def tail() -> str:
        return host.read(log)[-_LOG_TAIL_BYTES:].decode(errors="replace")

    def is_started() -> bool:
        if server.status() is not None:
            raise NodeError(f"the server ended with status {server.status()}: {tail()}")
        return _STARTED in host.read(log)

    wait_until(
        is_started, what="the start of the server", timeout_seconds=_START_SECONDS, recent=tail
    )


def _properties(home: Path) -> str:
    """`server.properties` of one server that is all of a cluster, on free ports of loopback."""
    properties = server_properties(
        Topology(brokers=1), server_id=1, addresses={1: _ADDRESS}, data=home / "data"
    )
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in _LISTENERS]
        for free in sockets:
            free.bind((_ADDRESS, 0))
        ports = [free.getsockname()[1] for free in sockets]
    ends = [f"{name}://{_ADDRESS}:{port}" for name, port in zip(_LISTENERS, ports, strict=True)]
    last = {
        "listeners": ",".join(ends),
        "advertised.listeners": ",".join(ends[:2]),
        "controller.quorum.voters": f"1@{_ADDRESS}:{ports[2]}",
    }
    return properties + "".join(f"{key}={value}\n" for key, value in last.items())

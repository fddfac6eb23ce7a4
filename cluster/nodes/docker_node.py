"""A node in a container: reached by its agent and by archives, not over the network.

The connection to an agent is one per container and driver process.
"""

import base64
import itertools
import os
import socket
import tarfile
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from docker.errors import APIError, DockerException, NotFound
from docker.utils.socket import frames_iter

from cluster.clients import versions
from cluster.kafka import distribution
from cluster.kafka.lock import read_lock
from cluster.kafka.own_jars import verify_jars
from cluster.nodes import agent
from cluster.nodes.agent import ENCODER, REPLIES, Reply, Request, raise_error
from cluster.nodes.docker_client import connect, explain_error, owned_by_root, unpack
from cluster.nodes.node import Capability, Completed, Node, NodeProcess
from cluster.nodes.traffic import Packets, Traffic
from contract.errors import DistributionError, NodeError
from contract.packages import python
from contract.software import Jar, digest
from contract.waiting import wait_until

REPLY_SECONDS = 30
_STDOUT = 1
_SAID_BYTES = 2000

_WHAT_TO_DO = (
    "its container or the Docker daemon ended. See `docker ps --all`; `fencepost clean` removes "
    "the rest"
)

_links: dict[tuple[int, str], "AgentLink"] = {}
_lock = threading.Lock()


def link_to(container: str, *, name: str, command: list[str]) -> "AgentLink":
    """Return this process's link to a container's agent, which `command` starts if needed.

    Raises:
        NodeError: the container can't run commands.
    """
    key = (os.getpid(), container)
    with _lock:
        if key not in _links or not _links[key].is_alive:
            _links[key] = AgentLink(container, name=name, command=command)
        return _links[key]


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream of pieces, each as soon as it is complete.

    A line of n bytes costs n steps, however small its pieces are: a reply can hold a file of many
        megabytes, and arrives in kilobytes.
    """
    begun = bytearray()
    for piece in pieces:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield bytes(begun) + end
            begun.clear()
        begun += rest


class AgentLink:
    """Sends requests and returns replies; safe to use from several threads."""

    def __init__(self, container: str, *, name: str, command: list[str]) -> None:
        """Start the agent by an exec; its input ends with this process."""
        self._name = name
        self._ids = itertools.count(1)
        self._waiting: dict[int, Future[Reply]] = {}
        self._sending = threading.Lock()
        self._said = b""
        self.is_alive = True
        try:
            api = connect().api
            created = api.exec_create(container, command, stdin=True)
            self._stream = api.exec_start(created, socket=True)
        except (APIError, DockerException, OSError) as error:
            raise NodeError(
                f"{name} can't run commands ({explain_error(error)}): {_WHAT_TO_DO}"
            ) from error
        self._socket: socket.socket = self._stream._sock  # noqa: SLF001 - docker's way
        self._socket.settimeout(None)
        threading.Thread(target=self._receive, daemon=True).start()

    def ask(self, request: Request, *, timeout_seconds: float = REPLY_SECONDS) -> Any:
        """Send a request and wait for its result.

        Raises:
            NodeError: the node does not reply; or any error of the request on the node.
        """
        numbered = msgspec.structs.replace(request, id=next(self._ids))
        answer: Future[Reply] = Future()
        with self._sending:
            self._waiting[numbered.id] = answer
            if not self.is_alive:
                raise NodeError(self._why())
            try:
                self._socket.sendall(ENCODER.encode(numbered) + b"\n")
            except OSError:
                self._give_up()
        try:
            reply = answer.result(timeout_seconds)
        except FutureTimeoutError:
            raise NodeError(
                f"{self._name} did not reply to {type(request).__name__} within "
                f"{timeout_seconds:g} s: is its container paused, or the machine overloaded?"
            ) from None
        finally:
            self._waiting.pop(numbered.id, None)
        raise_error(reply, where=self._name)
        return reply.result

    def _receive(self) -> None:
        """Pass replies to their callers until the stream ends."""
        try:
            for line in lines_of(self._pieces()):
                reply = REPLIES.decode(line)
                waiting = self._waiting.get(reply.id)
                if waiting is not None:
                    waiting.set_result(reply)
        except (OSError, ValueError):
            pass
        self._give_up()

    def _pieces(self) -> Iterator[bytes]:
        """The agent's standard output, piece by piece; standard error is kept."""
        for kind, payload in frames_iter(self._stream, tty=False):
            if kind == _STDOUT:
                yield payload
            else:
                self._said = (self._said + payload)[-_SAID_BYTES:]

    def _give_up(self) -> None:
        """Fail all waiting requests after the stream has ended."""
        self.is_alive = False
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(NodeError(self._why()))

    def _why(self) -> str:
        said = self._said.decode(errors="replace").strip()
        return f"{self._name} closed the connection{f' ({said})' if said else ''}: {_WHAT_TO_DO}"


FOLDER = PurePosixPath("/var/lib/fencepost")
CODE = PurePosixPath("/opt/fencepost/code")
JARS = PurePosixPath("/opt/fencepost/kafka")
PYTHON = "/opt/fencepost/venv/bin/python"
_AGENT = python("cluster.nodes.agent", str(FOLDER), program=PYTHON)
_GRACE_SECONDS = 15


class DockerProcess(NodeProcess):
    """A process that a node's agent started, in a process group of its own."""

    def __init__(self, node: "DockerNode", pid: int) -> None:
        """`pid` is the process's id within the container."""
        self._node, self._pid = node, pid

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._pid

    def send_line(self, line: str) -> None:
        """Write one line to its standard input."""
        self._node.ask(agent.SendLine(pid=self._pid, line=line))

    def signal(self, number: int) -> None:
        """Signal its whole group."""
        self._node.ask(agent.SignalGroup(pid=self._pid, number=number))

    def status(self) -> int | None:
        """Its exit status, None while it runs or its node is paused."""
        if self._node.is_frozen:
            return None
        status: int | None = self._node.ask(agent.AskStatus(pid=self._pid))
        return status

    def wait(self, timeout_seconds: float) -> int:
        """Wait for its end, and return its exit status."""
        what = f"the end of process {self.pid} on {self._node.name}"
        return wait_until(self.status, what=what, timeout_seconds=timeout_seconds)


class DockerNode(Node):
    """A container of the pool; it keeps names only, so that a fork can use it."""

    is_frozen = False

    def __init__(
        self, name: str, container: str, address: str, *, jars_mounted: Path | None
    ) -> None:
        """The container must run; `jars_mounted` is the folder of this machine behind its jars."""
        self.name = name
        self.address = address
        self.folder = Path(FOLDER)
        self.python = PYTHON
        self.java = "java"
        self.capabilities = frozenset({Capability.CUT})
        self.container = container
        self._jars_mounted = jars_mounted

    def ask(self, request: agent.Request, *, timeout_seconds: float = REPLY_SECONDS) -> Any:
        """Let the node's agent carry out a request.

        Raises:
            NodeError: it does not reply; or any error of the request on the node.
        """
        link = link_to(self.container, name=self.name, command=_AGENT)
        return link.ask(request, timeout_seconds=timeout_seconds)

    def class_path(self, version: str, own: Sequence[Jar] = ()) -> list[Path]:
        """Return own jars, copied in, and the mounted ones; copies if another folder is mounted."""
        return [*self._own_jars(own), *(self._locked_jars(version) if version else [])]

    def _own_jars(self, own: Sequence[Jar]) -> list[Path]:
        """Copy own jars that the node does not have, and return their paths there, in order."""
        folder = Path(f"{FOLDER}-kafka") / f"own-{digest(own)}"
        jar_by_name = {f"{number:03}-{jar.name}": jar for number, jar in enumerate(own)}
        hashes = {name: jar.sha256 for name, jar in jar_by_name.items()}
        lacking = self._not_as_locked(folder, hashes) if own else []
        for name, source in zip(jar_by_name, verify_jars(own), strict=True):
            if name in lacking:
                self.copy_to(source, folder / name)
        if lacking and (wrong := self._not_as_locked(folder, hashes)):
            raise DistributionError(
                f"{self.name}: the copies of {', '.join(wrong)} in {folder} differ from the jars "
                "that were copied. Start the command again"
            )
        return [folder / name for name in jar_by_name]

    def _locked_jars(self, version: str) -> list[Path]:
        jars, hashes = distribution.class_path(version), read_lock(version).hashes
        is_mounted = self._jars_mounted == jars[0].parent.parent
        folder = Path(JARS / version) if is_mounted else Path(f"{FOLDER}-kafka") / version
        if not is_mounted and self._not_as_locked(folder, hashes):
            for jar in jars:
                self.copy_to(jar, folder / jar.name)
        if wrong := self._not_as_locked(folder, hashes):
            raise DistributionError(
                f"{self.name} has another {', '.join(wrong)} in {folder} than the lock file of "
                f"Kafka {version} names. Start the container again: docker compose down, then up"
            )
        return [folder / jar.name for jar in jars]

    def packages(self, client: str) -> Path:
        """Copy the packages for the node's Python, and return their folder there."""
        folder = versions.ensure(client, is_for_nodes=True)
        place = Path(f"{FOLDER}-clients") / folder.name
        self.copy_to(folder, place)
        return place

    def _not_as_locked(self, folder: Path, hashes: Mapping[str, str]) -> list[str]:
        """Return the names of jars that a folder of the node lacks or has with another hash."""
        paths = [str(folder / name) for name in hashes]
        found = self.ask(agent.HashFiles(paths=paths))
        return [name for name, wanted in hashes.items() if found[str(folder / name)] != wanted]

    def _run(
        self, argv: Sequence[str], *, timeout_seconds: float, env: Mapping[str, str]
    ) -> Completed:
        request = agent.RunCommand(argv=list(argv), timeout_seconds=timeout_seconds, env=dict(env))
        status, output = self.ask(request, timeout_seconds=timeout_seconds + _GRACE_SECONDS)
        return Completed(status, output)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> NodeProcess:
        """Start a process with a pipe as its standard input."""
        place = None if cwd is None else str(cwd)
        request = agent.Spawn(argv=list(argv), log=str(log), env=dict(env or {}), cwd=place)
        return DockerProcess(self, self.ask(request))

    def read(self, path: Path, *, offset: int = 0) -> bytes:
        """A file's bytes from `offset` on."""
        return base64.b64decode(self.ask(agent.ReadFile(path=str(path), offset=offset)))

    def write_all(self, files: Mapping[Path, bytes]) -> None:
        """Create or replace several files."""
        for path, content in files.items():
            self.ask(agent.WriteFile(path=str(path), content=content))

    def copy_from(self, source: Path, target: Path) -> None:
        """Copy from the node, as an archive."""
        try:
            chunks, _ = self._container().get_archive(str(source))
        except NotFound:
            raise NodeError(f"{self.name}: there is no {source}") from None
        with tempfile.TemporaryFile() as archive:
            archive.writelines(chunks)
            archive.seek(0)
            unpack(archive, target)

    def copy_to(self, source: Path, target: Path) -> None:
        """Copy to the node, as an archive."""
        with tempfile.TemporaryFile() as archive:
            with tarfile.open(fileobj=archive, mode="w") as tar:
                place = str(PurePosixPath(target).relative_to("/"))
                tar.add(source, arcname=place, filter=owned_by_root)
            archive.seek(0)
            try:
                self._container().put_archive("/", archive)
            except (APIError, DockerException, OSError) as error:
                raise NodeError(
                    f"{self.name} can't receive files: {explain_error(error)}"
                ) from error

    def remove(self, path: Path) -> None:
        """Remove a file or a folder."""
        self.ask(agent.RemovePath(path=str(path)))

    def shell_command(self) -> list[str]:
        """Return a `docker exec` command."""
        return ["docker", "exec", "--interactive", self.name]

    def pause(self) -> None:
        """Freeze the container's control group: none of its processes runs, including its agent."""
        self._container().pause()
        self.is_frozen = True

    def resume(self) -> None:
        """Thaw the container."""
        if self.is_frozen:
            self._container().unpause()
            self.is_frozen = False

    def is_suspended(self) -> bool:
        """Whether the daemon reports that the container is frozen."""
        return bool(self._container().status == "paused")

    def kill(self) -> None:
        """SIGKILL everything that the node's agent started."""
        self.ask(agent.KillAll())

    def block(self, traffic: Traffic) -> None:
        """Drop packets by a rule in the container's namespace."""
        self.ask(agent.Block(traffic=traffic))

    def unblock(self, traffic: Traffic) -> None:
        """Remove that one rule."""
        self.ask(agent.Unblock(traffic=traffic))

    def packets(self, traffic: Traffic) -> Packets | None:
        """Return the counts of that rule."""
        return msgspec.convert(self.ask(agent.CountPackets(traffic=traffic)), Packets | None)

    def _container(self) -> Any:
        try:
            return connect().containers.get(self.container)
        except (APIError, DockerException, OSError) as error:
            raise NodeError(f"{self.name}'s container can't be reached: {error}") from error

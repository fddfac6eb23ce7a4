"""A node in a container: everything by exec and archive, never by its address from the host."""

import io
import shlex
import signal
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from docker.errors import APIError, NotFound
from docker.utils.socket import frames_iter

from cluster.kafka import distribution
from cluster.nodes.docker_client import connect
from cluster.nodes.node import Capability, Completed, Node, NodeProcess
from harness.contract.errors import CommandFailedError, FaultError, NodeError, WaitTimeoutError
from harness.contract.waiting import wait_until

FOLDER = PurePosixPath("/var/lib/fencepost")
CODE = PurePosixPath("/opt/fencepost/code")
JARS = PurePosixPath("/opt/fencepost/kafka")
_PYTHON = "/opt/fencepost/venv/bin/python"
_TIMED_OUT = 124
_SIGNALLED = 128
_OUTPUT_SHOWN = 2000


class DockerProcess(NodeProcess):
    """A process that one exec started; it leads a session and process group of its own."""

    def __init__(self, node: "DockerNode", exec_id: str, stdin: Any, pid: int) -> None:
        """`pid` is the process's id within the container."""
        self._node, self._exec, self._stdin, self._pid = node, exec_id, stdin, pid

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._pid

    def send_line(self, line: str) -> None:
        """Write one line to its standard input."""
        try:
            self._stdin.sendall(line.encode() + b"\n")
        except OSError:
            raise NodeError(f"process {self.pid} has ended and takes no more lines") from None

    def signal(self, number: int) -> None:
        """Signal its whole group."""
        if self.status() is None:
            self._node.run(
                ["kill", f"-{number}", "--", f"-{self.pid}"], timeout_seconds=10, check=False
            )

    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        state = connect().api.exec_inspect(self._exec)
        if state["Running"]:
            return None
        status = int(state["ExitCode"])
        return _SIGNALLED - status if status > _SIGNALLED else status

    def wait(self, timeout_seconds: float) -> int:
        """Wait for its end."""
        ended = wait_until(
            lambda: (self.status(),) if self.status() is not None else None,
            what=f"the end of process {self.pid} on {self._node.name}",
            timeout_seconds=timeout_seconds,
        )
        status = ended[0]
        return -signal.SIGKILL if status is None else status


class DockerNode(Node):
    """A container of the pool; only names are kept, so that a fork can use it too."""

    def __init__(
        self, name: str, container: str, address: str, *, jars_mounted: Path | None
    ) -> None:
        """The container must run; `jars_mounted` is this machine's folder behind its jars."""
        self.name = name
        self.address = address
        self.folder = Path(FOLDER)
        self.python = _PYTHON
        self.java = "java"
        self.capabilities = frozenset({Capability.CUT_PEER, Capability.PAUSE})
        self.container = container
        self._jars_mounted = jars_mounted

    def kafka_jars(self, version: str) -> Path:
        """The mounted cache; where another folder is mounted, the jars are copied in."""
        jars = distribution.ensure(version, progress=False)
        if self._jars_mounted == jars.parent:
            return Path(JARS / version)
        copied = Path(f"{FOLDER}-kafka") / version
        if not self.read(copied / ".complete"):
            self.copy_to(jars, copied)
        return copied

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_seconds: float,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command to its end."""
        bounded = ["timeout", "--signal=KILL", f"{timeout_seconds:g}", *argv]
        created = self._create(bounded, env=env, stdin=False)
        output = connect().api.exec_start(created).decode(errors="replace")
        status = int(connect().api.exec_inspect(created)["ExitCode"])
        if status in (_TIMED_OUT, _SIGNALLED + signal.SIGKILL):
            raise WaitTimeoutError(
                f"{argv[0]} on {self.name} did not end within {timeout_seconds:g} s"
            )
        if check and status != 0:
            raise CommandFailedError(
                f"{shlex.join(argv)} on {self.name} ended with status {status}: "
                f"{output[-_OUTPUT_SHOWN:]}"
            )
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
        place = shlex.quote(str(cwd or self.folder))
        output = shlex.quote(str(log))
        # The shell leads a session of its own; the process takes its place, and so its id.
        script = (
            f"mkdir -p {place} {shlex.quote(str(log.parent))} && cd {place} && echo $$ && "
            f"exec {shlex.join(argv)} >> {output} 2>&1"
        )
        created = self._create(["sh", "-c", script], env=env, stdin=True)
        stream = connect().api.exec_start(created, socket=True)
        try:
            pid = int(_first_line(stream))
        except ValueError:
            raise NodeError(f"{argv[0]} did not start on {self.name}") from None
        return DockerProcess(self, created, stream._sock, pid)  # noqa: SLF001 - docker's way

    def read(self, path: Path, *, offset: int = 0) -> bytes:
        """A file's bytes from `offset` on."""
        script = (
            f"[ ! -e {shlex.quote(str(path))} ] || tail -c +{offset + 1} {shlex.quote(str(path))}"
        )
        created = self._create(["sh", "-c", script], env=None, stdin=False)
        content: bytes = connect().api.exec_start(created)
        return content

    def write(self, path: Path, content: bytes) -> None:
        """Create or replace a file."""
        self.write_all({path: content})

    def write_all(self, files: Mapping[Path, bytes]) -> None:
        """Create or replace several files, in one archive."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for path, content in files.items():
                entry = tarfile.TarInfo(str(PurePosixPath(path).relative_to("/")))
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        self._put(archive.getvalue(), "/")

    def copy_from(self, source: Path, target: Path) -> None:
        """Copy from the node, as an archive."""
        try:
            chunks, _ = self._container().get_archive(str(source))
        except NotFound:
            raise NodeError(f"{self.name}: there is no {source}") from None
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
            for member in tar.getmembers():
                _, _, below = member.name.partition("/")
                place = target / below if below else target
                if member.isdir():
                    place.mkdir(parents=True, exist_ok=True)
                elif member.isfile():
                    content = tar.extractfile(member)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(content.read() if content else b"")

    def copy_to(self, source: Path, target: Path) -> None:
        """Copy to the node, as an archive."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.add(source, arcname=str(PurePosixPath(target).relative_to("/")))
        self._put(archive.getvalue(), "/")

    def remove(self, path: Path) -> None:
        """Remove a file or a folder."""
        self.run(["rm", "-rf", str(path)], timeout_seconds=60)

    def cut_peer(self, peer: Node) -> None:
        """Send what is for the peer into a blackhole."""
        self._blackhole("add", peer)

    def heal_peer(self, peer: Node) -> None:
        """Remove that one route."""
        self._blackhole("remove", peer)

    def _blackhole(self, action: str, peer: Node) -> None:
        command = [self.python, "-m", "cluster.nodes.blackhole", action, peer.address]
        ended = self.run(command, timeout_seconds=30, check=False)
        if ended.status != 0:
            raise FaultError(f"{self.name} to {peer.name}, {action} a blackhole: {ended.output}")

    def _create(self, argv: Sequence[str], *, env: Mapping[str, str] | None, stdin: bool) -> str:
        try:
            created = connect().api.exec_create(
                self.container, list(argv), stdin=stdin, environment=dict(env or {})
            )
        except APIError as error:
            raise NodeError(f"{self.name} takes no command: {error.explanation}") from error
        identity: str = created["Id"]
        return identity

    def _put(self, archive: bytes, folder: str) -> None:
        if not self._container().put_archive(folder, archive):
            raise NodeError(f"{self.name} takes no files")

    def _container(self) -> Any:
        return connect().containers.get(self.container)


def _first_line(stream: Any) -> bytes:
    """The first line that an exec prints; its output comes in frames of a header and a payload."""
    for _, payload in frames_iter(stream, tty=False):
        line: bytes = payload.splitlines()[0]
        return line
    return b""

"""A node whose processes run on this machine and whose files lie below one folder of it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.kafka import distribution
from cluster.nodes.java import java_command
from cluster.nodes.node import Capability, Completed, Node, NodeProcess
from harness.contract.errors import CommandFailedError, FaultError, NodeError, WaitTimeoutError

_ROOT = Path(__file__).resolve().parent.parent.parent
_OUTPUT_SHOWN = 2000


class LocalProcess(NodeProcess):
    """A child of the harness, leading a process group of its own."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        """Take over a child that was started with a pipe as its standard input."""
        self._child = child

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._child.pid

    def send_line(self, line: str) -> None:
        """Write one line to its standard input."""
        if self._child.stdin is None:
            raise NodeError(f"process {self.pid} has no standard input")
        try:
            self._child.stdin.write(line.encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise NodeError(f"process {self.pid} has ended and takes no more lines") from None

    def signal(self, number: int) -> None:
        """Signal its whole group."""
        if self.status() is None:
            os.killpg(self.pid, number)

    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._child.poll()

    def wait(self, timeout_seconds: float) -> int:
        """Wait for its end."""
        try:
            return self._child.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise WaitTimeoutError(
                f"process {self.pid} ({self._child.args!r}) still runs after {timeout_seconds:g} s"
            ) from None


class LocalNode(Node):
    """Processes and files on this machine; `_enter` says how a command gets into the node."""

    def __init__(
        self, name: str, address: str, root: Path, capabilities: frozenset[Capability]
    ) -> None:
        """Make the node's folder below `root`."""
        self.name = name
        self.address = address
        self.folder = root / name
        self.python = sys.executable
        self.java = java_command()
        self.capabilities = capabilities
        self.folder.mkdir(parents=True, exist_ok=True)

    def _enter(self) -> list[str]:
        """What to put before a command so that it runs on the node."""
        return []

    def kafka_jars(self, version: str) -> Path:
        """The user's cache, which every local node shares."""
        return distribution.ensure(version, progress=False)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_seconds: float,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command to its end."""
        try:
            ended = subprocess.run(
                [*self._enter(), *argv],
                env=_environment(env),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise WaitTimeoutError(
                f"{argv[0]} on {self.name} did not end within {timeout_seconds:g} s"
            ) from None
        except FileNotFoundError as error:
            raise CommandFailedError(f"{error.filename} is not installed on {self.name}") from None
        completed = Completed(ended.returncode, ended.stdout.decode(errors="replace"))
        if check and completed.status != 0:
            raise CommandFailedError(
                f"{' '.join(argv)} on {self.name} ended with status {completed.status}: "
                f"{completed.output[-_OUTPUT_SHOWN:]}"
            )
        return completed

    def spawn(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> NodeProcess:
        """Start a process with a pipe as its standard input."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            child = subprocess.Popen(
                [*self._enter(), *argv],
                env=_environment(env),
                cwd=cwd or self.folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return LocalProcess(child)

    def read(self, path: Path, *, offset: int = 0) -> bytes:
        """A file's bytes; the node's files are this machine's."""
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read()
        except FileNotFoundError:
            return b""

    def write(self, path: Path, content: bytes) -> None:
        """Create or replace a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def copy_from(self, source: Path, target: Path) -> None:
        """Copy from the node."""
        _copy(source, target, whose=self.name)

    def copy_to(self, source: Path, target: Path) -> None:
        """Copy to the node."""
        _copy(source, target, whose=self.name)

    def remove(self, path: Path) -> None:
        """Remove a file or a folder."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def cut_peer(self, peer: Node) -> None:
        """A plain local node has no network of its own."""
        raise FaultError(
            f"{self.name} can't be cut from {peer.name}: this pool has no network of its own; "
            "use --cluster embedded"
        )

    def heal_peer(self, peer: Node) -> None:
        """Nothing was ever cut."""


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_ROOT), **(extra or {})}


def _copy(source: Path, target: Path, *, whose: str) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    else:
        raise NodeError(f"{whose}: there is no {source}")

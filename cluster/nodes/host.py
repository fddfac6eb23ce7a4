"""Processes and files of the machine that this code runs on: the base of every local node."""

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.nodes.node import Completed, NodeProcess
from contract.errors import CommandFailedError, NodeError, WaitTimeoutError
from contract.files import open_to_append, replacing
from contract.packages import environment


class HostProcess(NodeProcess):
    """A child of this process, in a process group of its own."""

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
            raise NodeError(f"process {self.pid} has ended and reads no more lines") from None

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


class Host:
    """Runs commands and keeps files; `enter` is prepended to every command."""

    def __init__(self, folder: Path, *, enter: Sequence[str] = ()) -> None:
        """Create `folder`, in which commands run."""
        self.folder = folder
        self._enter = tuple(enter)
        self._processes: list[HostProcess] = []
        folder.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_seconds: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end.

        Raises:
            WaitTimeoutError: it did not end in time, and was killed.
            CommandFailedError: there is no such command.
        """
        try:
            ended = subprocess.run(
                [*self._enter, *argv],
                env=environment(env),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise WaitTimeoutError(f"{argv[0]} did not end within {timeout_seconds:g} s") from None
        except FileNotFoundError as error:
            raise CommandFailedError(f"{error.filename} is not installed") from None
        return Completed(ended.returncode, ended.stdout.decode(errors="replace"))

    def spawn(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> HostProcess:
        """Start a process with a pipe as its standard input, its output appended to `log`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with open_to_append(log) as output:
            child = subprocess.Popen(
                [*self._enter, *argv],
                env=environment(env),
                cwd=cwd or self.folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = HostProcess(child)
        self._processes.append(process)
        return process

    def running(self) -> list[int]:
        """The ids of the processes that were spawned here and still run."""
        return [process.pid for process in self._processes if process.status() is None]

    def signal_all(self, number: int) -> None:
        """Send a signal to every process that was spawned here and still runs."""
        for process in self._processes:
            process.signal(number)

    def kill_all(self) -> None:
        """SIGKILL everything that was spawned here, and wait for its end."""
        self.signal_all(signal.SIGKILL)
        for process in self._processes:
            process.wait(10)

    def read(self, path: Path, *, offset: int = 0) -> bytes:
        """A file's bytes from `offset` on; empty where there is no such file."""
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read()
        except FileNotFoundError:
            return b""

    def sha256(self, path: Path) -> str:
        """Return a file's SHA-256 in hexadecimal; empty where it can't be read."""
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""

    def write(self, path: Path, content: bytes) -> None:
        """Create or replace a file.

        Raises:
            NodeError: it can't be written, e.g. since the disk is full.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(content)
        except OSError as error:
            raise NodeError(f"{path} can't be written: {error.strerror}") from None

    def remove(self, path: Path) -> None:
        """Remove a file or a folder."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

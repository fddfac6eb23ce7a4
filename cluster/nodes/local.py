"""A node whose processes run on this machine and whose files lie below one folder of it."""

import shutil
import signal
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from cluster.java import java_command, with_class_data
from cluster.kafka import distribution
from cluster.kafka.java import kafka_class_data
from cluster.kafka.own_jars import verified
from cluster.nodes.host import Host
from cluster.nodes.node import Capability, Completed, Node, NodeProcess
from cluster.nodes.traffic import Packets, Traffic
from contract.builds import Jar
from contract.errors import FaultError, NodeError


class LocalNode(Node):
    """Processes and files on this machine; `enter` is the command that enters the node."""

    def __init__(
        self,
        name: str,
        address: str,
        root: Path,
        capabilities: frozenset[Capability],
        *,
        enter: Sequence[str] = (),
    ) -> None:
        """Make the node's folder below `root`."""
        self.name = name
        self.address = address
        self.folder = root / name
        self.python = sys.executable
        self.java = java_command()
        self.capabilities = capabilities
        self._enter = list(enter)
        self._host = Host(self.folder, enter=enter)

    def class_path(self, version: str, own: Sequence[Jar] = ()) -> list[Path]:
        """Return own jars in their place, and those in the user's cache, shared by local nodes."""
        return [*verified(own), *(distribution.class_path(version) if version else [])]

    def class_data(self, class_path: Sequence[Path]) -> list[str]:
        """Return the options of this machine's archive."""
        return with_class_data(kafka_class_data(class_path))

    def _run(
        self, argv: Sequence[str], *, timeout_seconds: float, env: Mapping[str, str]
    ) -> Completed:
        return self._host.run(argv, timeout_seconds=timeout_seconds, env=env)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> NodeProcess:
        """Start a process with a pipe as its standard input."""
        return self._host.spawn(argv, log=log, env=env, cwd=cwd)

    def read(self, path: Path, *, offset: int = 0) -> bytes:
        """A file's bytes; the node's files are this machine's."""
        return self._host.read(path, offset=offset)

    def write_all(self, files: Mapping[Path, bytes]) -> None:
        """Create or replace files."""
        for path, content in files.items():
            self._host.write(path, content)

    def copy_from(self, source: Path, target: Path) -> None:
        """Copy from the node."""
        _copy(source, target, whose=self.name)

    def copy_to(self, source: Path, target: Path) -> None:
        """Copy to the node."""
        _copy(source, target, whose=self.name)

    def remove(self, path: Path) -> None:
        """Remove a file or a folder."""
        self._host.remove(path)

    def shell_command(self) -> list[str]:
        """Return `enter`, as for every command."""
        return self._enter

    def pause(self) -> None:
        """SIGSTOP everything on the node."""
        self._host.signal_all(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        """SIGCONT everything on the node."""
        self._host.signal_all(signal.SIGCONT)
        self.is_paused = False

    def is_suspended(self) -> bool:
        """Return whether SIGSTOP holds each process."""
        states = {psutil.Process(pid).status() for pid in self._host.running()}
        return states == {psutil.STATUS_STOPPED}

    def kill(self) -> None:
        """SIGKILL everything on the node."""
        self._host.kill_all()

    def block(self, traffic: Traffic) -> None:
        """Raise an error: a plain local node has no network of its own."""
        raise FaultError(
            f"{self.name} can't be partitioned from {traffic.peer}: this pool has no network of "
            "its own; use --cluster embedded"
        )

    def unblock(self, traffic: Traffic) -> None:
        """Nothing was ever blocked."""

    def packets(self, traffic: Traffic) -> Packets | None:
        """There is no rule."""
        del traffic
        return None


def _copy(source: Path, target: Path, *, whose: str) -> None:
    """Copy a file or a folder, without links and devices, whose targets are outside of the node."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=_no_files)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    else:
        raise NodeError(f"{whose}: there is no {source}")


def _no_files(folder: str, names: list[str]) -> list[str]:
    """Return the names in a folder that are neither a file nor a folder."""
    modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
    return [name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))]

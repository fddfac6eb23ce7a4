"""Nodes whose processes run on this machine, with files below one folder each, and their pools.

Loopback: nodes are folders, each with a loopback address of its own. For machines without
namespaces; it supports process faults only.

Embedded: a network namespace and a folder per node, and one bridge between them. It must be created
inside a sandbox (`cluster.nodes.sandbox`), whose end removes all of it.
"""

import functools
import os
import shutil
import signal
import socket
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import psutil
from pyroute2 import IPRoute, NetNS, netns

from cluster.clients import versions
from cluster.kafka import distribution
from cluster.kafka.config import kafka_class_data
from cluster.kafka.own_jars import verify_jars
from cluster.nodes import firewall
from cluster.nodes.host import Host
from cluster.nodes.node import FIRST_HOST, Capability, Completed, Node, NodeProcess
from cluster.nodes.tether import tether_command
from cluster.nodes.traffic import Packets, Traffic
from contract.errors import FaultError, NodeError, PrerequisiteError
from contract.files import copy_file
from contract.locks import HeldName, hold_first
from contract.processes import java_command, with_class_data
from contract.software import Jar


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
        return [*verify_jars(own), *(distribution.class_path(version) if version else [])]

    def packages(self, client: str) -> Path:
        """Return the folder in the user's cache."""
        return versions.ensure(client)

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

    def resume(self) -> None:
        """SIGCONT everything on the node."""
        self._host.signal_all(signal.SIGCONT)

    def is_suspended(self) -> bool:
        """Return whether SIGSTOP holds each process, and each that it started."""
        spawned = [psutil.Process(pid) for pid in self._host.running()]
        every = [*spawned, *(child for each in spawned for child in each.children(recursive=True))]
        states = {process.status() for process in every}
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
        shutil.copytree(
            source, target, dirs_exist_ok=True, ignore=_no_files, copy_function=copy_file
        )
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_file(source, target)
    else:
        raise NodeError(f"{whose}: there is no {source}")


def _no_files(folder: str, names: list[str]) -> list[str]:
    """Return the names in a folder that are neither a file nor a folder."""
    modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
    return [name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))]


_NETWORKS = 256


class LoopbackNode(LocalNode):
    """A node whose processes end with the harness, where the kernel supports it (Linux)."""

    def __init__(self, name: str, address: str, root: Path, *, held: HeldName) -> None:
        """Processes bind to `address`, so that nodes can use the same ports.

        `held` keeps other runs off the addresses of the pool, as long as one of its nodes exists.
        """
        super().__init__(name, address, root, frozenset())
        self._held = held

    def spawn(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> NodeProcess:
        """Start a process that ends with the calling process, which may be a fork."""
        spawn = functools.partial(super().spawn, tether_command([*argv]), log=log, env=env, cwd=cwd)
        return _parent(os.getpid()).submit(spawn).result()

    def shell_command(self) -> list[str]:
        """Return no prefix: the node is this machine."""
        return []


@functools.cache
def _parent(pid: int) -> ThreadPoolExecutor:
    """Return the thread of process `pid` that spawns, which lasts until the process ends.

    On Linux the parent is a thread: its tethered children are killed when that thread ends.
    """
    return ThreadPoolExecutor(1, thread_name_prefix=f"parent-{pid}")


class LoopbackPool:
    """Nodes `node-1`, `node-2`, ... at 127.0.0.11, 127.0.0.12, ...

    A second pool of this machine has 127.0.1.11, 127.0.1.12, ... while the first one is held.
    """

    def __init__(self, *, size: int, root: Path) -> None:
        """Take the first free network, and check that its addresses can be bound."""
        self.nodes: list[Node] = []
        network, held = _take_network()
        for index in range(size):
            address = f"127.0.{network}.{FIRST_HOST + index}"
            _require_bindable(address)
            self.nodes.append(LoopbackNode(f"node-{index + 1}", address, root, held=held))


def _take_network() -> tuple[str, HeldName]:
    """Lock and return the first of the networks 127.0.0.0, 127.0.1.0, ... that no run holds.

    Locks are a user's own. On Linux, where each network can be bound, each user begins at another.

    Raises:
        PrerequisiteError: all are held.
    """
    first = os.getuid() if sys.platform == "linux" else 0
    try:
        return hold_first((str((first + at) % _NETWORKS) for at in range(_NETWORKS)), "loopback-")
    except BlockingIOError:
        raise PrerequisiteError(
            f"{_NETWORKS} runs on loopback hold all its networks: wait until one has ended"
        ) from None


def _require_bindable(address: str) -> None:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            raise PrerequisiteError(
                f"{address} can't be bound ({error.strerror}); on macOS add it with: "
                f"sudo ifconfig lo0 alias {address}"
            ) from None


_T = TypeVar("_T")

_BRIDGE = "fencepost0"
_NETWORK = "10.88.0"
_PREFIX_BITS = 24


class NetnsNode(LocalNode):
    """A node in a network namespace of its own."""

    def __init__(self, name: str, address: str, root: Path) -> None:
        """The namespace `name` must exist."""
        enter = ["nsenter", f"--net=/run/netns/{name}"]
        super().__init__(name, address, root, frozenset({Capability.CUT}), enter=enter)

    def block(self, traffic: Traffic) -> None:
        """Drop packets by a rule in the node's namespace."""
        self._inside(firewall.block, traffic)

    def unblock(self, traffic: Traffic) -> None:
        """Remove that one rule."""
        self._inside(firewall.unblock, traffic)

    def packets(self, traffic: Traffic) -> Packets | None:
        """Return the counts of that rule."""
        return self._inside(firewall.packets, traffic)

    def _inside(self, act: Callable[[Traffic], _T], traffic: Traffic) -> _T:
        """Run a function in the node's namespace, in a thread of its own."""

        def enter_and_act() -> _T:
            netns.setns(self.name)
            return act(traffic)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(enter_and_act).result()


class EmbeddedPool:
    """Nodes `node-1`, `node-2`, ... on one bridge without an uplink."""

    def __init__(self, *, size: int, root: Path) -> None:
        """Create the bridge, namespaces and links."""
        self.nodes: list[Node] = []
        with IPRoute() as route:
            route.link("add", ifname=_BRIDGE, kind="bridge")
            bridge = route.link_lookup(ifname=_BRIDGE)[0]
            route.link("set", index=bridge, state="up")
            for index in range(size):
                name, address = f"node-{index + 1}", f"{_NETWORK}.{FIRST_HOST + index}"
                netns.create(name)
                _connect(route, bridge, name, address)
                self.nodes.append(NetnsNode(name, address, root))


def _connect(route: IPRoute, bridge: int, name: str, address: str) -> None:
    """Create a veth pair from the bridge into a node's namespace, with the node's address."""
    outside = f"to-{name}"
    route.link("add", ifname=outside, kind="veth", peer={"ifname": "eth0", "net_ns_fd": name})
    port = route.link_lookup(ifname=outside)[0]
    route.link("set", index=port, master=bridge, state="up")
    with NetNS(name) as namespace:
        loopback = namespace.link_lookup(ifname="lo")[0]
        namespace.link("set", index=loopback, state="up")
        inside = namespace.link_lookup(ifname="eth0")[0]
        namespace.addr("add", index=inside, address=address, prefixlen=_PREFIX_BITS)
        namespace.link("set", index=inside, state="up")

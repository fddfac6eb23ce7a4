"""The embedded pool: a network namespace and a folder per node, and one bridge between them.

It must be created inside a sandbox (`cluster.nodes.sandbox`), whose end removes all of it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from pyroute2 import IPRoute, NetNS, netns

from cluster.nodes import firewall
from cluster.nodes.local import LocalNode
from cluster.nodes.node import FIRST_HOST, Capability, Node
from cluster.nodes.traffic import Packets, Traffic

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

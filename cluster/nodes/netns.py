"""The embedded pool: a network namespace and a folder a node, one bridge between them.

It must be made inside a sandbox (`cluster.nodes.sandbox`), whose end undoes all of it.
"""

from pathlib import Path

from pyroute2 import IPRoute, NetNS, netns

from cluster.nodes import blackhole
from cluster.nodes.local import LocalNode
from cluster.nodes.node import Capability, Node
from harness.contract.errors import FaultError

_BRIDGE = "fencepost0"
_NETWORK = "10.88.0"
_PREFIX_BITS = 24
_FIRST_HOST = 11


class NetnsNode(LocalNode):
    """A node in a network namespace of its own; cuts are routes in that namespace."""

    def __init__(self, name: str, address: str, root: Path) -> None:
        """The namespace `name` must exist."""
        super().__init__(name, address, root, frozenset({Capability.CUT_PEER, Capability.PAUSE}))

    def _enter(self) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    def cut_peer(self, peer: Node) -> None:
        """Send what is for the peer into a blackhole; read back that the route is there."""
        with NetNS(self.name) as namespace:
            if not blackhole.add(namespace, peer.address):
                raise FaultError(f"the route from {self.name} to {peer.name} did not hold")

    def heal_peer(self, peer: Node) -> None:
        """Remove that one route."""
        with NetNS(self.name) as namespace:
            blackhole.remove(namespace, peer.address)


class EmbeddedPool:
    """Nodes `node-1`, `node-2`, ... on one bridge that leads nowhere else."""

    def __init__(self, *, size: int, root: Path) -> None:
        """Make bridge, namespaces and links."""
        self.nodes: list[Node] = []
        with IPRoute() as route:
            route.link("add", ifname=_BRIDGE, kind="bridge")
            bridge = route.link_lookup(ifname=_BRIDGE)[0]
            route.link("set", index=bridge, state="up")
            for index in range(size):
                name, address = f"node-{index + 1}", f"{_NETWORK}.{_FIRST_HOST + index}"
                netns.create(name)
                _connect(route, bridge, name, address)
                self.nodes.append(NetnsNode(name, address, root))


def _connect(route: IPRoute, bridge: int, name: str, address: str) -> None:
    """A veth pair from the bridge into a node's namespace, with the node's address."""
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

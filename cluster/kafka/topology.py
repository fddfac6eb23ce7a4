"""Brokers, controllers, and separate ports for the traffic that faults select."""

from collections.abc import Mapping
from dataclasses import dataclass, field

CLIENT_PORT = 9092
CONTROLLER_PORT = 9093
REPLICATION_PORT = 9094
SECURED_PORT = 9095
FIRST_PROXY_PORT = 9101
"""Where the proxy listens for the clients of broker 1; of the next one, at the next port."""
PASSWORD = "fencepost"
"""Of every principal: their listener shows what an authorizer permits, and protects nothing."""

FIRST_CONTROLLER_ID = 101
COLLECTORS = {"serial": "Serial", "parallel": "Parallel", "g1": "G1", "z": "Z"}
"""The garbage collectors of the JVM, by the names that they have here: as in `-XX:+UseG1GC`."""
_INTERNAL_REPLICAS = 3


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The shape of a KRaft cluster.

    Attributes:
        brokers: how many nodes are brokers, with ids 1, 2, ...
        controllers: how many further nodes are controllers only, with ids 101, 102, ...;
            0: brokers are controllers too (combined mode).
        combined: in combined mode, which brokers are controllers; all of them if empty.
        spares: how many of the controllers, the last ones, do not vote at first. With any, the
            quorum is dynamic (KIP-853): its voters can be added and removed.
        is_proxied: whether clients reach brokers through a proxy on the observer's node, which can
            hold and change single responses. `Links.CLIENTS` does not cut what passes there.
        has_racks: whether each broker is in a rack of its own, `rack-1` for broker 1.
        settings: further server properties, the same on every node.
        principals: users of a listener of their own, `SECURED`, where the authorizer permits only
            what access control entries say. All other listeners are for a super user.
        heap: the maximum heap of each server, e.g. 512m.
        collector: the garbage collector of each server, one of COLLECTORS.
        features: feature levels with which log directories are formatted, where they are not
            the release's own, e.g. `eligible.leader.replicas.version: 0`.
    """

    brokers: int
    controllers: int = 0
    combined: tuple[int, ...] = ()
    spares: int = 0
    is_proxied: bool = False
    has_racks: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    principals: tuple[str, ...] = ()
    heap: str = "384m"
    collector: str = "serial"

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return self.brokers + self.controllers

    @property
    def internal_replicas(self) -> int:
        """How many replicas the partitions of internal topics have."""
        return min(_INTERNAL_REPLICAS, self.brokers)

    @property
    def broker_ids(self) -> list[int]:
        """Ids of the brokers."""
        return list(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> list[int]:
        """Ids of the controllers: the voters of the metadata quorum, and the spare ones."""
        if self.controllers == 0:
            return list(self.combined) or self.broker_ids
        return [FIRST_CONTROLLER_ID + index for index in range(self.controllers)]

    @property
    def voter_ids(self) -> list[int]:
        """Ids of the controllers that vote from the beginning."""
        ids = self.controller_ids
        return ids[: len(ids) - self.spares]

    @property
    def server_ids(self) -> list[int]:
        """All ids, brokers first, one per node."""
        return self.broker_ids + (self.controller_ids if self.controllers else [])

    @staticmethod
    def proxy_port(broker_id: int) -> int:
        """Return where the proxy listens for a broker's clients, with `is_proxied`."""
        return FIRST_PROXY_PORT + broker_id - 1

    @staticmethod
    def rack(broker_id: int) -> str:
        """Return the rack of a broker, with `has_racks`."""
        return f"rack-{broker_id}"

    def roles(self, server_id: int) -> str:
        """`process.roles` of a server."""
        held = [
            role
            for role, ids in (("broker", self.broker_ids), ("controller", self.controller_ids))
            if server_id in ids
        ]
        return ",".join(held)

"""Cut a broker off, whole or by what it talks about; healed by removing just these rules."""

import enum
from collections.abc import Iterable, Sequence

from cluster.kafka.topology import CLIENT_PORT, CONTROLLER_PORT, REPLICATION_PORT
from cluster.nodes.node import Capability, Node
from cluster.nodes.traffic import Direction, Traffic
from harness.contract.errors import FaultError
from harness.faults.broker_fault import BrokerFault, await_fenced, timeouts_of_silence
from harness.faults.fault import Evidence, Field
from harness.faults.targets import Target

_BITES_SECONDS = 20
_BOTH_WAYS = (Direction.IN, Direction.OUT)


class Links(enum.StrEnum):
    """What of a broker's traffic is cut.

    both: all packets to and from the other servers; clients still reach it.
    in, out: only the packets that it receives from, or sends to, the other servers.
    controllers: what it and the other servers' controllers say to each other.
    replication: fetches of followers, both its own and those from it.
    clients: everything with the nodes where clients run.
    """

    BOTH = "both"
    IN = "in"
    OUT = "out"
    CONTROLLERS = "controllers"
    REPLICATION = "replication"
    CLIENTS = "clients"


FENCING = frozenset({Links.BOTH, Links.IN, Links.OUT, Links.CONTROLLERS})
"""Cuts after which the controllers hear no heartbeat of the broker, and fence it."""


class Cut(BrokerFault):
    """Packets of the target's broker are dropped in its node's own network namespace."""

    def __init__(self, target: Target, links: Links) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._links = links

    @property
    def verb(self) -> str:
        """E.g. `cut controllers`."""
        return f"cut {self._links}"

    def prepare(self, field: Field) -> None:
        """Resolve the target, on nodes whose packets can be dropped."""
        super().prepare(field)
        for broker in self.brokers:
            require_network(field.kafka.host(broker))

    def inject_broker(self, field: Field, broker: int) -> None:
        """Set the rules on its node."""
        for rule in self._rules(field, broker):
            field.kafka.host(broker).block(rule)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when packets were dropped and, where that must follow, the broker was fenced."""
        node, rules = field.kafka.host(broker), self._rules(field, broker)
        facts: dict[str, object] = {"broker": broker, "rules": [rule.name for rule in rules]}
        if self._links in FENCING and broker in field.kafka.topology.broker_ids:
            facts["fenced_according_to"] = await_fenced(field, broker, among=self.brokers)
        dropped = field.observer.await_that(
            lambda: dropped_packets(node, rules) or None,
            what=f"packets of broker {broker} to be dropped ({self._links})",
            timeout_seconds=_BITES_SECONDS,
        )
        return Evidence(
            landed=dropped > 0,
            facts={**facts, "dropped_packets": dropped},
            forced_ms=timeouts_of_silence(field, broker) if self._links in FENCING else {},
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Remove the rules of this cut."""
        for rule in self._rules(field, broker):
            field.kafka.host(broker).unblock(rule)

    def _rules(self, field: Field, broker: int) -> list[Traffic]:
        servers = [
            field.kafka.host(i).address for i in field.kafka.topology.server_ids if i != broker
        ]
        match self._links:
            case Links.BOTH:
                return traffic_with(servers, _BOTH_WAYS)
            case Links.IN:
                return traffic_with(servers, [Direction.IN])
            case Links.OUT:
                return traffic_with(servers, [Direction.OUT])
            case Links.CONTROLLERS:
                return traffic_with(servers, _BOTH_WAYS, CONTROLLER_PORT)
            case Links.REPLICATION:
                return traffic_with(servers, _BOTH_WAYS, REPLICATION_PORT)
            case Links.CLIENTS:
                return traffic_with(field.client_addresses, [Direction.IN], CLIENT_PORT)


def require_network(node: Node) -> None:
    """Refuse to cut where there is nothing to cut.

    Raises:
        FaultError: the node's pool has no network of its own.
    """
    if Capability.CUT not in node.capabilities:
        raise FaultError(f"{node.name} has no network of its own to cut: see `fencepost doctor`")


def traffic_with(
    peers: Iterable[str], directions: Sequence[Direction], port: int | None = None
) -> list[Traffic]:
    """What a node and each of its peers say to each other, in these directions, to this port."""
    return [
        Traffic(peer=peer, direction=direction, port=port)
        for peer in peers
        for direction in directions
    ]


def dropped_packets(node: Node, rules: Iterable[Traffic]) -> int:
    """How many packets a node dropped by these rules."""
    return sum(node.dropped_packets(rule) for rule in rules)

"""Partition a broker, for all or part of its traffic; healed by removing exactly these rules."""

import enum
from collections.abc import Iterable, Mapping, Sequence

from cluster.kafka.topology import CLIENT_PORT, CONTROLLER_PORT, REPLICATION_PORT
from cluster.nodes.node import Capability, Node
from cluster.nodes.traffic import Direction, Packets, Traffic
from contract.errors import FaultError
from harness.faults.broker_fault import BrokerFault, await_fenced, timeouts_of_silence
from harness.faults.fault import ByHand, Evidence, Field
from harness.faults.rules import counted_packets, lapse_of
from harness.faults.targets import Target

_DROPPED_SECONDS = 20
_BOTH_WAYS = (Direction.IN, Direction.OUT)
_ALL = 1 << 10
"""More replicas than a partition has."""


class Links(enum.StrEnum):
    """The dropped part of a broker's traffic.

    both: all packets to and from the other servers; clients still reach it.
    in, out: only the packets that it receives from, or sends to, the other servers.
    controllers: traffic between it and the other servers' controllers.
    replication: fetches of followers, its own and those from it.
    clients: traffic with the nodes where clients run.
    """

    BOTH = "both"
    IN = "in"
    OUT = "out"
    CONTROLLERS = "controllers"
    REPLICATION = "replication"
    CLIENTS = "clients"


FENCING = frozenset({Links.BOTH, Links.IN, Links.OUT, Links.CONTROLLERS})
"""Links without which the controllers receive no heartbeat of the broker, and fence it."""


class Cut(BrokerFault):
    """Packets of the broker are dropped on its node: of other servers, or only some (`Links`)."""

    by_hand = (
        ByHand(verb="cut", arguments={"links": Links.BOTH}, place=3, fences=True, behind=1),
        *(
            ByHand(verb=f"cut-{links}", arguments={"links": links}, place=i, fences=True, behind=1)
            for i, links in enumerate((Links.IN, Links.OUT, Links.CONTROLLERS), 4)
        ),
        ByHand(
            verb="cut-replication",
            arguments={"links": Links.REPLICATION},
            place=7,
            stalls=True,
            behind=_ALL,
        ),
        ByHand(verb="cut-clients", arguments={"links": Links.CLIENTS}, place=8, stalls=True),
    )
    needs = Capability.CUT

    def __init__(self, target: Target, links: Links) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._links = links
        self._is_fenced = links in FENCING
        self.verb = f"cut {links}"

    def prepare(self, field: Field) -> None:
        """Resolve the target, on nodes whose packets can be dropped."""
        super().prepare(field)
        for broker in self.brokers:
            require_network(field.kafka.host(broker))

    def inject_broker(self, field: Field, broker: int) -> None:
        """Set the rules on its node."""
        for rule in self._rules(field, broker):
            field.rules.block(field.kafka.host(broker), rule, by=self)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when packets were dropped, none passed, and the broker is fenced if it must be."""
        node, rules = field.kafka.host(broker), self._rules(field, broker)
        facts: dict[str, object] = {"broker": broker, "rules": [rule.name for rule in rules]}
        if self._is_fenced and broker in field.kafka.topology.broker_ids:
            facts["fenced_according_to"] = await_fenced(field, broker, among=self.brokers)
        counted = await_packets(
            field, {node: rules}, what=f"packets of broker {broker} to be dropped ({self._links})"
        )[node]
        return Evidence(
            landed=counted.are_all_dropped,
            facts={
                **facts,
                "dropped_packets": counted.dropped,
                "passed_packets": counted.passed,
            },
            forced_ms=timeouts_of_silence(field, broker) if self._links in FENCING else {},
        )

    def lapse(self, field: Field) -> str:
        """A rule is missing, or lets packets pass."""
        brokers = {broker: field.kafka.host(broker) for broker in self.brokers}
        return lapse_of({node: self._rules(field, broker) for broker, node in brokers.items()})

    def heal_broker(self, field: Field, broker: int) -> None:
        """Remove the rules of this fault, except those that another fault holds."""
        for rule in self._rules(field, broker):
            field.rules.unblock(field.kafka.host(broker), rule, by=self)

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
    """Check that a node has its own network.

    Raises:
        FaultError: the node's pool has no network of its own.
    """
    if Capability.CUT not in node.capabilities:
        raise FaultError(
            f"{node.name} has no network of its own, so it can't be partitioned: see "
            "`fencepost doctor`"
        )


def traffic_with(
    peers: Iterable[str], directions: Sequence[Direction], port: int | None = None
) -> list[Traffic]:
    """Return the traffic of a node with each peer, in these directions, to this port."""
    return [
        Traffic(peer=peer, direction=direction, port=port)
        for peer in peers
        for direction in directions
    ]


def await_packets(
    field: Field, rules: Mapping[Node, Sequence[Traffic]], *, what: str, hint: str = ""
) -> dict[Node, Packets]:
    """Wait until each node has all its rules and has packets to count; returns the counts.

    The packets are those of servers and clients; there are no probes. One must arrive after the
    first count, since a rule counts before it is known whether it drops.

    Raises:
        WaitTimeoutError: a node lacks a rule, or has no such packet.
    """
    seen = {node: counted_packets(node, of_node) for node, of_node in rules.items()}
    first = {node: 0 if packets is None else packets.count for node, packets in seen.items()}

    def are_met() -> dict[Node, Packets] | None:
        seen.update({node: counted_packets(node, of_node) for node, of_node in rules.items()})
        counted = {node: packets for node, packets in seen.items() if packets is not None}
        is_met = [packets.count > first[node] for node, packets in counted.items()]
        return counted if len(counted) == len(rules) and all(is_met) else None

    return field.observer.await_that(
        are_met,
        what=what,
        timeout_seconds=_DROPPED_SECONDS,
        hint=hint,
        last_seen=lambda: {
            node.name: packets or "a rule is missing" for node, packets in seen.items()
        },
    )

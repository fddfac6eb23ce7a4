"""Rules that drop packets, shared by faults: a rule is removed when no fault holds it."""

from collections.abc import Iterable, Mapping, Sequence

from cluster.kafka.topology import CONTROLLER_PORT
from cluster.nodes.node import Node
from cluster.nodes.traffic import Packets, Traffic


class Rules:
    """The faults of a run that hold each rule of each node."""

    def __init__(self) -> None:
        """No rule is set."""
        self._holders: dict[tuple[str, Traffic], list[object]] = {}

    def cuts_off(self, node: Node) -> bool:
        """Whether a rule that a fault holds drops packets between a node and controllers."""
        return any(
            holders and name == node.name and traffic.port in (None, CONTROLLER_PORT)
            for (name, traffic), holders in self._holders.items()
        )

    def block(self, node: Node, traffic: Traffic, *, by: object) -> None:
        """Drop such packets of a node until every fault that holds the rule has released it."""
        holders = self._holders.setdefault((node.name, traffic), [])
        if not any(holder is by for holder in holders):
            holders.append(by)
        node.block(traffic)

    def unblock(self, node: Node, traffic: Traffic, *, by: object) -> None:
        """Release a rule; does nothing if this fault does not hold it."""
        holders = self._holders.get((node.name, traffic), [])
        left = [holder for holder in holders if holder is not by]
        if len(left) == len(holders):
            return
        self._holders[node.name, traffic] = left
        if not left:
            node.unblock(traffic)


def counted_packets(node: Node, rules: Iterable[Traffic]) -> Packets | None:
    """Return the counts of a node's packets by these rules; None if a rule is missing."""
    counted = [node.packets(rule) for rule in rules]
    there = [packets for packets in counted if packets is not None]
    if len(there) < len(counted):
        return None
    return Packets(
        dropped=sum(packets.dropped for packets in there),
        passed=sum(packets.passed for packets in there),
    )


def lapse_of(rules: Mapping[Node, Sequence[Traffic]]) -> str:
    """Return why rules do not drop all packets any more; empty if they do."""
    for node, of_node in rules.items():
        counted = counted_packets(node, of_node)
        if counted is None:
            return f"a rule of {node.name} is missing"
        if counted.passed:
            return f"{counted.passed} packets passed the rules of {node.name}"
    return ""

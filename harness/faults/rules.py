"""Rules that drop packets, shared by faults: one goes when no fault needs it any more."""

from collections.abc import Iterable, Mapping, Sequence

from cluster.nodes.node import Node
from cluster.nodes.traffic import Packets, Traffic


class Rules:
    """Which faults of a run have set which rule on which node."""

    def __init__(self) -> None:
        """No rule is set."""
        self._holders: dict[tuple[str, Traffic], list[object]] = {}

    def block(self, node: Node, traffic: Traffic, *, by: object) -> None:
        """Drop such packets of a node until each fault that asked for it has let go."""
        holders = self._holders.setdefault((node.name, traffic), [])
        if not any(one is by for one in holders):
            holders.append(by)
        node.block(traffic)

    def unblock(self, node: Node, traffic: Traffic, *, by: object) -> None:
        """Let go of a rule; nothing happens where this fault did not set it."""
        holders = self._holders.get((node.name, traffic), [])
        left = [one for one in holders if one is not by]
        if len(left) == len(holders):
            return
        self._holders[node.name, traffic] = left
        if not left:
            node.unblock(traffic)


def counted_packets(node: Node, rules: Iterable[Traffic]) -> Packets | None:
    """The packets of a node that met all these rules, counted; None where a rule is missing."""
    counted = [node.packets(rule) for rule in rules]
    there = [one for one in counted if one is not None]
    if len(there) < len(counted):
        return None
    return Packets(
        dropped=sum(one.dropped for one in there), passed=sum(one.passed for one in there)
    )


def lapse_of(rules: Mapping[Node, Sequence[Traffic]]) -> str:
    """Why rules that dropped all packets do so no more, in words; empty if they do."""
    for node, of_node in rules.items():
        counted = counted_packets(node, of_node)
        if counted is None:
            return f"a rule of {node.name} is missing"
        if counted.passed:
            return f"{counted.passed} packets passed the rules of {node.name}"
    return ""

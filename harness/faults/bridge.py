"""Partition the other servers into two halves; only the target's broker reaches both."""

from collections.abc import Sequence

from cluster.nodes.node import Capability
from cluster.nodes.traffic import Direction, Traffic
from contract.errors import TargetError
from harness.faults.broker_fault import BrokerFault
from harness.faults.cut import await_packets, require_network, traffic_with
from harness.faults.fault import ByHand, Evidence, Field
from harness.faults.rules import lapse_of


class Bridge(BrokerFault):
    """Two halves of the other servers, in the order of their ids, lose all packets of each other.

    Clients reach every broker, and the bridge reaches every server: no node is isolated, and no
        half reaches the other.
    """

    verb = "cut bridge"
    by_hand = (ByHand(verb="cut-bridge"),)
    needs = Capability.CUT

    def prepare(self, field: Field) -> None:
        """Resolve the target, which must be one broker of three or more servers."""
        super().prepare(field)
        first, second = _halves(field, self.brokers[0])
        if len(self.brokers) > 1 or not first:
            raise TargetError(f"{self.target} is no bridge: it takes one broker, and two others")
        for server in (*first, *second):
            require_network(field.kafka.host(server))

    def inject_broker(self, field: Field, broker: int) -> None:
        """Set the rules on the nodes of the first half."""
        first, second = _halves(field, broker)
        for server in first:
            for rule in _rules(field, second):
                field.rules.block(field.kafka.host(server), rule, by=self)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when each server of the first half lost all packets from or to the second."""
        first, second = _halves(field, broker)
        nodes = {server: field.kafka.host(server) for server in first}
        counted = await_packets(
            field,
            {node: _rules(field, second) for node in nodes.values()},
            what=f"packets between {first} and {second} to be dropped",
        )
        return Evidence(
            landed=all(count.are_all_dropped for count in counted.values()),
            facts={
                "broker": broker,
                "halves": [first, second],
                "dropped_packets": {str(i): counted[node].dropped for i, node in nodes.items()},
                "passed_packets": {str(i): counted[node].passed for i, node in nodes.items()},
            },
        )

    def lapse(self, field: Field) -> str:
        """A rule is missing, or lets packets pass."""
        first, second = _halves(field, self.broker)
        return lapse_of({field.kafka.host(server): _rules(field, second) for server in first})

    def heal_broker(self, field: Field, broker: int) -> None:
        """Remove these rules."""
        first, second = _halves(field, broker)
        for server in first:
            for rule in _rules(field, second):
                field.rules.unblock(field.kafka.host(server), rule, by=self)


def _halves(field: Field, bridge: int) -> tuple[list[int], list[int]]:
    others = [i for i in field.kafka.topology.server_ids if i != bridge]
    middle = len(others) // 2
    return others[:middle], others[middle:]


def _rules(field: Field, peers: Sequence[int]) -> list[Traffic]:
    return traffic_with((field.kafka.host(peer).address for peer in peers), tuple(Direction))

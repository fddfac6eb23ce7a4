"""Divide the metadata quorum: packets between a voter and the other voters are dropped."""

from collections.abc import Sequence

from cluster.kafka.topology import CONTROLLER_PORT
from cluster.nodes.traffic import Direction, Traffic
from contract.faults import Verb
from harness.faults.broker_fault import timeouts_of_silence
from harness.faults.cut import Cut, Links, await_packets, traffic_with
from harness.faults.fault import Evidence, Field
from harness.faults.targets import Target

_DIRECTIONS: dict[Links, Sequence[Direction]] = {
    Links.BOTH: (Direction.IN, Direction.OUT),
    Links.IN: (Direction.IN,),
    Links.OUT: (Direction.OUT,),
}


class Divide(Cut):
    """A voter is partitioned from the other voters only; brokers and clients still reach it.

    With `is_of_requests` only requests are dropped, and responses to its own requests pass: with
    the links `in` it still asks for votes, and no voter can fetch from it.
    """

    def __init__(self, target: Target, links: Links, *, is_of_requests: bool = False) -> None:
        """Of the links, both, in or out. The target is resolved just before the injection."""
        super().__init__(target, links)
        self._directions = _DIRECTIONS[links]
        self._port = CONTROLLER_PORT if is_of_requests else None
        self.verb = Verb(f"divide {links}{' requests' if is_of_requests else ''}")

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when packets were dropped and none passed."""
        node, rules = field.kafka.host(broker), self._rules(field, broker)
        counted = await_packets(
            field, {node: rules}, what=f"packets between voter {broker} and others to be dropped"
        )[node]
        return Evidence(
            landed=counted.are_all_dropped,
            facts={
                "broker": broker,
                "rules": [rule.name for rule in rules],
                "dropped_packets": counted.dropped,
                "passed_packets": counted.passed,
            },
            forced_ms=timeouts_of_silence(field, broker),
        )

    def _rules(self, field: Field, broker: int) -> list[Traffic]:
        voters = [i for i in field.kafka.topology.controller_ids if i != broker]
        addresses = [field.kafka.host(i).address for i in voters]
        return traffic_with(addresses, self._directions, self._port)

"""Divide the metadata quorum: packets between a voter and the other voters are dropped."""

from collections.abc import Sequence

from cluster.kafka.topology import CONTROLLER_PORT
from cluster.nodes.traffic import Direction, Traffic
from harness.faults.cut import Cut, Links, traffic_with
from harness.faults.fault import Field
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
        self._is_fenced = False
        self._directions = _DIRECTIONS[links]
        self._port = CONTROLLER_PORT if is_of_requests else None
        self.verb = f"divide {links}{' requests' if is_of_requests else ''}"

    def _rules(self, field: Field, broker: int) -> list[Traffic]:
        voters = [i for i in field.kafka.topology.controller_ids if i != broker]
        addresses = [field.kafka.host(i).address for i in voters]
        return traffic_with(addresses, self._directions, self._port)

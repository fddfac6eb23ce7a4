"""Packets between two nodes, as network faults select them."""

import enum

import msgspec


class Direction(enum.StrEnum):
    """The direction of packets, as the node sees them."""

    IN = "in"
    OUT = "out"


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Packets between this node and a peer, one way.

    peer: the other node's address.
    port: only TCP packets to that destination port, from clients to a server. None: all packets.
    """

    peer: str
    direction: Direction
    port: int | None = None

    @property
    def name(self) -> str:
        """The name of its chain, e.g. `out-10.88.0.12-9093`."""
        return f"{self.direction}-{self.peer}-{self.port or 'all'}"


class Packets(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the packets of a traffic since it was blocked.

    dropped: how many the rule dropped.
    passed: how many passed the rule: none, unless it does not drop.
    """

    dropped: int
    passed: int

    @property
    def count(self) -> int:
        """The number of packets."""
        return self.dropped + self.passed

    @property
    def are_all_dropped(self) -> bool:
        """Return whether there were packets and the rule dropped all of them."""
        return self.dropped > 0 and self.passed == 0

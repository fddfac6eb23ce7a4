"""Packets between two nodes, as cuts name them."""

import enum

import msgspec


class Direction(enum.StrEnum):
    """Which way packets go, from the node's point of view."""

    IN = "in"
    OUT = "out"


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Packets between this node and a peer, one way.

    peer: the other node's address.
    port: only TCP packets to that destination port: those of clients towards a server, so that the
        side that serves at the port is the one that goes unheard. None: all packets.
    """

    peer: str
    direction: Direction
    port: int | None = None

    @property
    def name(self) -> str:
        """What its chain is called, e.g. `out-10.88.0.12-9093`."""
        return f"{self.direction}-{self.peer}-{self.port or 'all'}"

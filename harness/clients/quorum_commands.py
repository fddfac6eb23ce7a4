"""The driver's questions about the metadata quorum, and their results."""

import msgspec

from harness.clients.command import Command


class DescribeQuorum(Command, frozen=True, kw_only=True):
    """Query one controller for the quorum. Result: a `QuorumState`, or None: it does not lead it.

    A response of a leader is also written to the history as a `QuorumSampled`.
    """

    server: int
    address: str
    port: int


class WatchQuorum(Command, frozen=True, kw_only=True):
    """Sample each controller from now on.

    controllers: (id, address, port) of each.
    """

    controllers: list[tuple[int, str, int]]
    interval_ms: int


class QuorumState(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata quorum according to its leader.

    log_ends: by voter, as far as it has fetched; -1: not yet. The leader's own is its log's end.
    high_watermark: -1 until an entry of the epoch is committed.
    """

    leader: int
    leader_epoch: int
    high_watermark: int
    log_ends: dict[int, int]
    observers: list[int]

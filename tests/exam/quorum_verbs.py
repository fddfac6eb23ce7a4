"""Verbs of the controllers: their metadata logs, and how they answer requests about the quorum."""

from collections.abc import Sequence
from typing import Any

from tests.exam.history import History
from tests.exam.rows import METADATA_STEP
from tests.exam.scenes import served

VOTERS = (1, 2, 3)
FENCED, UNKNOWN, NOT_LEADER = 74, 75, 6
METADATA = "__cluster_metadata"
DIVIDED = 5.0
"""When the second leader is elected; the first one is connected again at second 10."""


def own_epoch(h: History, epoch: int) -> int:
    """An epoch of a history's quorum: no other history's, as leaders are compared by epoch."""
    return h.index * 10 + epoch


def metadata_batch(
    h: History, table: str, server: int, offset: int, epoch: int, **columns: Any
) -> None:
    """One entry of a server's metadata log."""
    h.add(
        table,
        server=h.broker(server),
        base_offset=offset,
        last_offset=offset,
        metadata_epoch=own_epoch(h, epoch),
        size_bytes=100,
        checksum=offset * 100 + epoch,
        **columns,
    )


def metadata_logs(h: History, *, of: Sequence[int] = VOTERS, to: int = 10) -> None:
    """Epoch 1 of broker 1 from offset 0 to 5, epoch 2 of broker 2 from offset 6."""
    for server in of:
        for offset in range(to):
            leader = {0: 1, 6: 2}.get(offset)
            metadata_batch(
                h,
                "metadata_batches",
                server,
                offset,
                1 if offset < 6 else 2,
                leader=None if leader is None else h.broker(leader),
                at_micros=h.at(1.0 if offset < 6 else DIVIDED),
            )


def metadata_held(h: History, server: int, *offsets: int, epoch: int = 1) -> None:
    """What a server's log held before its heal at second 10, and lacks at the end."""
    for offset in offsets:
        metadata_batch(
            h, "cut_metadata_batches", server, offset, epoch, leader=None, taken_micros=h.at(10.0)
        )


def metadata_truncated(h: History, server: int, to: int, *, at: float = 11.0) -> None:
    """A server logged that it truncates its metadata log."""
    h.add(
        "truncations",
        broker=h.broker(server),
        topic=METADATA,
        partition=0,
        to_offset=to,
        at_micros=h.at(at),
        log_line=f"Truncating to offset {to}",
    )


def quorum_reported(
    h: History, leader: int, epoch: int, high_watermark: int, ends: Sequence[int], *, at: float
) -> None:
    """A leader's response to a DescribeQuorum."""
    h.add(
        "quorum_samples",
        server=h.broker(leader),
        leader=h.broker(leader),
        leader_epoch=own_epoch(h, epoch),
        high_watermark=high_watermark,
        voters=[h.broker(voter) for voter in VOTERS],
        log_ends=list(ends),
        observers=[],
        at_micros=h.at(at),
        asked_micros=h.at(at),
    )


def controller_called(
    h: History, server: int, api: str, asked: int, error: int, **columns: Any
) -> None:
    """A request to a controller about the metadata log at second 30, and its response."""
    epochs = {
        name: own_epoch(h, columns[name])
        for name in ("epoch", "asked_epoch", "diverging_epoch")
        if columns.get(name, -1) >= 0
    }
    values: dict[str, Any] = {
        "worker": h.own("observer"),
        "seq": len(h.rows["wire_calls"]) + 1,
        "broker": h.broker(server),
        "api": api,
        "api_key": 1,
        "version": 17,
        "topic": METADATA,
        "partition": 0,
        "current_leader_epoch": own_epoch(h, asked),
        "error_code": error,
        "leader": h.broker(2),
        "epoch": own_epoch(h, 2),
        "throttle_ms": 0,
        "request": "{}",
        "response": "{}",
        "began_micros": h.at(30.0),
        "at_micros": h.at(30.001),
    }
    h.add("wire_calls", **(values | columns | epochs))


def quorum_divided(h: History) -> None:
    """Broker 1 led until it was divided from the others; broker 2 leads."""
    served(h)
    metadata_logs(h)
    quorum_reported(h, 1, 1, 6, (6, 6, 6), at=3.0)
    quorum_reported(h, 2, 2, -1, (-1, 7, 6), at=DIVIDED + 0.1)
    quorum_reported(h, 2, 2, 7, (-1, 7, 7), at=DIVIDED + 0.2)
    quorum_reported(h, 2, 2, 10, (10, 10, 10), at=20.0)


def metadata_log(
    h: History,
    server: int,
    *batches: tuple[int, int],
    changed: int | None = None,
    is_own: bool = False,
) -> None:
    """A server's metadata log: by batch its offset and epoch; `changed`: one that differs.

    is_own: at offsets that no other history has.
    """
    first = h.place.metadata_offset(0) if is_own else 0
    for number, epoch in batches:
        offset = first + number
        h.add(
            "metadata_batches",
            server=h.broker(server),
            base_offset=offset,
            last_offset=offset + 9,
            metadata_epoch=epoch,
            size_bytes=500,
            checksum=offset * 100 + epoch + (7 if number == changed else 0),
            at_micros=h.at(offset % 1000 / 10),
        )


def written_in_batches(h: History, records: Sequence[int], *, at: float) -> None:
    """The last change of a leader and what follows it are in batches of so many records."""
    base = h.rows["leaderships"][-1]["metadata_offset"]
    for count in records:
        end = base + count * METADATA_STEP
        h.add(
            "metadata_batches",
            server=h.broker(1),
            base_offset=base,
            last_offset=end - 1,
            metadata_epoch=h.index,
            size_bytes=100,
            checksum=base,
            leader=None,
            at_micros=h.at(at),
        )
        base = end

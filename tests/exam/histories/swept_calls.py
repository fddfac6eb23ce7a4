"""Responses of brokers with each epoch, error and version around those that are due."""

from itertools import product

from tests.exam.history import VIOLATION, History, asks
from tests.exam.logs import several_logs, spread


@asks(
    "Brokers report each epoch of a leader and of an offset, in each version, with and without an "
    "error.",
    source="KIP-320: Metadata and ListOffsets responses have the epoch of the leader and of the "
    "offset",
    expects={"wrong_reported_epoch": VIOLATION},
)
def each_epoch_is_reported(h: History) -> None:
    logs = several_logs(h)
    for where, version, error, leader, epoch in spread(
        logs, (6, 7, 8, 12), (0, 0, 3), (-1, 1, 2), (None, -1, 0, 1, 2, 3, 4), count=151
    ):
        at = 10.0 if epoch == 0 else 50.0
        h.called(1, "METADATA", version, at=at, error=error, leader=leader, epoch=epoch, **where)
    for where, version, error, timestamp, offset, epoch in spread(
        logs,
        (3, 4, 5, 9),
        (0, 0, 43),
        (-4, -3, -2, -1, 5),
        (None, -1, 0, 7, 8, 10, 19, 20),
        (None, -1, 0, 1, 2, 3),
        count=251,
    ):
        h.called(
            2,
            "LIST_OFFSETS",
            version,
            at=56.0,
            error=error,
            asked_timestamp=timestamp,
            offset=offset,
            epoch=epoch,
            **where,
        )
    for where, offset, epoch in product(logs[:6], (None, 0, 7, 8, 10, 12), (None, -1, 0, 1, 2)):
        h.called(
            2,
            "offsetsForTimes",
            0,
            at=57.0,
            asked_timestamp=5,
            offset=offset,
            epoch=epoch,
            client="java",
            **where,
        )

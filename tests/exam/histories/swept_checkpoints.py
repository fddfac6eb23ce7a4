"""Lines of leader-epoch-checkpoint around the batches of each epoch."""

from itertools import product

from tests.exam.history import PERMITTED, VIOLATION, History, asks
from tests.exam.logs import spread

SPANS = ((0, 4, 0), (5, 9, 1), (10, 14, 2))
END = 15
BEFORE_EPOCHS = -1
"""The epoch of batches of a log without epochs."""


@asks(
    "The lines of an epoch are at each offset around its batches, the log start and the log end.",
    source="LeaderEpochFileCache: an epoch's entry is the offset at which it starts; "
    "truncateFromStart moves the first one up to the log start",
    expects={"epoch_cache_mismatch": VIOLATION},
)
def entries_around_each_batch(h: History) -> None:
    partitions = 14
    h.topic(partitions=partitions)
    h.topic("d", partitions=partitions, deletes=True)
    h.topic("r", partitions=partitions, retention_ms=1000)
    every = list(product("tdru", range(partitions), (1, 2)))
    combinations = spread(
        (0, None, 3),
        (5, 4, 6, 7, None, 8),
        (10, 9, 11, None, 15, 16),
        (0, 3, 5, 9, 10, None),
        (False, False, True),
        count=len(every),
    )
    combined = zip(every, combinations, strict=False)
    for number, ((topic, partition, broker), (*entries, start, is_old)) in enumerate(combined):
        where = {"topic": topic, "partition": partition}
        reported = (None, 0, 5, 7)[number // 2 % 4]
        if reported is not None and broker == 1:
            h.sampled(1, at=30.0, start=reported, end=END, **where)
            h.sampled(1, at=20.0, start=0, end=END, **where)
        spans = ((0, 4, BEFORE_EPOCHS if is_old else 0), *SPANS[1:])
        known = {epoch: entry for epoch, entry in enumerate(entries) if entry is not None}
        h.log(broker, *spans, start=start or 0, end=END, checkpoints=known, **where)
        if start is None:
            h.rows["log_starts"].pop()
        deletes = topic in "dr"
        log_start = None if start is None else max(start, reported or 0)
        if any(
            _is_wrong(known, epoch, max(base, log_start or 0), last, deletes=deletes)
            for base, last, epoch in spans
            if epoch >= 0 and (log_start is None or last >= log_start)
        ):
            h.finds("epoch_cache_mismatch", VIOLATION, **where)
        if start is not None and any(entry > END for entry in known.values()):
            h.finds("epoch_cache_mismatch", PERMITTED, **where)


def _is_wrong(entries: dict[int, int], epoch: int, first: int, last: int, *, deletes: bool) -> bool:
    """Whether an epoch's entry is missing or above its first offset, or the next within it.

    Where records may be deleted, entries below the first one and that one's offset are unknown.
    """
    lowest = min(entries, default=epoch)
    if epoch not in entries:
        return not (deletes and epoch < lowest)
    if entries[epoch] > first and not (deletes and epoch == lowest):
        return True
    return any(entry <= last for newer, entry in entries.items() if newer > epoch)

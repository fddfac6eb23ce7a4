"""Offsets near 2^60: sums and products of them are no 64-bit numbers."""

from tests.exam.history import NONE, UNDECIDED, VIOLATION, History, asks
from tests.exam.verbs import cluster, joined, watched

FAR = 2**60
LONG = "RecordBatch: offsets are int64"


@asks(
    "A log begins at 2^60; all of it is read and committed.",
    source=LONG,
    expects={
        "history_consistent": NONE,
        "lost_record": NONE,
        "skipped_record": NONE,
        "log_divergence": NONE,
        "commit_beyond_log": NONE,
        "poll_skip": NONE,
        "unjustified_reset": NONE,
    },
)
def log_is_far_out(h: History) -> None:
    _far(h)


@asks(
    "Of that log, ten records are acknowledged and on no replica.",
    source=LONG,
    expects={"lost_record": VIOLATION, "history_consistent": NONE},
)
def far_records_are_lost(h: History) -> None:
    _far(h, kept=39)


@asks(
    "Ten records of a replica, far out, are in no batch.",
    source="contract/tables_of_servers.py: replica_records are the data records of the batches "
    "in replica_batches",
    expects={"history_consistent": UNDECIDED},
)
def far_records_without_a_batch(h: History) -> None:
    _far(h)
    last = h.rows["replica_batches"][-1]
    last.update(last_offset=FAR + 39, record_count=40)


@asks(
    "Batches and records of a replica are as many, and the records ten offsets further.",
    source="contract/tables_of_servers.py: replica_records are the data records of the batches "
    "in replica_batches",
    expects={"history_consistent": UNDECIDED},
)
def far_records_lie_elsewhere(h: History) -> None:
    _far(h)
    for row in h.rows["replica_records"]:
        if row["broker"] == h.broker(2) and row["offset"] >= FAR + 40:
            row["offset"] += 10


def _far(h: History, *, kept: int = 49) -> None:
    """50 records from 2^60 on; the replicas have those up to `kept`."""
    h.topic()
    h.group()
    cluster(h, starts=FAR)
    h.sampled(1, at=1.0, end=FAR, start=FAR, isr=(1, 2))
    h.sent(FAR, FAR + 49, at=2.0, sequence=0)
    watched(h, 1, FAR + kept + 1, times=(5.0, 15.0, 45.0, 85.0), start=FAR)
    h.stored(FAR, -1, at=1.5, brokers=(1, 2))
    joined(h, FAR, at=5.0)
    h.polled(FAR, FAR + kept, at=6.0, sequence=0)
    h.commit(FAR + kept + 1, 0, at=8.0, brokers=(1, 2), generation=1)
    h.changed("caught_up", at=20.0, position=FAR + kept + 1, generation=1)
    for broker in (1, 2):
        h.log(
            broker,
            (FAR, FAR + kept, 0),
            start=FAR,
            sequences={FAR: 0},
            high_watermark=FAR + kept + 1,
        )

"""Deliveries at each moment around what they are judged by, and the verdict on each of them."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.exam.history import PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.logs import CLOCK_SECONDS, MICROSECOND, in_each_place
from tests.exam.transaction_verbs import Batch, began_transaction, replicas, step
from tests.exam.verbs import cluster

READ = 40.0
"""When records are delivered, in the middle of a history."""
ROUND = 9
"""Digits of a second: sums of microseconds are rounded."""
Log = tuple[str, int]


@asks(
    "Leaders reported each high watermark, at each moment around the delivery of a record; some "
    "were succeeded before or after it.",
    source="Kafka's documentation, Replication: only committed records are given to consumers",
    expects={
        "uncommitted_read": f"{VIOLATION}: above the high watermark: "
        'k-u#1","leader_epoch":0,"high_watermark":2,"records":4,"later_ms":9995.0,'
        '"may_be_of_follower":false'
    },
)
def reads_around_each_high_watermark(h: History) -> None:
    last = 9
    moments = [
        (asked, READ + asked + CLOCK_SECONDS + later)
        for asked, later in product((0.005, 2.0), (-1.0, 0.0, MICROSECOND, 1.0))
    ]
    # As of `HistoryRows.sampled` the request was 5 ms before; one without a time at most 2 s.
    reports: dict[Log, list[tuple[float, int, int, int, float]]] = defaultdict(list)
    read: list[tuple[dict[str, Any], int, int]] = []
    for place, (asked, at), end, broker, epoch, first, again in in_each_place(
        h,
        moments,
        (-1, 0, 1, 5, last, last + 1),
        (1, 1, 2),
        (0, 0, 1),
        (0, 6, last),
        (None, last + 2, 2),
    ):
        log = place["topic"], place["partition"]
        reports[log].append((at, end, broker, epoch, asked))
        if again is not None:
            reports[log].append((READ + 10, again, 1, epoch, 0.005))
        read.append((place, first, epoch if first else 0))
    for (topic, partition), of_log in reports.items():
        cluster(h, topic=topic, partition=partition)
        if (succeeded := _succeeded(partition, of_log)) is not None:
            h.led(1, 1, at=succeeded, isr=(1, 2), topic=topic, partition=partition)
        for at, end, broker, epoch, asked in of_log:
            where: dict[str, Any] = {"topic": topic, "partition": partition}
            h.sampled(broker, at=at, end=end, leader=1, epoch=epoch, **where)
            if asked > 1:
                h.rows["samples"][-1].update(asked_micros=None)
        if _is_created_again(topic, partition):
            h.led(1, 0, at=5.0, isr=(1, 2), topic=topic, partition=partition, topic_id="new")
    for place, first, epoch in read:
        h.polled(first, last, at=READ, epoch=epoch, **place)
        log = place["topic"], place["partition"]
        known = [
            end
            for at, end, broker, of_epoch, asked in reports[log]
            if (broker, of_epoch) == (1, epoch)
            and round(at - asked - CLOCK_SECONDS - READ, ROUND) > 0
        ]
        succeeded = _succeeded(place["partition"], reports[log]) if epoch == 0 else None
        is_led = succeeded is None or succeeded > READ + CLOCK_SECONDS
        is_judged = is_led and not _is_created_again(*log)
        if is_judged and any(0 <= end <= last for end in known):
            h.finds("uncommitted_read", VIOLATION, **place)


@asks(
    "Members came to own a partition at each moment around the log start's passing of a record, "
    "and were delivered the record at each moment after it.",
    source="ReplicaManager.fetch: an offset below the log start is answered with "
    "OFFSET_OUT_OF_RANGE; KIP-392: a follower hears of it later",
    expects={
        "expired_read": f"{VIOLATION}: fetched below the log start: "
        "received 6 records from offset 0 on, below log start 7"
    },
)
def reads_around_each_log_start(h: History) -> None:
    passed = {"t": 20.0 + CLOCK_SECONDS, "u": 21.0 + CLOCK_SECONDS}
    starts: dict[Log, list[tuple[float, int, int]]] = defaultdict(list)
    read: list[tuple[dict[str, Any], float, int, float]] = []
    for place, owned, first, at, start, broker, again in in_each_place(
        h,
        (None, -1.0, 0.0, MICROSECOND, 10.0, 30.0, 30 + MICROSECOND),
        (0, 3, 4, 5),
        (-MICROSECOND, 0.0, 10.0, 40.0, 41.0),
        (-1, 0, 4, 5),
        (1, 1, 2),
        (None, (15.0, 2), (15.0, 4), (25.0, 4), (25.0, 7)),
    ):
        since = passed[place["topic"]]
        log = place["topic"], place["partition"]
        starts[log].append((since - CLOCK_SECONDS, start, broker))
        if again is not None:
            starts[log].append((*again, 1))
        read.append((place, None if owned is None else since + owned, first, since + at))
    ends = dict(_logs_that_start(h, starts))
    for place, owned, first, at in read:
        log = place["topic"], place["partition"]
        h.changed("assigned", at=25.0, position=first, member="2", **place)
        if owned is not None:
            h.changed("assigned", at=owned, position=first, **place)
            h.changed("lost", at=64.0, position=first, **place)
            h.changed("assigned", at=65.0, position=first, **place)
        h.polled(first, 5, at=at, **place)
        bound = ends[log]
        raised = [
            (round(second + CLOCK_SECONDS, ROUND), start if bound is None else min(start, bound))
            for second, start, broker in starts[log]
            if broker == 1 and start >= 0
        ]
        is_below = first < max(
            (start for second, start in raised if second <= round(at, ROUND)), default=0
        )
        if is_below and not _is_created_again(*log):
            since = min(second for second, start in raised if start > first)
            late = 30 if place["group"] == "k-t" else 0
            is_after = owned is not None and owned <= at and round(owned - since - late, ROUND) > 0
            h.finds("expired_read", VIOLATION if is_after else PERMITTED, **place)


def _logs_that_start(
    h: History, starts: dict[Log, list[tuple[float, int, int]]]
) -> Iterator[tuple[Log, int | None]]:
    """Each log, and where it starts at the end; None: no replica was copied."""
    reported_last = 5
    for number, ((topic, partition), of_log) in enumerate(starts.items()):
        where: dict[str, Any] = {"topic": topic, "partition": partition}
        cluster(h, **where)
        of_log.append((70.0, reported_last, 1))
        for at, start, broker in of_log:
            h.sampled(broker, at=at, start=start, end=10, leader=1, **where)
        held = (None, 3, 5, 9)[number % 4]
        if held is not None:
            for broker in (1, 2):
                h.log(broker, (0, 9, 0), start=held, **where)
        yield (topic, partition), None if held is None else max(held, reported_last)
        if _is_created_again(topic, partition):
            h.led(1, 0, at=5.0, isr=(1, 2), topic_id="new", **where)


def _succeeded(partition: int, of_log: list[tuple[float, int, int, int, float]]) -> float | None:
    """When epoch 1 follows epoch 0: before the delivery if it reports, or around it; or never."""
    if any(epoch for _, _, _, epoch, _ in of_log):
        return READ - 5
    later = {2: CLOCK_SECONDS, 3: CLOCK_SECONDS + MICROSECOND}.get(partition % 4)
    return None if later is None else READ + later


def _is_created_again(topic: str, partition: int) -> bool:
    return topic == "t" and partition % 5 == 1


@asks(
    "Values of a transaction are delivered at each moment around the beginning of its commit.",
    source="isolation.level; KIP-98",
    expects={"precommitted_read": VIOLATION},
)
def reads_around_the_beginning_of_a_commit(h: History) -> None:
    moments = tuple(
        READ + later for later in (-1.0, -CLOCK_SECONDS - MICROSECOND, -CLOCK_SECONDS, 0.0, 1.0)
    )
    read = list(
        in_each_place(
            h,
            (*moments, READ - MICROSECOND),
            moments,
            ("w", "v"),
            (True, True, False),
            isolation="read_committed",
            partitions=16,
        )
    )
    for number in range(len(read) // 2):
        place, *_ = read[2 * number]
        where = {"topic": place["topic"], "partition": place["partition"]}
        of = {"producer": f"p{number}", "transactional_id": f"x{number}", "pid": number + 1}
        cluster(h, **where)
        began_transaction(h, at=20.0, **of)
        h.sent(0, 9, at=30.0, producer=of["producer"], transaction=0, **where)
        step(h, "commit", "committed", at=READ + 0.05, took=0.05, **of)
        values = Batch(0, 9, pid=number + 1, base_sequence=0, producer=of["producer"])
        replicas(h, values, Batch(10, 10, pid=number + 1, control="commit", at=42.0), **where)
    for number, (place, one, other, worker, is_delivered) in enumerate(read):
        deliveries = [(1, one), (5, other)] if is_delivered else [(5, one)]
        for offset, at in deliveries:
            h.polled(offset, offset + 1, at=at, producer=f"p{number // 2}", **place)
            for row in h.rows["polls"][-2:]:
                row["worker"] = h.own(worker)
        bound = 0 if worker == "w" else CLOCK_SECONDS
        before = [at for _, at in deliveries if at < READ]
        if before and place["group"] != "k-u":
            is_sure = any(round(READ - at - bound, ROUND) > 0 for at in before)
            h.finds("precommitted_read", VIOLATION if is_sure else UNDECIDED, **place)

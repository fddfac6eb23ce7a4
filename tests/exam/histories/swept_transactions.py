"""Transactions over several partitions, with each marker, outcome and reader."""

from collections import defaultdict
from typing import Any

from tests.exam.history import VIOLATION, History, asks
from tests.exam.logs import spread
from tests.exam.transaction_verbs import Batch, began_transaction, replicas, step
from tests.exam.verbs import cluster

Place = tuple[str, int]
PLACES: tuple[Place, ...] = (("t", 0), ("t", 1), ("u", 0))
GROUPS = {"t": ("g", "k"), "u": ("m",)}
MARKERS = (
    ("commit", "commit", "commit"),
    ("abort", "abort", "abort"),
    ("commit", "abort", "commit"),
    (None, "commit", "abort"),
)
ENDS = (("commit", "committed"), ("abort", "aborted"), ("commit", "failed"), None)
RETRY_BACKOFF_SECONDS = 0.1


@asks(
    "Transactions over several partitions end with each marker in each of them, and with each "
    "outcome at the client; groups are delivered some of their values.",
    source="KIP-98: a transaction is atomic over its partitions; KAFKA-17754",
    expects={"misapplied_marker": VIOLATION, "torn_transaction": VIOLATION},
)
def transactions_end_in_each_way(h: History) -> None:
    for topic, groups in GROUPS.items():
        h.topic(topic, partitions=2)
        for group in groups:
            h.group(group, topic, isolation="read_committed")
    logs: dict[Place, list[Batch]] = defaultdict(list)
    for number, (markers, late, ended, took, read, outcome) in enumerate(
        spread(
            MARKERS,
            (None, 0, 1, 2),
            ENDS,
            (RETRY_BACKOFF_SECONDS - 0.000_001, RETRY_BACKOFF_SECONDS, 0.15, 5.0),
            ((), ("g",), ("g", "k", "m"), ("k", "m")),
            ("ok", "ok", "failed", "unknown"),
            count=89,
        )
    ):
        at, pid, producer = 5 + number / 2, number + 1, {"producer": f"p{number}"}
        began = {"pid": pid, "transactional_id": f"x{number}", **producer}
        began_transaction(h, at=at, **began)
        for index, (place, marker) in enumerate(zip(PLACES, markers, strict=True)):
            for part, ending in ((0, "abort" if late == index else None), (1, marker)):
                written = {"sequence": 10 * index + 2 * part, **producer}
                first = _written(h, logs[place], place, pid, at, outcome, **written)
                if ending is not None:
                    end = _end(logs[place])
                    logs[place].append(Batch(end, end, pid=pid, control=ending, at=at + 2))
                if (number + index) % 3 and outcome != "failed":
                    _delivered(h, place, read, first + number % 2, at + 3, number % 2, **written)
        if ended is not None:
            answer = {"outcome": "failed", "error": "E"} if ended[1] == "failed" else {}
            step(h, *ended, at=at + 2.5, took=took, **began, **answer)
    for place, batches in logs.items():
        _closed(h, place, batches)


def _closed(h: History, place: Place, batches: list[Batch]) -> None:
    """Both replicas hold the log, and the groups read it to its end."""
    where: dict[str, Any] = {"topic": place[0], "partition": place[1]}
    cluster(h, **where)
    replicas(h, *batches, **where)
    h.sampled(1, at=70.0, end=_end(batches), isr=(1, 2), **where)
    for group in GROUPS[place[0]]:
        h.changed("caught_up", at=80.0, position=_end(batches), group=group, **where)


def _end(log: list[Batch]) -> int:
    return log[-1].last + 1 if log else 0


def _written(
    h: History, log: list[Batch], place: Place, pid: int, at: float, outcome: str, **written: Any
) -> int:
    """Two values of a transaction; where their outcome is not known, the log has them."""
    first = _end(log)
    told = (first, first + 1) if outcome == "ok" else (None, None)
    h.sent(
        *told,
        count=2,
        at=at + 1,
        topic=place[0],
        partition=place[1],
        transaction=0,
        outcome=outcome,
        error=None if outcome == "ok" else "TimeoutException",
        **written,
    )
    if outcome != "failed":
        base = written["sequence"]
        log.append(Batch(first, first + 1, pid=pid, base_sequence=base, at=at + 1, **written))
    return first


def _delivered(
    h: History, place: Place, groups: tuple[str, ...], offset: int, at: float, later: int, **of: Any
) -> None:
    """One of the two values, to those of the groups that read the topic."""
    of["sequence"] += later
    for group in groups:
        if group in GROUPS[place[0]]:
            h.polled(offset, at=at, group=group, topic=place[0], partition=place[1], **of)

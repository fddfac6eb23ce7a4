"""Findings about one partition, group or member, among others that differ from it in one thing."""

from typing import Any

from tests.exam.commit_verbs import COMMIT
from tests.exam.histories.spans import END, LOGS, PLACES, sent, several
from tests.exam.history import VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas

T0, T1, U = LOGS
NEW = 100
"""Added to a sequence, it is that of the record which was written at the same offset later."""


def sequence(where: dict[str, Any], offset: int) -> int:
    """The number of a partition's record among those that `sent` sends."""
    return LOGS.index(where) * END + offset


def forked(
    h: History, where: dict[str, Any], begins: int, *, start: int = 0, rewritten: bool = True
) -> None:
    """Broker 2 leads from 20 s on under epoch 1, which begins at an offset.

    rewritten: the records from there on are others than before; else they are its first ones.
    """
    h.led(2, 1, at=20.0, isr=(1, 2), starts=begins, **where)
    first = sequence(where, begins) + NEW * rewritten
    if rewritten:
        h.sent(begins, END - 1, at=22.0, sequence=first, **where)
    for at in (30.0, 60.0):
        h.sampled(2, at=at, end=END, start=start, epoch=1, **where)
    spans = [(start, begins - 1, 0)] if start < begins else []
    sequences = {start: sequence(where, start), begins: first}
    copies(
        h,
        (1, 2),
        *spans,
        (begins, END - 1, 1),
        start=start,
        sequences=sequences,
        high_watermark=END,
        **where,
    )


def set_by_administrator(
    h: History, offset: int, epoch: int, *, at: float, group: str, where: dict[str, Any]
) -> None:
    """An administrator sets the committed offset of a group."""
    h.called(
        1,
        COMMIT,
        8,
        at=at,
        group=h.own(group),
        member="",
        generation=-1,
        asked_offset=offset,
        asked_epoch=epoch,
        metadata="",
        throttle_ms=0,
        **where,
    )
    h.stored(offset, epoch, at=at - 0.002, group=group, brokers=(1, 2), **where)


@asks(
    "Members of several groups are led back at one time, in three partitions: one that has never "
    "been truncated, one whose start was deleted, and one that was truncated before.",
    source="KIP-320: truncation is where the requested epoch ends below the position; "
    "LeaderEpochFileCache.endOffsetFor",
    expects={
        "false_truncation": f"{VIOLATION}: stale epoch: the record before the position is intact "
        "and has epoch 1; the position had epoch 0",
    },
)
def members_are_led_back_in_several_partitions(h: History) -> None:
    several(h)
    for group in ("m", "n"):
        h.group(group, "u")
    sent(h)
    for where in LOGS:
        h.sampled(1, at=9.0, end=END, **where)
    h.sampled(1, at=60.0, end=END, **T0)
    copies(h, (1, 2), (0, END - 1, 0), high_watermark=END, **T0)
    forked(h, T1, 8, start=8, rewritten=False)
    forked(h, U, 4)
    for where, group in (*PLACES, (U, "m")):
        for member in ("1", "2"):
            h.changed("opened", at=14.0, member=member, group=group)
        h.polled(0, END - 1, at=15.0, sequence=sequence(where, 0), group=group, **where)
    h.polled(8, END - 1, at=25.0, sequence=sequence(T1, 8), epoch=1, **T1)
    for offset, epoch in ((8, 0), (8, 0), (8, -1), (12, 0)):
        for where, group in PLACES[:3]:
            at = 35.0 + len(h.rows["wire_calls"]) / 10
            set_by_administrator(h, offset, epoch, at=at, group=group, where=where)

    def led_back(start: int, to: int, *, at: float = 40.0, group: str = "g", **row: Any) -> None:
        h.reset("truncation", start, to, at=at, epoch=0, group=group, **row)

    # Epoch 0 has no end below these positions, so that they are not truncated.
    led_back(8, 4, **T0)
    led_back(12, 4, member="1", **T0)
    led_back(8, 4, group="k", **T0)
    led_back(8, 8, **T1)
    # The record before has epoch 1 at the moment of the report; epoch 0 ends at 4, not at 6.
    h.polled(4, END - 1, at=40.0, sequence=sequence(U, 4) + NEW, epoch=1, **U)
    led_back(8, 6, **U)
    # Retention has removed epoch 0, and the leader responds with where epoch 1 begins now.
    led_back(10, 8, at=41.0, **T1)
    # These are truncated: the last poll has no epoch, or there is none.
    h.polled(11, at=39.0, sequence=sequence(U, 11), epoch=-1, group="m", **U)
    led_back(12, 4, at=42.0, group="m", **U)
    led_back(8, 4, at=42.0, group="n", **U)


def stalled(
    h: History,
    position: int | None,
    *places: dict[str, Any],
    at: float,
    seq: int,
    group: str = "g",
    member: str = "1",
) -> None:
    """A member reports in one event that it did not reach the end of its partitions."""
    for where in places:
        h.changed("stalled", at=at, position=position, group=group, member=member, **where)
        h.rows["group_events"][-1]["seq"] = seq


@asks(
    "Members stall in several partitions at once: as faults begin and end, at positions that "
    "administrators set for them and for others, and at transactions that are open.",
    source="docs/findings.md, stuck_consumer; KIP-320: a client waits for metadata of the epoch "
    "that it has; KIP-98: read_committed ends at the last stable offset",
    expects={
        "stuck_consumer": f"{VIOLATION}: no fault: the member stopped at 9; the log ends at 16",
    },
)
def members_stall_in_several_partitions(h: History) -> None:
    several(h)
    for group, topic in (("c", "t"), ("d", "t"), ("c", "u")):
        h.group(group, topic, isolation="read_committed")
    sent(h)
    for number, where in enumerate(LOGS):
        h.sampled(1, at=9.0, end=END, **where)
        batches = (
            Batch(0, 11, sequence=number * END),
            Batch(12, END - 1, pid=1 + number, sequence=number * END + 12, at=8.0),
        )
        replicas(h, *batches, **where)
    h.led(2, 3, at=20.0, isr=(1, 2), **T0)
    for where in (T1, U):
        h.led(2, 9, at=41.5, isr=(1, 2), **where)
    h.led(1, 7, at=80.0, isr=(1, 2), **T0)
    # Of one group, or one partition; and with an epoch that a leader had, or later, or elsewhere.
    for offset, epoch, at in ((8, 0, 25.0), (8, 5, 26.0), (8, 7, 27.0), (10, 9, 40.1)):
        set_by_administrator(h, offset, epoch, at=at, group="g", where=T0)
    for offset, epoch, at in ((8, 3, 26.0), (12, 9, 27.0)):
        set_by_administrator(h, offset, epoch, at=at, group="k", where=T0)
    stalled(h, 8, T0, T1, U, at=40.0, seq=1001)
    stalled(h, 8, T0, at=40.0, seq=1001, group="k")
    stalled(h, 9, T0, at=40.0, seq=1002, member="2")
    stalled(h, 10, T0, at=40.0, seq=1003, member="3")
    stalled(h, 8, T0, at=41.0, seq=1004)
    stalled(h, None, T0, at=42.0, seq=1005)
    # An epoch 9 is set, and led, at the moment of the report.
    set_by_administrator(h, 11, 9, at=43.002, group="k", where=T0)
    stalled(h, 11, T0, at=43.0, seq=1006, group="k")
    set_by_administrator(h, 11, 12, at=43.0, group="g", where=T1)
    h.led(1, 12, at=44.0, isr=(1, 2), **T1)
    stalled(h, 11, T1, at=44.0, seq=1007)
    for member, position, at in (("1", 12, 50.0), ("2", 13, 50.0), ("1", 12, 52.0)):
        seq = 1008 + len(h.rows["group_events"])
        stalled(h, position, T0, T1, U, at=at, seq=seq, group="c", member=member)
        stalled(h, position, T0, at=at, seq=seq, group="d", member=member)
    for injected, healed in ((10.0, 11.0), (55.0, 56.0)):
        h.fault("pause", h.on_broker(1), injected=injected, healed=healed)
    h.fault("bounce", h.on_broker(1), injected=60.0, proved=62.0)
    nowhere = {"topic": "", "partition": -1}
    for at in (55.0, 56.0, 57.0, 62.0, 92.0, 92.1, 102.0):
        stalled(h, 6, T0, at=at, seq=round(10 * at), member="4")
        stalled(h, None, nowhere, at=at, seq=round(10 * at), member="5")
    for at in (107.0, 107.1):
        stalled(h, None, nowhere, at=at, seq=round(10 * at), member="5")
    h.seconds = 120.0

"""Findings about one partition, group or member, among others that differ from it in one thing."""

from typing import Any

from tests.exam.commit_verbs import COMMIT
from tests.exam.histories.spans import (
    END,
    LOGS,
    PLACES,
    others_than,
    sent,
    several,
)
from tests.exam.history import PERMITTED, VIOLATION, History, asks
from tests.exam.quorum_verbs import (
    metadata_batch,
    metadata_held,
    metadata_logs,
    metadata_truncated,
    own_epoch,
    quorum_divided,
    quorum_reported,
)
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import (
    Batch,
    began_transaction,
    replica,
    replicas,
)
from tests.exam.verbs import cluster, joined

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


@asks(
    "Members are led from 4 to 10, and went past records that they never got, between those of "
    "other partitions, groups and offsets; one broker has lost a part of the log.",
    source="docs/findings.md, reset; contract/tables.py: size_bytes, max_timestamp_micros",
    expects={
        "reset": f'{PERMITTED}: out_of_range: "records":-6,"bytes":600,"seconds":2.0,"skipped":3',
    },
)
def resets_pass_records_between_others(h: History) -> None:
    several(h)
    sent(h)
    batches = [(0, 3, 1.0), (4, 4, 2.0), (5, 9, 4.0), (10, END - 1, 8.0)]
    for where in LOGS:
        h.sampled(1, at=9.0, end=END, **where)
        spans = batches if where == T0 else [(0, END - 1, 1.0)]
        made = [
            Batch(first, last, at=at, sequence=sequence(where, first)) for first, last, at in spans
        ]
        replica(h, 1, *made, **where)
        replica(h, 2, *made[:2], **where)
    # Not delivered: of the first group those around 4 and 10 too, of the others those between.
    passed = {0: (3, 4, 5, 6, 10), 1: (7, 8), 2: (7, 8), 3: (7, 8)}
    for number, (where, group) in enumerate(PLACES):
        joined(h, 0, at=15.0, group=group, topic=where["topic"], partitions=(where["partition"],))
        for first, last in others_than(passed[number]):
            first_value = sequence(where, first)
            h.polled(first, last, at=20.0, sequence=first_value, group=group, **where)
        h.changed("caught_up", at=60.0, position=END, group=group, **where)
    for epoch in (0, 1):
        h.reset("out_of_range", 4, 10, at=40.0, policy="latest", epoch=epoch, **T0)
    h.reset("out_of_range", 3, 10, at=40.0, policy="latest", **T0)
    h.reset("out_of_range", 12, 13, at=41.0, policy="latest", **T0)


def with_bounds(h: History) -> None:
    """Topics whose records go by time, by order, by both, or never."""
    for topic, of_topic in {
        "kept": {"partitions": 4, "retention_ms": 60_000},
        "ordered": {"partitions": 2, "deletes": True},
        "short": {"deletes": True, "retention_ms": 60_000},
        "endless": {"partitions": 2},
        "again": {"partitions": 2},
    }.items():
        h.topic(topic, **of_topic)
        for partition in range(of_topic.get("partitions", 1)):
            cluster(h, topic=topic, partition=partition)


@asks(
    "Leaders of several partitions report where their logs begin, some of which were deleted too "
    "early, too far, or have gone back; so do a follower and a topic that was created again.",
    source="KIP-107; UnifiedLog.deleteRetentionMsBreachedSegments; docs/findings.md, "
    "retention_overreach",
    expects={
        "retention_overreach": f"{VIOLATION}: above the high watermark: log start 12 is above "
        "high watermark 9",
    },
)
def logs_begin_elsewhere_in_others(h: History) -> None:
    with_bounds(h)

    def starts(at: float, start: int, end: int, place: dict[str, Any], epoch: int = 0) -> None:
        h.sampled(1, at=at, start=start, end=end, epoch=epoch, **place)

    def place(topic: str, partition: int = 0) -> dict[str, Any]:
        return {"topic": topic, "partition": partition}

    # The youngest record is the last one below the start, or is of another partition.
    for partition, written in ((0, (5.0, 8.0)), (1, (8.0, 8.0)), (2, (5.0, 60.0)), (3, (5.0, 5.0))):
        for offset, at in ((0, written[0]), (3, written[1]), (4, 60.0)):
            sent_at = {"sequence": partition * END + offset, **place("kept", partition)}
            h.sent(offset, 2 if offset == 0 else None, at=at, **sent_at)
    for at in (10.0, 80.0):
        starts(at, 4, END, place("kept", 0))
    starts(10.5, 1, END, place("kept", 1))
    starts(70.0, 4, END, place("kept", 2))
    starts(70.0, 4, END, place("kept", 3))
    h.sent(0, 3, at=8.0, sequence=9 * END, **place("short"))
    starts(10.0, 4, END, place("short"))
    # Above the high watermark, which is 0, not known, or reported too early to say so.
    starts(10.0, 3, 0, place("ordered", 1))
    h.log_started(1, 12, at=20.0, **place("ordered"))
    for at, end, asked in (
        (20.003, 11, 19.998),
        (23.0, 10, None),
        (25.0, 9, 24.9),
        (26.0, -1, 25.9),
    ):
        starts(at, 8, end, place("ordered"))
        h.rows["samples"][-1]["asked_micros"] = asked and h.at(asked)
    h.led(1, 1, at=30.0, isr=(1, 2), **place("ordered"))
    starts(35.0, 9, 9, place("ordered"), 1)
    h.log_started(1, 2, at=30.0, **place("ordered", 1))
    h.led(1, 1, at=30.0, isr=(1, 2), **place("ordered", 1))
    starts(35.0, 1, 0, place("ordered", 1), 1)
    h.led(1, 2, at=40.0, isr=(1, 2), **place("ordered"))
    starts(45.0, 6, END, place("ordered"), 2)
    h.led(1, 3, at=50.0, isr=(1, 2), **place("ordered"))
    for at, start in ((55.0, 7), (56.0, 12)):
        starts(at, start, END, place("ordered"), 3)
    h.log_started(1, 14, at=60.0, **place("ordered"))
    starts(63.0, 12, 13, place("ordered"), 3)
    h.rows["samples"][-1]["asked_micros"] = None
    starts(10.0, 1, END, place("endless"))
    for at, start in ((10.0, 3), (20.0, 8)):
        starts(at, start, END, place("endless", 1))
    # Of a topic that was created again with fewer partitions, and of a follower.
    starts(10.0, 8, END, place("again"))
    h.led(1, 0, at=20.0, isr=(1, 2), topic_id="second", **place("again"))
    starts(30.0, 0, END, place("again"))
    h.sampled(2, at=10.0, start=5, end=END, leader=1, **place("again", 1))
    copies(h, (1, 2), (0, END - 1, 0), **place("again"))


@asks(
    "Batches of old producer epochs and gaps in sequence numbers are between those of other "
    "partitions, replicas and producer ids, and sends of old epochs between those of others.",
    source="KIP-98: ProducerAppendInfo.checkProducerEpoch, checkSequence; a sequence number after "
    "2^31 - 1 is 0",
    expects={
        "zombie_producer_accepted": f"{VIOLATION}: appended: "
        '"producer_epoch":0,"newer_epoch":2,"batches":2',
    },
)
def old_producer_epochs_are_among_others(h: History) -> None:
    several(h)
    for where in (T1, U):
        h.led(1, 0, at=0.6, isr=(1, 2, 3), replicas=(1, 2, 3), **where)
    batches = [(0, 3, 0), (4, 5, 2), (6, 7, 0), (8, 8, 1), (9, 10, 0)]
    made = [Batch(first, last, pid=1, pid_epoch=epoch) for first, last, epoch in batches]
    for broker, epoch in ((1, 3), (2, 4)):
        # After a loss, the replicas differ in the last batch.
        replica(h, broker, *made, Batch(11, 11, pid=1, pid_epoch=epoch), **T0)
    replica(h, 3, Batch(0, 3, pid=1, pid_epoch=7), Batch(4, 10, pid=1, pid_epoch=6), **T0)
    spans = (
        Batch(0, 0, pid=1, pid_epoch=9),
        Batch(1, 1, pid=2, pid_epoch=1),
        Batch(2, 2, pid=2, pid_epoch=0),
        # Gaps of one number, and of the most that are one, and of one more: less than before.
        Batch(3, 3, pid=3, base_sequence=0),
        Batch(4, 4, pid=3, base_sequence=2),
        Batch(5, 5, pid=4, base_sequence=0),
        Batch(6, 6, pid=4, base_sequence=2**30),
        Batch(7, 7, pid=5, base_sequence=0),
        Batch(8, 8, pid=5, base_sequence=2**30 + 1),
    )
    for broker in (1, 2, 3):
        replica(h, broker, *spans, **T1)
        replica(h, broker, Batch(0, 0), **U)
    for row in h.rows["replica_batches"]:
        if row["producer_id"] == h.place.producer_id(2):
            row["producer_id"] = 0
    for transactional_id, old, new, worker in (("x", "p", "p2", "w"), ("y", "q", "q2", "w2")):
        ids = {"transactional_id": transactional_id, "pid": 10 + ord(old)}
        began_transaction(h, at=5.0, producer=old, **ids)
        began_transaction(h, at=20.0, pid_epoch=1, producer=new, **ids)
        for row in h.rows["transactions"][-2:]:
            row["worker"] = h.own(worker)
    # Half a millisecond after a report of the same worker, and of another one.
    soon = {"at": 20.01, "intended_at": 20.0005, "transaction": 0}
    h.sent(30, sequence=130, partition=1, **soon)
    h.sent(31, sequence=131, producer="q", **soon)
    for offset, at in ((20, 30.0), (25, 31.0)):
        h.sent(offset, offset + 1, at=at, sequence=100 + offset, transaction=0)
    lost = {"outcome": "unknown", "error": "TimeoutException", "transaction": 0}
    h.sent(None, at=40.0, sequence=140, **lost)


@asks(
    "Replicas of several partitions hold different batches: below a high watermark that only their "
    "leader reported, where nothing shows one, outside the ISR, and of a former topic.",
    source="KIP-101; docs/findings.md, log_divergence: the bound below which offsets are committed",
    expects={"log_divergence": f"{VIOLATION}: differs: 4 batches of epochs [0]"},
)
def replicas_differ_among_others(h: History) -> None:
    for topic, partitions in (("t", 4), ("again", 2)):
        h.topic(topic, partitions=partitions)

    def place(partition: int, topic: str = "t") -> dict[str, Any]:
        return {"topic": topic, "partition": partition}

    three = {"replicas": (1, 2, 3)}
    h.led(1, 0, at=0.5, isr=(1, 2, 3), **three, **place(0))
    h.led(1, 0, at=0.5, isr=(1, 2), replicas=(2, 1), **place(1))
    h.led(1, 0, at=0.5, isr=(1, 2), replicas=(2, 3, 1), **place(2))
    h.led(1, 0, at=0.5, isr=(1, 2), replicas=(1, 2), **place(3))
    for partition in (0, 1):
        h.led(1, 0, at=0.5, isr=(1, 2), replicas=(3, 2, 1), **place(partition, "again"))
    again = {"replicas": (3, 2, 1), "topic_id": "second", **place(0, "again")}
    h.led(1, 0, at=20.0, isr=(1, 2), **again)
    for log in (place(0), place(3), place(0, "again")):
        h.sampled(1, at=30.0, end=8, isr=(1, 2), **log)
    first = (0, 3, 0)

    def holds(
        *brokers: int, spans: Any, at: int = 0, high: int | None = None, **where: Any
    ) -> None:
        copies(h, brokers, first, *spans, sequences={4: at}, high_watermark=high, **where)

    # Broker 3 has what the others lack, below the leader's high watermark.
    holds(1, 2, spans=((4, 5, 0), (6, 7, 0)), high=4, **place(0))
    holds(3, spans=((4, 4, 0), (5, 5, 0), (6, 6, 0), (7, 7, 0)), at=50, high=4, **place(0))
    # Nothing shows that the first batches were committed; outside the ISR, nothing was.
    copies(h, (1,), (0, 3, 0), sequences={0: 60}, **place(1))
    copies(h, (2,), (0, 3, 0), sequences={0: 70}, **place(1))
    copies(h, (1, 2), (0, 3, 0), high_watermark=4, **place(2))
    copies(h, (3,), (0, 3, 0), sequences={0: 80}, **place(2))
    holds(1, spans=((4, 7, 0),), high=8, **place(3))
    holds(2, spans=((4, 7, 0),), at=55, high=8, **place(3))
    # Of the topic that was created again: of the former one is what broker 3 has.
    holds(1, spans=((4, 7, 0),), high=8, **place(0, "again"))
    holds(2, spans=((4, 7, 0),), at=90, high=8, **place(0, "again"))
    copies(h, (3,), (0, 7, 0), sequences={0: 95}, high_watermark=8, **place(0, "again"))


def of_three_epochs(h: History) -> None:
    """The logs go on under epoch 1 from offset 8 and under epoch 2 from 12; nothing is lost."""
    for number, where in enumerate(LOGS):
        for epoch, (begins, at) in enumerate(((0, 1.0), (8, 20.0), (12, 25.0))):
            h.led(1, epoch, at=at, isr=(1, 2), starts=begins, **where)
            h.sampled(1, at=at + 1, end=END, epoch=epoch, **where)
        spans = ((0, 7, 0), (8, 11, 1), (12, END - 1, 2))
        sequences = {first: number * END + first for first, _, _ in spans}
        copies(h, (1, 2), *spans, sequences=sequences, high_watermark=END, **where)


@asks(
    "Members of several groups and partitions are told that the log diverges, after they read the "
    "record before their position under several epochs, or committed the position with several.",
    source="KIP-320: a position has the epoch of the record before it, or that of the commit; "
    "LeaderEpochFileCache.endOffsetFor",
    expects={
        "divergence_mismatch": f"{VIOLATION}: elsewhere: the exception has divergent offset 8, "
        "but epoch 1 ends at 12",
    },
)
def positions_have_epochs_from_several_sources(h: History) -> None:
    several(h)
    for group in ("l", "m", "n", "o", "q"):
        h.group(group)
    of_three_epochs(h)

    def told(
        offset: int, *places: dict[str, Any], group: str, at: float = 40.0, **columns: Any
    ) -> None:
        """The next record of these partitions is 10."""
        made = {"member": "1", "divergent_epoch": 0, "seq": 5001} | columns
        seq = made.pop("seq")
        for where in places:
            h.changed(
                "failed",
                at=at,
                position=10,
                exception="LogTruncationException",
                message="Detected log truncation with diverging offset",
                divergent_offset=offset,
                group=group,
                **made,
                **where,
            )
            h.rows["group_events"][-1]["seq"] = seq

    def read(group: str, epoch: int, at: float, where: dict[str, Any] = T0, seq: int = 0) -> None:
        h.polled(9, at=at, epoch=epoch, sequence=sequence(where, 9), group=group, **where)
        h.rows["polls"][-1]["seq"] = seq or 4000 + round(10 * at)

    # Read under epoch 0 and then 1, and last without an epoch; of several partitions at once.
    for where, group in (*PLACES, (T0, "l")):
        for epoch, at in ((0, 15.0), (1, 30.0), (-1, 35.0)):
            read(group, epoch, at, where)
        h.commit(10, 0, at=16.0, group=group, **where)
    told(8, T0, T1, U, group="g")
    told(8, T0, group="g", seq=5002, at=41.0)
    told(8, T0, group="g", member="2")
    told(8, T0, group="k")
    # Its own report is older or newer than the last poll, which has the same time.
    read("l", 2, 40.0, seq=6000)
    told(END, T0, group="l")
    read("m", 0, 15.0)
    read("m", 1, 40.0)
    told(8, T0, group="m", member="2")
    # The exception has an epoch itself.
    told(12, T0, group="l", seq=5003, at=41.0, position_epoch=0)
    read("n", 0, 15.0)
    told(12, T0, group="n", position_epoch=1, divergent_epoch=1)
    # Only commits have one.
    for group, commits_of_group in {
        "o": ((0, 20.0), (1, 30.0), (-1, 35.0)),
        "q": ((0, 20.0), (1, 40.0)),
    }.items():
        for epoch, at in commits_of_group:
            h.commit(10, epoch, at=at, group=group, **T0)
        told(8, T0, group=group)
    told(12, T0, group="q", seq=5004, at=38.0, divergent_epoch=1)


@asks(
    "Two servers held entries that they lack at the end, one of them twice; they truncate before, "
    "between and after, too little and too much, and a topic is truncated too.",
    source="KIP-595, Fetch: a log is truncated to the end of the largest common epoch, in rounds",
    expects={
        "metadata_truncation": f'{VIOLATION}: too little: "batches":3,"rounds":1,"lowest":8',
    },
)
def servers_truncate_metadata_among_others(h: History) -> None:
    quorum_divided(h)
    for server in (1, 2):
        metadata_held(h, server, 6, 7, 8, epoch=3)
    metadata_held(h, 3, 10, 11, epoch=3)
    metadata_batch(h, "metadata_batches", 1, 20, 2, leader=None, at_micros=h.at(20.5))
    for table, epochs in (
        ("cut_metadata_batches", {6: 7, 7: 8, 8: 8}),
        ("metadata_batches", {5: 3, 6: 4, 7: 5, 8: 5, 9: 6}),
    ):
        for row in h.rows[table]:
            if row["server"] == h.broker(2):
                row["metadata_epoch"] = own_epoch(h, epochs.get(row["base_offset"], 1))
    for server, to, at in (
        (1, 2, 8.0),
        (1, 6, 11.0),
        (1, 4, 30.0),
        (1, 20, 31.0),
        (2, 8, 11.0),
        (3, 9, 11.0),
    ):
        metadata_truncated(h, server, to, at=at)
    h.truncated(1, 3, at=12.0)
    metadata_held(h, 1, 20, 21, epoch=4)
    for row in h.rows["cut_metadata_batches"][-2:]:
        row["taken_micros"] = h.at(30.0)


@asks(
    "High watermarks of several leaders: of a log that ends just there, of voters that had not "
    "read so far or have no log, of one without its first entry; and a server lacks batches that "
    "differ from those of the logs in one thing each.",
    source="KIP-595: only an entry that a majority holds is committed, and it is never lost; "
    "contract/tables.py: what a batch is",
    expects={
        "metadata_lost": f"{VIOLATION}: truncated: truncated, 5 batches that no log has",
    },
)
def metadata_is_lost_among_others(h: History) -> None:
    quorum_divided(h)
    for server, to in ((4, 12), (5, 12), (6, 11), (7, 11), (8, 11), (9, 1)):
        metadata_logs(h, of=(server,), to=min(to, 10))
        for offset in range(10, to):
            metadata_batch(
                h, "metadata_batches", server, offset, 2, leader=None, at_micros=h.at(20.5)
            )

    def sample(epoch: int, high_watermark: int, *voters: int, at: float, server: int = 4) -> None:
        quorum_reported(h, server, epoch, high_watermark, (), at=at)
        h.rows["quorum_samples"][-1]["voters"] = [h.broker(voter) for voter in voters]

    # Half of the voters reach it; later the leader reported less, of others.
    sample(2, 12, 4, 5, 6, 7, at=21.0)
    sample(2, 11, 6, at=22.0)
    # Nobody reaches it, by one; a single voter does, of three; and there are no logs at all.
    sample(3, 0, 9, 11, 12, at=21.0)
    sample(4, 1, 9, 11, 12, at=21.0)
    sample(5, 5, 13, 14, 15, at=21.0)
    # The first entry of epoch 6 is in no log; voter 9 had not read so far.
    sample(6, 11, 6, 7, 8, at=25.0, server=6)
    metadata_batch(h, "metadata_batches", 4, 12, 6, leader=None, at_micros=h.at(26.0))
    metadata_batch(h, "cut_metadata_batches", 6, 15, 6, leader=None, taken_micros=h.at(10.0))
    sample(7, 11, 6, 7, 8, 9, at=25.0, server=7)
    # Below the high watermark: each differs from an entry in one thing; and a newer epoch.
    for at, high_watermark in ((9.0, 7), (10.0, 8), (11.0, 40)):
        quorum_reported(h, 8, 1, high_watermark, (), at=at)
    for change in (
        {"base_offset": 1},
        {"last_offset": 3},
        {"metadata_epoch": own_epoch(h, 0)},
        {"size_bytes": 101},
        {"checksum": 7},
        {"metadata_epoch": own_epoch(h, 9), "base_offset": 7, "last_offset": 7},
        {"base_offset": 30, "last_offset": 30},
    ):
        offset = {"last_offset": 1, "metadata_epoch": 4, "size_bytes": 5, "checksum": 0}
        at = next((offset[name] for name in change if name in offset), 2)
        metadata_batch(h, "cut_metadata_batches", 8, at, 1, leader=None, taken_micros=h.at(10.0))
        h.rows["cut_metadata_batches"][-1].update(change)

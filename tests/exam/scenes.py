"""What several histories begin with: a topic that is written, read, and led by another broker."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.exam.cluster_rows import Epochs
from tests.exam.history import History

NEW = 1000
"""Added to an offset, it is the sequence of the record that was written there a second time."""


def written(
    h: History,
    count: int = 100,
    *,
    replicas: Sequence[int] = (1, 2),
    acks: str = "all",
    **topic: Any,
) -> None:
    """Broker 1 leads with all replicas in sync; records 0 to count - 1 are acknowledged at 2 s."""
    h.topic(replication=len(replicas), **topic)
    for broker in replicas:
        h.registered(broker, at=0, is_fenced=False)
    h.led(1, 0, at=0.5, isr=replicas, replicas=replicas, starts=0)
    h.sent(0, count - 1, at=2, acks=acks)
    h.sampled(1, at=3, end=count, isr=replicas)


def copies(
    h: History,
    brokers: Sequence[int],
    *spans: tuple[int, int, int],
    start: int = 0,
    end: int | None = None,
    high_watermark: int | None = None,
    checkpoints: Epochs | None = None,
    producers: Mapping[int, str] | None = None,
    sequences: Mapping[int, int] | None = None,
    topic: str = "t",
    partition: int = 0,
    at: float = 1.0,
) -> None:
    """Several replicas that hold the same at the end; see `log`."""
    for broker in brokers:
        h.log(
            broker,
            *spans,
            start=start,
            end=end,
            high_watermark=high_watermark,
            sequences=sequences,
            producers=producers,
            checkpoints=checkpoints,
            topic=topic,
            partition=partition,
            at=at,
        )


def started(
    h: History,
    position: int,
    *,
    at: float,
    fresh: bool = False,
    policy: str = "earliest",
    member: str = "1",
    group: str = "g",
    topic: str = "t",
    partition: int = 0,
    generation: int = -1,
) -> None:
    """A member opens and is assigned the partition. fresh: the group had no commit yet."""
    h.changed("opened", at=at, member=member, group=group)
    if fresh:
        h.add(
            "resets",
            worker=h.own("w"),
            group=h.own(group),
            member=h.member(member, group),
            topic=h.own(topic),
            partition=partition,
            cause="no_commit",
            policy=policy,
            from_offset=None,
            from_epoch=-1,
            to_offset=position,
            to_epoch=-1,
            log_line=f"no commit, to {position}",
            at_micros=h.at(at + 0.2),
        )
    h.changed(
        "assigned",
        at=at + 0.3,
        position=position,
        member=member,
        group=group,
        topic=topic,
        partition=partition,
        generation=generation,
    )


def consumed(
    h: History,
    first: int,
    last: int,
    *,
    at: float,
    epoch: int = 0,
    commit: bool = True,
    fresh: bool = True,
    closed: bool = True,
    member: str = "1",
    group: str = "g",
    style: str = "record",
    committed_epoch: int | None = None,
    sequence: int | None = None,
) -> None:
    """A member reads from `first` to `last`, which is the log's end, and closes after 3 s."""
    started(h, first, at=at, fresh=fresh, member=member, group=group)
    h.polled(first, last, at=at + 0.5, epoch=epoch, member=member, group=group, sequence=sequence)
    h.changed("caught_up", at=at + 1, position=last + 1, member=member, group=group)
    if commit:
        h.commit(
            last + 1,
            epoch if committed_epoch is None else committed_epoch,
            at=at + 2,
            style=style,
            record_epoch=epoch,
            member=member,
            group=group,
        )
    if closed:
        h.changed("closed", at=at + 3, member=member, group=group)


def killed(h: History, broker: int, *, at: float, healed: float | None = None) -> None:
    """A broker is killed, and fenced three seconds later; `returned` tells of its return."""
    h.fault(
        "kill",
        h.on_broker(broker),
        injected=at,
        proved=at + 3,
        heal_began=None if healed is None else healed - 1,
        healed=healed,
    )
    h.registered(broker, at=at + 3, is_fenced=True, broker_epoch=1)


def returned(h: History, broker: int, *, at: float) -> None:
    """A broker registers anew."""
    h.registered(broker, at=at, is_fenced=False, broker_epoch=2)


def torn(
    h: History,
    *,
    clean: bool = False,
    ordered: bool = False,
    configured: bool = True,
    acks: str = "all",
    refilled: int = 350,
    deletes: bool = False,
    retention_ms: int | None = None,
    logged: bool = True,
    partitions: int = 1,
) -> int:
    """Records 100 to 199 of epoch 0 are gone: broker 2, without them, is elected at 23 s.

    Offsets from 100 are written anew by it up to `refilled` (exclusive) at 30 s. Broker 1 is back
    at 40 s, truncates to 100, and is in sync again at 43 s.

    clean: broker 2 was in sync until the end, as the metadata log tells; else it had left at 4 s.
    ordered: nobody leads from 23 s on, until an operator orders an unclean election at 25 s.
    logged: write what the replicas hold at the end, too.

    Returns:
        The new leader's epoch.
    """
    written(
        h,
        partitions=partitions,
        unclean_election=configured,
        acks=acks,
        deletes=deletes,
        retention_ms=retention_ms,
    )
    isr = (1, 2) if clean else (1,)
    if not clean:
        h.fault(
            "cut replication",
            h.on_broker(2),
            injected=3.5,
            proved=4,
            heal_began=24,
            healed=26,
        )
        h.led(1, 0, at=4, isr=isr)
    h.sent(100, 199, at=5, acks=acks)
    h.sampled(1, at=6, end=200, isr=isr)
    h.sampled(1, at=19, end=200, isr=isr)
    killed(h, 1, at=20, healed=40)
    epoch, at = 1, 23.0
    if ordered:
        h.led(-1, 1, at=23, isr=isr)
        epoch, at = 2, 25.0
        h.fault("elect unclean", h.on_partition("t", 0), injected=24.9, proved=25.5)
    h.led(2, epoch, at=at, isr=[2], starts=100)
    h.sampled(2, at=27, end=100, epoch=epoch, isr=[2])
    if refilled > 100:
        h.sent(100, refilled - 1, at=30, sequence=100 + NEW)
        h.sampled(2, at=31, end=refilled, epoch=epoch, isr=[2])
    h.cut(1, 100, 199, 0, at=39)
    returned(h, 1, at=40)
    h.truncated(1, 100, at=41)
    h.led(2, epoch, at=43, isr=[2, 1])
    h.sampled(2, at=44, end=refilled, epoch=epoch, isr=[2, 1])
    if logged:
        spans = [(0, 99, 0)]
        if refilled > 100:
            spans.append((100, refilled - 1, epoch))
        copies(h, (1, 2), *spans, sequences={100: 100 + NEW}, high_watermark=refilled)
    return epoch


def failed_over(h: History, *, at: float, start: int, isr: Sequence[int] = (2,)) -> None:
    """Broker 1 is killed for good; broker 2, which was in sync, leads under epoch 1 after 3 s."""
    killed(h, 1, at=at)
    h.led(2, 1, at=at + 3, isr=isr, starts=start)
    h.sampled(2, at=at + 4, end=start, epoch=1, isr=isr)


def forget_elections(h: History) -> None:
    """The metadata log has nothing of the epochs after the first."""
    changes = h.rows["leaderships"]
    h.rows["leaderships"] = [change for change in changes if change["leader_epoch"] == 0]


def metadata_in_order(h: History) -> None:
    """The records of the metadata log stand in the order of their times."""
    rows = [*h.rows["broker_states"], *h.rows["leaderships"]]
    offsets = sorted(row["metadata_offset"] for row in rows)
    for row, offset in zip(sorted(rows, key=lambda row: row["at_micros"]), offsets, strict=True):
        row["metadata_offset"] = offset


def leader_killed(h: History, *, at: float, starts: int, topic_id: str = "id") -> None:
    """Broker 1 is killed; broker 2 leads epoch 1 out of the ISR, from `starts` on."""
    h.fault(
        "kill",
        h.on_broker(1),
        injected=at,
        proved=at + 4,
        heal_began=at + 14,
        healed=at + 15,
    )
    h.registered(1, at=at + 3.4, is_fenced=True)
    h.led(2, 1, at=at + 3.4, isr=(2,), starts=starts, topic_id=topic_id)
    h.registered(1, at=at + 14.9, is_fenced=False, broker_epoch=2)
    h.truncated(1, starts, at=at + 15.2)
    h.led(2, 1, at=at + 18, isr=(1, 2), topic_id=topic_id)


def paused(h: History, broker: int, *, at: float, until: float) -> None:
    """A broker's node is suspended, and the broker fenced 3 s later until it is resumed."""
    h.fault(
        "pause",
        h.on_broker(broker),
        injected=at,
        proved=at + 3.5,
        heal_began=until - 0.1,
        healed=until,
    )
    h.registered(broker, at=at + 3, is_fenced=True)
    h.registered(broker, at=until + 0.1, is_fenced=False)


def served(h: History) -> None:
    """A topic that is written and read."""
    written(h, replicas=(1, 2, 3))
    h.group()
    consumed(h, 0, 99, at=5)
    copies(h, (1, 2, 3), (0, 99, 0), high_watermark=100)


def tails_cut(
    h: History, brokers: Sequence[int], *, removed: int, at: float, healed: float
) -> None:
    """All brokers are killed, and the last of 100 records removed; the faults tells of whose."""
    tail = {"removed": removed, "log_end_before": 100, "log_end_after": 100 - removed}
    h.fault(
        "cut tails",
        h.on_replicas("t", 0),
        injected=at,
        proved=at + 4 if removed > 1 else None,
        heal_began=healed - 6 if removed > 1 else None,
        healed=healed,
        evidence=json.dumps({str(h.broker(broker)): tail for broker in brokers}),
    )

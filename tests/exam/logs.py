"""Logs of several partitions that differ in where they fork and in what is known of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

from tests.exam.history import History
from tests.exam.scenes import copies

Where = dict[str, Any]
Sample = tuple[int, float, int, int]

END = 20
MOMENTS = (0.5, 20.0, 30.0, 40.0)
"""When the epochs of a log begin."""
ENDS = (10, 13, 15, END)
"""Where each epoch's leader ended."""
HEARD_SECONDS = 5
"""By then every client has heard of a new leader."""
CLOCK_SECONDS = 0.05
"""The clock bound of a run whose clocks are not known to be apart."""
MICROSECOND = 0.000_001


def around(second: float) -> tuple[float, ...]:
    """The clock bound before and after a moment, and one microsecond beyond."""
    bound = CLOCK_SECONDS
    return (
        second - bound - MICROSECOND,
        second - bound,
        second + bound,
        second + bound + MICROSECOND,
    )


HEARD = tuple(moment + HEARD_SECONDS for moment in (30.0, 40.0))
TIMES = (
    *(at for moment in MOMENTS[1:] for at in around(moment)),
    *(at for moment in HEARD for at in around(moment)[:3]),
    50.0,
)
OFFSETS = (7, 8, 9, 10, 11, 12, 13, 14, 16, 20)


def spread(*values: Iterable[Any], count: int) -> Iterator[tuple[Any, ...]]:
    """So many of all combinations, evenly."""
    every = list(product(*values))
    step = len(every) // count | 1
    while gcd(step, len(every)) > 1:
        step += 2
    for number in range(min(count, len(every))):
        yield every[number * step % len(every)]


@dataclass(frozen=True, kw_only=True)
class Log:
    """A partition's log: brokers 1 and 2 lead in turn, under epochs 0 to 3, at `MOMENTS`.

    Attributes:
        begins: where each epoch begins.
        held: first and last offset and epoch of what the replicas hold at the end; empty: the
            replicas were not copied.
        start: the log start at the end.
        isr: of the epochs; of one replica, elections are unclean.
        unled: epochs of which the metadata log has nothing.
        unlogged: epochs of which the servers' logs have nothing.
        samples: broker, second, log start and log end of their answers.
        started: broker, second, offset and reason of each log start that a server logged.
    """

    begins: tuple[int, ...] = (0, 8, 11, 13)
    held: tuple[tuple[int, int, int], ...] = ((0, 7, 0), (8, 10, 1), (11, 12, 2), (13, 19, 3))
    start: int = 0
    isr: tuple[int, ...] = ()
    unled: tuple[int, ...] = ()
    unlogged: tuple[int, ...] = ()
    samples: tuple[Sample, ...] = (
        (1, 9.0, 0, 10),
        (2, 20.05, 0, 9),
        (2, 29.95, 0, 11),
        (1, 30.05, 0, 12),
        (1, 39.95, 0, 14),
        (2, 45.0, 0, 16),
        (2, 50.0, 0, 18),
        (2, 55.0, 0, END),
    )
    started: tuple[tuple[int, float, int, str], ...] = ()

    def lay(self, h: History, sequence: int, topic: str, partition: int) -> Where:
        """Write it, with the sends; `sequence` is the first one's."""
        where: Where = {"topic": topic, "partition": partition}
        for epoch, (at, begins, end) in enumerate(zip(MOMENTS, self.begins, ENDS, strict=True)):
            leader = 1 + epoch % 2
            if epoch not in self.unled:
                h.led(leader, epoch, at=at, isr=self.isr or (leader,), **where)
            if epoch not in self.unlogged:
                h.epoch_started(leader, epoch, begins, at=at, **where)
            first = sequence + epoch * END + begins
            h.sent(begins, end - 1, at=at + 2, sequence=first, **where)
        if not self.isr and 3 not in self.unled:
            h.led(2, 3, at=60.0, isr=(1, 2), **where)
        for broker, second, start, end in self.samples:
            epoch = sum(moment <= second for moment in MOMENTS) - 1
            bounds = {"start": start, "end": end, "epoch": epoch, "leader": 1 + epoch % 2}
            h.sampled(broker, at=second, **bounds, **where)
        for broker, second, offset, reason in self.started:
            h.log_started(broker, offset, at=second, reason=reason, **where)
        if self.held:
            sequences = {first: sequence + epoch * END + first for first, _, epoch in self.held}
            bounds = {"start": self.start, "end": END, "high_watermark": END}
            copies(h, (1, 2), *self.held, sequences=sequences, **bounds, **where)
        return where


LACKS_1 = ((0, 9, 0), (10, 12, 2), (13, 19, 3))
LACKS_2 = ((0, 7, 0), (8, 11, 1), (12, 19, 3))
FORKED = (
    Log(),
    Log(begins=(0, 8, 10, 13), held=LACKS_1),
    Log(begins=(0, 8, 11, 12), held=LACKS_2),
    Log(begins=(0, 8, 10, 12), held=LACKS_2),
)
"""Of one the log of epoch 2 lacks epoch 1, of the others that of epoch 3 lacks epoch 2."""
DELETED = ((9, 10, 1), (11, 12, 2), (13, 19, 3))
LOGS = (
    *FORKED,
    Log(isr=(1, 2)),
    Log(begins=(0, 8, 10, 13), held=LACKS_1, unled=(0, 1)),
    Log(begins=(0, 8, 11, 12), held=LACKS_2, unled=(3,)),
    Log(begins=(0, 8, 10, 12), held=()),
    Log(unlogged=(1, 2), held=((0, 7, 0), (13, 19, 3))),
    Log(unlogged=(1, 2), unled=(1,)),
    Log(
        unlogged=(0, 1, 2, 3),
        held=(),
        samples=((1, 9.0, 0, 10), (1, 20.0, 0, 8), (2, 20.1, 0, 12), (2, 25.0, -1, -1)),
    ),
    Log(samples=((2, 9.0, 0, 9), (1, 25.0, 0, 11))),
    Log(unled=(0, 1, 2, 3), unlogged=(0, 1, 2, 3), held=()),
    Log(
        start=9,
        held=DELETED,
        samples=((1, 9.0, 0, 10), (2, 20.05, 6, 9), (2, 29.95, 8, 12), (1, 34.95, 9, 14)),
        started=(
            (1, 19.0, 8, "segment deletion"),
            (2, 24.0, 7, "segment deletion"),
            (2, 29.95, 9, "segment deletion"),
            (1, 30.05, 9, "leader offset increment"),
        ),
    ),
    Log(
        start=9,
        held=DELETED,
        samples=((1, 9.0, 0, 10), (2, 20.05, 0, 9), (1, 34.95, 0, 14)),
        started=((2, 25.0, 7, "segment deletion"), (1, 35.0, 9, "segment deletion")),
    ),
    Log(samples=(), started=((2, 20.05, 7, "segment deletion"),)),
)


def several_logs(h: History) -> list[Where]:
    """Logs of a topic; of one that allows unclean elections and deletes; of one created again."""
    h.topic(partitions=len(LOGS))
    h.topic("u", unclean_election=True, deletes=True, partitions=len(LOGS))
    h.topic("v", partitions=2)
    logs = [
        log.lay(h, 100 * (len(LOGS) * number + partition), topic, partition)
        for number, topic in enumerate(("t", "u"))
        for partition, log in enumerate(LOGS)
        if topic == "t" or log in FORKED or log.start
    ]
    return logs + created_again(h)


def created_again(h: History) -> list[Where]:
    """A topic of two partitions that is created again, one partition a moment after the other."""
    logs: list[Where] = []
    for partition, created in enumerate((20.0, 20.05)):
        where: Where = {"topic": "v", "partition": partition}
        sequence = 10_000 + 100 * partition
        h.led(1, 0, at=0.5, isr=(1, 2), starts=0, topic_id="old", **where)
        h.sent(0, 9, at=2.5, sequence=sequence, **where)
        h.sampled(1, at=9.0, end=10, **where)
        h.led(1, 0, at=created, isr=(1, 2), starts=0, topic_id="new", **where)
        h.led(2, 1, at=30.0, isr=(1, 2), starts=8, topic_id="new", **where)
        h.sent(0, 7, at=22.0, sequence=sequence + END, **where)
        h.sent(8, END - 1, at=32.0, sequence=sequence + END + 8, **where)
        h.sampled(1, at=25.0, end=8, **where)
        h.sampled(2, at=35.0, end=END, epoch=1, **where)
        sequences = {0: sequence + END, 8: sequence + END + 8}
        copies(
            h, (1, 2), (0, 7, 0), (8, END - 1, 1), sequences=sequences, high_watermark=END, **where
        )
        logs.append(where)
    h.fault("recreate", h.on_topic("v"), injected=19.9, proved=20.1)
    return logs


def in_each_log(
    h: History, *values: Iterable[Any], count: int, styles: tuple[str | None, ...] = ("record",)
) -> Iterator[tuple[Any, ...]]:
    """In each log other combinations of values, `count` of them, each for a group of the topic.

    styles: by which the groups choose the epoch of a commit, in turn; None: the plan lacks it.
    """
    logs = several_logs(h)
    for topic, number in product(("t", "u", "v"), range(count)):
        style = styles[number % len(styles)]
        if style is not None:
            h.group(f"{number}-{topic}", topic, commit_epoch=style)
    places = product(range(count), logs)
    combinations = spread(*values, count=count * len(logs))
    for (number, where), combination in zip(places, combinations, strict=False):
        yield {"group": f"{number}-{where['topic']}", **where}, number, *combination


def value_of(where: Where, offset: int, epoch: int) -> int:
    """The sequence of what an epoch wrote at an offset of a log of `several_logs`."""
    if where["topic"] == "v":
        return 10_000 + 100 * where["partition"] + END * (epoch >= 0) + offset
    return 100 * (len(LOGS) * "tu".index(where["topic"]) + where["partition"]) + (
        max(epoch, 0) * END + offset
    )


def in_each_place(
    h: History, *values: Iterable[Any], partitions: int = 24, isolation: str = "read_uncommitted"
) -> Iterator[tuple[Any, ...]]:
    """One combination of values in each partition of two topics, for each of two groups of a topic.

    `k-t` has a `client.rack`; the plan lacks `k-u`.
    """
    for topic in ("t", "u"):
        h.topic(topic, partitions=partitions)
    for group, settings in (("g-t", {}), ("k-t", {"client.rack": "a"}), ("g-u", {})):
        h.group(group, group[-1], isolation=isolation, settings=settings)
    places = [
        {"topic": topic, "partition": partition, "group": f"{group}-{topic}"}
        for topic, partition, group in product("tu", range(partitions), "gk")
    ]
    for place, combination in zip(places, spread(*values, count=len(places)), strict=False):
        yield place, *combination

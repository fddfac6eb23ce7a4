"""Verbs that several histories of commits, epochs, transactions and liveness share."""

from collections.abc import Iterable, Mapping, Sequence

from contract.tables import MICROS_PER_SECOND
from tests.exam.history import History

WATCHED = (1.0, 5.0, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0)
"""When the observer asks, unless a history says otherwise."""


def cluster(h: History, *, topic: str = "t", partition: int = 0, starts: int = 0) -> None:
    """Brokers 1 and 2 are up, and broker 1 leads the partition under epoch 0."""
    if not h.rows["broker_states"]:
        h.registered(1, at=0.2, is_fenced=False)
        h.registered(2, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1, 2), starts=starts, topic=topic, partition=partition)


def begun(h: History, *, topic: str = "t") -> None:
    """As `cluster`; the observer finds an empty log at second 1."""
    cluster(h, topic=topic)
    h.sampled(1, at=1.0, end=0, isr=(1, 2), topic=topic)


def watched(
    h: History,
    broker: int,
    end: int,
    *,
    times: Iterable[float] = WATCHED[1:],
    start: int = 0,
    epoch: int = 0,
    isr: Sequence[int] = (1, 2),
    topic: str = "t",
    partition: int = 0,
) -> None:
    """The leader tells the same bounds at each of these times."""
    for time in times:
        h.sampled(
            broker,
            at=time,
            end=end,
            start=start,
            epoch=epoch,
            isr=isr,
            topic=topic,
            partition=partition,
        )


def plain(h: History, last: int, *, topic: str = "t", partition: int = 0) -> None:
    """Offsets 0 to `last` are sent at second 2 under epoch 0; both replicas keep them all."""
    cluster(h, topic=topic, partition=partition)
    producer = "p" if partition == 0 else f"p{partition}"
    h.sampled(1, at=1.0, end=0, isr=(1, 2), topic=topic, partition=partition)
    h.sent(0, last, at=2.0, producer=producer, topic=topic, partition=partition)
    watched(h, 1, last + 1, topic=topic, partition=partition)
    for broker in (1, 2):
        h.log(
            broker,
            (0, last, 0),
            high_watermark=last + 1,
            producers={0: producer},
            topic=topic,
            partition=partition,
            at=2.0,
        )


def moved(h: History, *, change: int = 50, last: int = 99, at: float = 20.0) -> None:
    """Epoch 0 of broker 1 holds the offsets below `change`; epoch 1 of broker 2 goes on to `last`.

    The election is clean, and nothing is lost. Epoch 0 is written at second 2, epoch 1 two seconds
    after the election.
    """
    cluster(h)
    h.sampled(1, at=1.0, end=0, isr=(1, 2))
    h.sent(0, change - 1, at=2.0)
    watched(h, 1, change, times=[time for time in WATCHED[1:] if time < at])
    h.led(2, 1, at=at, isr=(1, 2), starts=change)
    h.sent(change, last, at=at + 2)
    watched(h, 2, last + 1, times=[time for time in WATCHED if time > at + 2.5], epoch=1)
    for broker in (1, 2):
        h.log(broker, (0, change - 1, 0), (change, last, 1), high_watermark=last + 1, at=2.0)


def tail_truncated(
    h: History,
    *,
    reported: int = 100,
    survives: int = 50,
    last: int = 149,
    unclean: bool = True,
    waits: bool = False,
) -> None:
    """Broker 1 leads epoch 0 up to `told`; broker 2 has `survives`, leads epoch 1, goes to `last`.

    Broker 1 is killed at second 20, broker 2 elected at 24, it writes at 30; broker 1 is back at 40
    and cut to `survives`. With `unclean` broker 2 had left the in-sync replicas; otherwise it is in
    them, and still lacks what was acknowledged. With `waits` there is no leader for a second (epoch
    1), and broker 2 leads epoch 2.
    """
    cluster(h)
    h.sampled(1, at=1.0, end=0, isr=(1, 2))
    h.sent(0, survives - 1, at=2.0)
    watched(h, 1, survives, times=(5.0,))
    isr = (1,) if unclean else (1, 2)
    if unclean:
        h.led(1, 0, at=8.0, isr=isr)
    h.sent(survives, reported - 1, at=12.0)
    watched(h, 1, reported, times=(14.0, 18.0), isr=isr)
    name = h.on_broker(1)
    h.fault("kill", name, injected=20.0, proved=23.0, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    if waits:
        h.led(-1, 1, at=23.0, isr=isr)
    epoch = 2 if waits else 1
    h.led(2, epoch, at=24.0, isr=(2,), starts=survives)
    h.sent(survives, last, at=30.0, sequence=reported)
    watched(h, 2, last + 1, times=(35.0, 39.0), epoch=epoch, isr=(2,))
    h.registered(1, at=39.0, is_fenced=False, broker_epoch=2)
    h.truncated(1, survives, at=41.0)
    h.led(2, epoch, at=45.0, isr=(1, 2))
    watched(h, 2, last + 1, times=(55.0, 65.0, 75.0, 85.0), epoch=epoch)
    for broker in (1, 2):
        h.log(
            broker,
            (0, survives - 1, 0),
            (survives, last, epoch),
            sequences={survives: reported},
            high_watermark=last + 1,
        )


def joined(
    h: History,
    position: int | None,
    *,
    at: float,
    member: str = "1",
    generation: int = 1,
    group: str = "g",
    topic: str = "t",
    partitions: Sequence[int] = (0,),
) -> None:
    """A member is opened and assigned its partitions half a second later."""
    h.changed("opened", at=at - 0.5, member=member, group=group)
    for partition in partitions:
        h.changed(
            "assigned",
            at=at,
            position=position,
            member=member,
            group=group,
            topic=topic,
            partition=partition,
            generation=generation,
        )


def reads_to(h: History, last: int) -> None:
    """A member is opened and assigned the partition at 0; at second 6 it is given 0 to `last`."""
    joined(h, 0, at=5.0)
    h.polled(0, last, at=6.0)


def left(
    h: History,
    position: int,
    *,
    at: float,
    member: str = "1",
    generation: int = 1,
    group: str = "g",
    topic: str = "t",
    caught_up: bool = False,
) -> None:
    """A member gives its partition back and is closed; before, it may say that it is caught up."""
    reported = {"member": member, "generation": generation, "group": group, "topic": topic}
    if caught_up:
        h.changed("caught_up", at=at - 0.5, position=position, **reported)
    h.changed("revoked", at=at, position=position, **reported)
    h.changed("closed", at=at + 0.2, member=member, group=group)


def first_start(
    h: History, to: int, *, at: float, policy: str = "earliest", group: str = "g", member: str = "1"
) -> None:
    """A client finds no commit, and starts where its policy says."""
    h.reset("no_commit", 0, to, at=at, policy=policy, group=group, member=member)
    h.rows["resets"][-1]["from_offset"] = None


def quiet(
    h: History,
    *,
    assigned_at: int | None = 0,
    caught_up_at: int = 100,
    skip: bool = False,
) -> None:
    """A group reads 100 records and commits 100. skip: deliveries of 40 to 59 are not reported."""
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, assigned_at, at=5.0)
    if skip:
        h.polled(0, 39, at=6.0)
        h.polled(60, 99, at=6.5)
    else:
        h.polled(0, 99, at=6.0)
    h.commit(100, 0, at=8.0, cluster_epoch=0, brokers=(1, 2), generation=1)
    h.changed("caught_up", at=79.5, position=caught_up_at, generation=1)
    left(h, 100, at=80.0)


def noticed(h: History, start: int, to: int, *, at: float, epoch: int, member: str = "1") -> None:
    """A client notices a truncation, and goes where the branches part."""
    h.reset("truncation", start, to, at=at, epoch=epoch, member=member)


def closed(h: History, *members: str) -> None:
    """At the end of the run these members are closed."""
    for member in members:
        h.changed("closed", at=82.0, member=member)


def same_logs(
    h: History,
    *spans: tuple[int, int, int],
    sequences: Mapping[int, int] | None = None,
    producers: Mapping[int, str] | None = None,
    brokers: tuple[int, ...] = (1, 2),
) -> None:
    """Each replica holds the same at the end."""
    for broker in brokers:
        end = spans[-1][1] + 1
        h.log(broker, *spans, high_watermark=end, sequences=sequences, producers=producers)


def renumbered(h: History) -> None:
    """The worker numbers its events in the order of their times."""
    times = {"polls": "polled_micros", "group_events": "at_micros", "transactions": "at_micros"}
    reported = [
        (row[time], row["seq"], row) for table, time in times.items() for row in h.rows[table]
    ]
    order = sorted({(time, seq) for time, seq, _ in reported})
    numbers = {seq: number for number, (_, seq) in enumerate(order, start=1)}
    for _, seq, row in reported:
        row["seq"] = numbers[seq]


def begins_anew(h: History, group: str, *, at: float) -> None:
    """A new group's first member begins at 0."""
    first_start(h, 0, at=at - 0.2, group=group)
    joined(h, 0, at=at, group=group)


def in_one_poll(h: History) -> None:
    """All deliveries are of one poll, in the order in which they stand."""
    rows = h.rows["polls"]
    for place, row in enumerate(rows):
        row.update(seq=rows[0]["seq"], position_in_poll=place)


def clock_set(h: History, by: int, *, at: float, of: Sequence[str]) -> None:
    """A worker's clock is set by some seconds: later rows of these tables show other times."""
    h.worker(clock_jump_micros=5 * MICROS_PER_SECOND)
    for row in (row for table in of for row in h.rows[table]):
        times = {
            name: value
            for name, value in row.items()
            if name.endswith("_micros") and value is not None
        }
        if max(times.values(), default=0) >= h.at(at):
            row.update({name: value + by * MICROS_PER_SECOND for name, value in times.items()})


def grows_each_second(h: History) -> None:
    """A log grows by 10 records a second; its leader changes at second 30."""
    h.topic()
    cluster(h)
    h.led(2, 1, at=30.0, isr=(1, 2), starts=300)
    for second in range(1, 60):
        broker, epoch = (1, 0) if second < 30 else (2, 1)
        h.sent(10 * second - 10, 10 * second - 1, at=second - 0.5)
        watched(h, broker, 10 * second, times=[second], epoch=epoch)
        if second >= 30:
            h.sampled(1, at=second + 0.1, end=-1, start=-1, epoch=1, leader=2, isr=(1, 2))
        else:
            h.sampled(2, at=second + 0.1, end=-1, start=-1, epoch=0, leader=1, isr=(1, 2))
    same_logs(h, (0, 299, 0), (300, 589, 1))


def forget_logs(h: History) -> None:
    """What another verb said of the replicas at the end does not hold."""
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()

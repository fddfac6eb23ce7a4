"""Commits of two members, and waits of clients, at each moment around their bounds."""

from itertools import product
from typing import Any

from tests.exam.history import VIOLATION, History, asks
from tests.exam.logs import CLOCK_SECONDS, MICROSECOND, in_each_place
from tests.exam.verbs import cluster

OFFSETS = "__consumer_offsets"
MILLISECOND = 0.001


@asks(
    "Two members are assigned a partition and commit, in each order and with each generation, at "
    "each moment around the other one's assignment and commit.",
    source="GroupMetadataManager, validateOffsetCommit: only a member of the current generation "
    "commits",
    expects={"commit_from_old_generation": VIOLATION},
)
def commits_around_the_assignment_of_another_member(h: History) -> None:
    owned = 20.0
    taken = (
        None,
        5.0,
        owned,
        owned + 1,
        29.99 - CLOCK_SECONDS,
        29.99 - CLOCK_SECONDS - MICROSECOND,
        30.0,
    )
    generations = ((-1, -1), (1, 2), (2, 1), (0, 1), (1, 0), (0, 0), (1, -1), (-1, 1))
    committed = (owned + CLOCK_SECONDS, owned + CLOCK_SECONDS + MICROSECOND, 30.0)
    for where, (first, second), took, given, own, at, (offset, other), later in in_each_place(
        h,
        generations,
        taken,
        (None, 25.0, 30.0, 31.0),
        (10.0, owned - CLOCK_SECONDS, owned - CLOCK_SECONDS - MICROSECOND, owned),
        committed,
        ((5, 9), (5, 5), (9, 5)),
        (None, 0.0, MILLISECOND, CLOCK_SECONDS, CLOCK_SECONDS + MILLISECOND),
        partitions=24,
    ):
        if where["partition"] % 3 == 0:
            h.changed("assigned", at=6.0, position=0, generation=first - 1, **where)
        h.changed("assigned", at=own, position=0, generation=first, **where)
        h.changed("assigned", at=owned, position=0, member="2", generation=second, **where)
        if given is not None:
            h.changed("revoked", at=given, position=0, member="2", generation=second, **where)
        if took is not None:
            h.commit(other, 0, at=took, member="2", generation=second, **where)
            h.commit(other + 1, 0, at=took + 2, member="2", generation=second, **where)
        h.commit(offset, 0, at=at, generation=first, stored=later is None, **where)
        if later is not None:
            h.stored(offset, 0, at=at + later, **where)
        again = at - 0.2 if where["partition"] % 5 == 1 else at + 1
        h.changed("assigned", at=again, position=0, generation=first + 1, **where)
        if where["partition"] % 7 == 0:
            h.changed("assigned", at=22.0, position=0, member="3", generation=second, **where)
        if where["partition"] % 6 == 0:
            h.rows["commits"][-1].update(outcome="failed")
        if where["partition"] % 4 == 0:
            h.rows["commits"][-1].update(began_micros=None)
        if where["partition"] % 5 == 0:
            h.rows["commits"][-1].update(generation=None)


@asks(
    "Commits were acknowledged that no replica in sync stores, among older, newer and other ones "
    "at each moment around them.",
    source="CoordinatorRuntime: a response waits until the records of its write are committed",
    expects={"lost_commit": VIOLATION},
)
def acknowledged_commits_are_not_stored(h: History) -> None:
    for partition in (h.index, h.index + 1):
        h.led(1, 0, at=0.5, isr=(1, 2), replicas=(1, 2, 3), topic=OFFSETS, partition=partition)
    h.led(3, 1, at=33.0, isr=(3,), replicas=(1, 2, 3), topic=OFFSETS, partition=h.index + 1)
    h.led(3, 1, at=34.0, isr=(1, 2, 3), replicas=(1, 2, 3), topic=OFFSETS, partition=h.index + 1)
    stored = (
        None,
        (10, 30.0, (1, 2)),
        (10, 30.0, (4,)),
        (11, 30.0, (1, 2)),
        (10, 29.989 - 1.051, (1, 2)),
        (10, 30.05, (1,)),
        (10, 30.051, (1,)),
        (10, 31.0, (4,)),
    )
    for number, (where, held, older, newer, again, offset, outcome) in enumerate(
        in_each_place(
            h,
            stored,
            (None, 10.0, 29.0, 29.5),
            (None, 30.05, 30.051, 35.0),
            (None, (10, 30.02, (4,)), (10, 30.003, (1,))),
            (10, 10, 10, None),
            ("ok", "ok", "ok", "failed"),
            partitions=24,
        )
    ):
        place = h.index + number % 2
        of_log: dict[str, Any] = {**where, "offsets_partition": place}
        if older is not None:
            h.stored(3, 0, at=older, brokers=(1, 2), **of_log)
        for commit in (held, again):
            if commit is not None:
                at, epoch = commit[1], 0
                h.stored(commit[0], epoch, at=at, brokers=commit[2], **of_log)
        if newer is not None:
            h.stored(12, 0, at=newer, brokers=(1, 2), **of_log)
        # One request of a member is about all of its partitions; others are of one of them.
        request = {"seq": 100_000 + number % 2}
        h.commit(offset, 0, at=30.0, stored=False, outcome=outcome, **where)
        h.rows["commits"][-1].update(request)
        if number % 7 == 0:
            h.rows["commits"][-1].update(began_micros=None)
        if number % 3 == 1:
            h.commit(20, 0, at=30.004, stored=False, **where)
            h.stored(20, 0, at=30.004, brokers=(1, 2), **of_log)
        if number % 3 == 2:
            h.commit(21, 0, at=30.005, stored=False, member="2", **where)
            h.rows["commits"][-1].update(request, worker=h.own("other"))


@asks(
    "Values of several partitions wait at once, one after another, and within another one's wait; "
    "some are answered between, at each moment around the bounds of 2 s and 10 s.",
    source="docs/findings.md, produce_unavailable: in an outage nobody was answered",
    expects={"produce_unavailable": VIOLATION},
)
def values_of_several_partitions_wait(h: History) -> None:
    waits = (
        (10.0, 12.0),
        (10.0, 12.0 - MICROSECOND),
        (12.0, 14.0),
        (12.0, 20.0),
        (13.0, 15.5),
        (14.0 + MICROSECOND, 17.0),
        (25.5, 28.0),
        (27.0, 29.5),
        (27.0 + MICROSECOND, 29.5),
        (35.0, 66.0),
        (50.0, 53.0),
        (70.0, 80.5),
    )
    answers = ((16.0, 25.5), (12.0, 14.0), (10.0, 13.0), (14.0, 14.0), (13.0, 27.0), (20.0, 20.5))
    h.topic(partitions=3, min_insync=2)
    h.topic("u", partitions=3)
    places = [{"topic": topic, "partition": number} for topic in ("t", "u") for number in range(3)]
    for where in places:
        cluster(h, **where)
        h.led(1, 0, at=0.6, isr=(1, 2), **where)
    for where in places[:2]:
        h.led(-1, 1, at=11.0, isr=(1,), **where)
        h.led(1, 2, at=13.0 + where["partition"], isr=(1,), **where)
        h.led(1, 2, at=30.0, isr=(1, 2), **where)
        h.led(1, 2, at=36.0, isr=(1,), **where)
        h.led(1, 2, at=60.0, isr=(1, 2), **where)
    h.fault("pause", h.on_broker(2), injected=41.0, healed=62.0)
    h.worker()
    h.worker("killed", ended_by_itself=False)
    sequence = 0
    for number, (where, acks) in enumerate(product(places, ("all", "1", "0"))):
        for index, (began, ended) in enumerate(waits):
            if (index + number) % 3 == 0 or (index * number) % 5 == 1:
                continue
            sequence += 1
            is_answered = (index + number) % 2
            outcome = {"outcome": "ok"} if is_answered else {"outcome": "unknown", "error": "T"}
            h.sent(
                sequence if is_answered else None,
                at=ended,
                intended_at=began,
                sequence=sequence,
                acks=acks,
                **where,
                **outcome,
            )
            if not is_answered and (index + number) % 4 == 0:
                h.rows["sends"][-1].update(answered_micros=None, outcome="unknown")
                if index % 2:
                    h.rows["sends"][-1].update(worker=h.own("killed"))
        for began, ended in answers[number % 4 : number % 4 + 3]:
            sequence += 1
            h.sent(sequence, at=ended, intended_at=began, sequence=sequence, acks=acks, **where)

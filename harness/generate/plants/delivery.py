"""Plants of what is lost, skipped, repeated, made up or out of order (taxonomy A, B)."""

import numpy as np

from harness.generate.frames import Array, Frame
from harness.generate.plants.tools import (
    PLAIN,
    RESTARTED,
    STEADY,
    Plant,
    Random,
    any_partition,
    commits_of,
    copy_of,
    deliveries,
    drop_commits,
    drop_deliveries,
    events_of,
    follows,
    groups,
    middle,
    middle_batch,
    offsets_of,
)
from harness.generate.reading import POLL_MICROS
from harness.generate.universe import Place, Universe

_TAIL = 3
_KNOWN_FOR_MICROS = 100_000
_APPENDED_AT, _DELIVERED_AT = 76.0, 78.0
"""Seconds of a universe at which a plant appends behind all others, and groups have it."""


def lost_record(universe: Universe, random: Random) -> list[Place]:
    """An acknowledged batch is in no replica, and nobody ever had it."""
    partition = any_partition(universe, random)
    offsets = offsets_of(universe, middle_batch(universe, random, partition))
    for group in groups(universe):
        drop_deliveries(universe, partition, group, offsets)
    for table, column in (("replica_records", "offset"), ("replica_batches", "base_offset")):
        frame = universe.frame(table)
        gone = (frame["partition"] == partition) & np.isin(frame[column], offsets)
        universe.keep(table, ~gone)
    sends = universe.frame("sends")
    known = offsets[
        np.isin(offsets, sends["offset"][sends.where(partition=partition, outcome="ok")])
    ]
    follows(
        universe,
        "leader_completeness",
        "isr_incomplete",
        "log_divergence",
        "zombie_producer_accepted",
        partition=partition,
        group=None,
    )
    for group in groups(universe):
        follows(universe, "poll_skip", partition=partition, group=group)
    return [Place("lost_record", "violation", partition, None, int(known[0]))]


def _skip(universe: Universe, random: Random, check: str) -> list[Place]:
    partition = any_partition(universe, random)
    group = groups(universe)[int(random.integers(2))]
    count = int(random.integers(1, 3))
    offsets = offsets_of(universe, middle(universe, random, partition, count))
    drop_deliveries(universe, partition, group, offsets)
    others = {"skipped_record", "poll_skip", "commit_beyond_processed", "stale_read"} - {check}
    follows(universe, *others, partition=partition, group=group)
    return [Place(check, "violation", partition, group, int(offsets[0]))]


def skipped_record(universe: Universe, random: Random) -> list[Place]:
    """Records of the surviving log that a group's position went past."""
    return _skip(universe, random, "skipped_record")


def poll_skip(universe: Universe, random: Random) -> list[Place]:
    """The same, within one member's session."""
    return _skip(universe, random, "poll_skip")


def unseen_record(universe: Universe, random: Random) -> list[Place]:
    """A group ends before the last records."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    first = cut_tail(universe, partition, group)
    return [Place("unseen_record", None, partition, None, first)]


def cut_tail(universe: Universe, partition: int, group: str) -> int:
    """Let a group not come to the last records; returns the first that it did not get."""
    log = universe.the_log()
    mine = (log.partition == partition) & ~log.is_cut & ~log.is_control
    last = np.sort(log.offset[mine])[-_TAIL:]
    drop_deliveries(universe, partition, group, last)
    commits = universe.frame("commits")
    drop_commits(
        universe,
        np.array(
            [i for i in commits_of(universe, partition, group) if commits["offset"][i] > last[0]],
            dtype=np.int64,
        ),
    )
    (end,) = events_of(universe, partition, group, "caught_up")
    universe.frame("group_events")["position"][end] = last[0]
    for other in groups(universe):
        follows(universe, "unseen_record", partition=partition, group=other)
    follows(universe, "unseen_record", "never_caught_up", partition=partition, group=None)
    return int(last[0])


def append_behind(universe: Universe, partition: int, values: Array, **batch: object) -> int:
    """Append records behind all others, on every replica; returns the first one's offset."""
    bounds = universe.frame("log_starts")
    mine = bounds.where(partition=partition)
    first = int(bounds["log_end_offset"][mine][0])
    bounds["log_end_offset"][mine] += len(values)
    records, batches = universe.frame("replica_records"), universe.frame("replica_batches")
    for broker in np.unique(bounds["broker"][mine]):
        same = np.flatnonzero(batches.where(partition=partition, broker=broker, is_control=False))
        newest = copy_of(batches, int(same[np.argmax(batches["base_offset"][same])]))
        epoch = int(newest["leader_epoch"][0])
        made = {
            "base_offset": first,
            "last_offset": first + len(values) - 1,
            "record_count": len(values),
            "base_sequence": newest["base_sequence"] + newest["record_count"],
            "max_timestamp_micros": universe.at(_APPENDED_AT) // 1000 * 1000,
            **batch,
        }
        universe.add(newest.but(**made))
        model = copy_of(records, int(np.flatnonzero(records.where(partition=partition))[0]))
        for number, value in enumerate(values):
            universe.add(
                model.but(broker=broker, offset=first + number, leader_epoch=epoch, value=value)
            )
    return first


def deliver_behind(
    universe: Universe, partition: int, group: str, first: int, values: Array
) -> None:
    """Let a group have what was appended behind all others."""
    polls, events = universe.frame("polls"), universe.frame("group_events")
    mine = np.flatnonzero(deliveries(universe, partition, group))
    model = copy_of(polls, int(mine[np.argmax(polls["polled_micros"][mine])]))
    at = universe.at(_DELIVERED_AT) + partition * 10 + groups(universe).index(group) * 1000
    for number, value in enumerate(values):
        universe.add(
            model.but(offset=first + number, value=value, position_in_poll=number, polled_micros=at)
        )
    commits, stored = universe.frame("commits"), universe.frame("committed_offsets")
    for frame in (commits, stored):
        late = frame.where(partition=partition, group=group) & (frame["committed_micros"] > at)
        frame["offset"][late] += len(values)
    (end,) = events_of(universe, partition, group, "caught_up")
    events["position"][end] += len(values)


def duplicate_append(universe: Universe, random: Random) -> list[Place]:
    """An idempotent producer's value lies at a second offset, too."""
    partition = any_partition(universe, random)
    log = universe.the_log()
    (one,) = middle(universe, random, partition)
    values = np.array([log.value[one]], dtype=object)
    first = append_behind(universe, partition, values)
    for group in groups(universe):
        deliver_behind(universe, partition, group, first, values)
        follows(
            universe,
            "duplicate_delivery",
            "nonmonotonic_poll",
            partition=partition,
            group=group,
        )
    follows(universe, "nonmonotonic_send", partition=partition, group=None)
    return [Place("duplicate_append", "violation", partition, None)]


def duplicate_delivery(universe: Universe, random: Random) -> list[Place]:
    """The steady group loses a partition for a moment, and resumes at its last commit."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    commits, polls = universe.frame("commits"), universe.frame("polls")
    chosen, again = None, np.zeros(0, dtype=np.int64)
    for index in random.permutation(commits_of(universe, partition, group)[8:-6]):
        row = commits.row(int(index))
        until = row["committed_micros"] + 2 * POLL_MICROS + POLL_MICROS // 2
        mine = deliveries(universe, partition, group) & (polls["offset"] >= row["offset"])
        again = np.flatnonzero(mine & (polls["polled_micros"] <= until))
        if len(again):
            chosen = row
            break
    if chosen is None:
        raise ValueError(f"{universe.topic} is too small to redeliver anything")
    at = chosen["committed_micros"] + 2 * POLL_MICROS + POLL_MICROS * 3 // 4
    events = universe.frame("group_events")
    model = copy_of(events, int(events_of(universe, partition, group, "assigned")[0]))
    universe.add(model.but(change="revoked", position=None, at_micros=at - 2_000))
    universe.add(model.but(position=chosen["offset"], at_micros=at - 1_000))
    order = again[np.argsort(polls["offset"][again])]
    universe.add(polls.take(order).but(polled_micros=at, position_in_poll=np.arange(len(order))))
    return [
        Place("duplicate_delivery", "permitted", partition, group, int(polls["offset"][order[0]]))
    ]


def phantom_record(universe: Universe, random: Random) -> list[Place]:
    """A value is in the log and delivered, but nobody set out to send it."""
    partition = any_partition(universe, random)
    (one,) = middle(universe, random, partition)
    log = universe.the_log()
    sends = universe.frame("sends")
    universe.keep("sends", sends["value"] != log.value[one])
    return [
        Place("phantom_record", "violation", partition, group, int(log.offset[one]))
        for group in groups(universe)
    ]


def corrupted_record(universe: Universe, random: Random) -> list[Place]:
    """A group got a value with a wrong checksum."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    offsets = offsets_of(universe, middle(universe, random, partition))
    polls = universe.frame("polls")
    for index in np.flatnonzero(deliveries(universe, partition, group, offsets)):
        polls["value"][index] = f"{polls['value'][index][:-8]}corrupt!"
        polls["is_intact"][index] = False
    follows(
        universe,
        "skipped_record",
        "inconsistent_offset",
        "divergent_readers",
        "phantom_record",
        "poll_skip",
        partition=partition,
        group=group,
    )
    follows(universe, "inconsistent_offset", "divergent_readers", partition=partition, group=None)
    return [Place("corrupted_record", "violation", partition, group, int(offsets[0]))]


def resurrected_record(universe: Universe, random: Random) -> list[Place]:
    """A group was given another value of a later epoch where the log has the first one again."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    polls, sends = universe.frame("polls"), universe.frame("sends")
    failed = np.flatnonzero(sends.where(partition=partition, outcome="failed"))
    log = universe.the_log()
    for _ in range(1000):
        (one,) = middle(universe, random, partition)
        rows = np.flatnonzero(deliveries(universe, partition, group, log.offset[[one]]))
        if polls["polled_micros"][rows[0]] > log.at[one] + _KNOWN_FOR_MICROS:
            break
    polls["value"][rows] = sends["value"][failed[0]]
    polls["leader_epoch"][rows] += 1
    for other in (group, None):
        follows(
            universe,
            "skipped_record",
            "poll_skip",
            "inconsistent_offset",
            "divergent_readers",
            "record_epoch_regressed",
            "truncation_undetected",
            "nonmonotonic_poll",
            "loss_estimate",
            "silent_revalidation",
            partition=partition,
            group=other,
        )
    return [Place("resurrected_record", "violation", partition, group, int(log.offset[one]))]


def expired_read(universe: Universe, random: Random) -> list[Place]:
    """A group is handed a record long after the log start went past it."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    start = universe.log_start[partition]
    polls = universe.frame("polls")
    below = deliveries(universe, partition, group) & (polls["offset"] < start)
    index = int(random.choice(np.flatnonzero(below)))
    at = universe.at(85.0) + partition * 10
    universe.add(copy_of(polls, index).but(polled_micros=at, position_in_poll=0))
    follows(
        universe,
        "duplicate_delivery",
        "nonmonotonic_poll",
        "record_epoch_regressed",
        "commit_beyond_processed",
        "poll_skip",
        "stale_read",
        partition=partition,
        group=group,
    )
    return [Place("expired_read", "violation", partition, group, int(polls["offset"][index]))]


def _swap_values(frame: Frame, rows: Array, first: object, second: object) -> None:
    values = frame["value"]
    values[rows] = [second if values[one] == first else first for one in rows]


def _pair(universe: Universe, random: Random, partition: int) -> tuple[Array, object, object]:
    """The offsets of two successive records, and their values."""
    index = middle(universe, random, partition, 2)
    log = universe.the_log()
    return log.offset[index], log.value[index[0]], log.value[index[1]]


def _read_otherwise(universe: Universe, random: Random, check: str) -> list[Place]:
    """One group has two values the other way round than the log and the other group."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    offsets, first, second = _pair(universe, random, partition)
    rows = np.flatnonzero(deliveries(universe, partition, group, offsets))
    _swap_values(universe.frame("polls"), rows, first, second)
    checks = ("inconsistent_offset", "divergent_readers", "nonmonotonic_poll", "nonmonotonic_send")
    follows(universe, *checks, partition=partition, group=None)
    for other in groups(universe):
        follows(universe, *checks, partition=partition, group=other)
    return [Place(check, "violation", partition, None, int(offsets[0]))]


def inconsistent_offset(universe: Universe, random: Random) -> list[Place]:
    """One offset, one epoch, two values."""
    return _read_otherwise(universe, random, "inconsistent_offset")


def divergent_readers(universe: Universe, random: Random) -> list[Place]:
    """Two groups read different values at one offset."""
    places = _read_otherwise(universe, random, "divergent_readers")
    return [Place(p.check, p.verdict, p.partition) for p in places]


def nonmonotonic_send(universe: Universe, random: Random) -> list[Place]:
    """A producer's later value has the lower offset, everywhere."""
    partition = any_partition(universe, random)
    offsets, first, second = _pair(universe, random, partition)
    for table in ("polls", "replica_records"):
        frame = universe.frame(table)
        mine = (frame["partition"] == partition) & np.isin(frame["offset"], offsets)
        _swap_values(frame, np.flatnonzero(mine), first, second)
    sends = universe.frame("sends")
    one, other = (int(np.flatnonzero(sends["value"] == value)[0]) for value in (first, second))
    sends["offset"][one], sends["offset"][other] = sends["offset"][other], sends["offset"][one]
    follows(universe, "nonmonotonic_poll", partition=partition, group=None)
    for group in groups(universe):
        follows(universe, "nonmonotonic_poll", partition=partition, group=group)
    return [Place("nonmonotonic_send", "violation", partition, None, int(offsets[0]))]


def nonmonotonic_poll(universe: Universe, random: Random) -> list[Place]:
    """Two records of a poll came in the wrong order."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    polls = universe.frame("polls")
    for _ in range(1000):
        offsets = offsets_of(universe, middle(universe, random, partition, 2))
        rows = np.flatnonzero(deliveries(universe, partition, group, offsets))
        if len(rows) == 2 and len(set(polls["polled_micros"][rows])) == 1:  # noqa: PLR2004
            break
    polls["position_in_poll"][rows] = polls["position_in_poll"][rows[::-1]]
    follows(universe, "poll_skip", partition=partition, group=group)
    return [Place("nonmonotonic_poll", "violation", partition, group)]


def stale_read(universe: Universe, random: Random) -> list[Place]:
    """A group gets a record half a minute after the others, though it polled all the time."""
    partition = any_partition(universe, random)
    group = groups(universe)[RESTARTED]
    (one,) = middle(universe, random, partition)
    polls = universe.frame("polls")
    offset = int(universe.the_log().offset[one])
    rows = np.flatnonzero(deliveries(universe, partition, group, np.array([offset])))
    polls["polled_micros"][rows] = universe.at(86.5)
    follows(
        universe,
        "nonmonotonic_poll",
        "poll_skip",
        "commit_beyond_processed",
        "record_epoch_regressed",
        partition=partition,
        group=group,
    )
    return [Place("stale_read", None, partition, group)]


PLANTS = {
    "lost_record": Plant(PLAIN, lost_record),
    "skipped_record": Plant(PLAIN, skipped_record),
    "unseen_record": Plant(PLAIN, unseen_record),
    "duplicate_append": Plant(PLAIN, duplicate_append),
    "duplicate_delivery": Plant(PLAIN, duplicate_delivery),
    "phantom_record": Plant(PLAIN, phantom_record),
    "corrupted_record": Plant(PLAIN, corrupted_record),
    "resurrected_record": Plant(PLAIN, resurrected_record),
    "expired_read": Plant(PLAIN, expired_read),
    "inconsistent_offset": Plant(PLAIN, inconsistent_offset),
    "nonmonotonic_send": Plant(PLAIN, nonmonotonic_send),
    "poll_skip": Plant(PLAIN, poll_skip),
    "nonmonotonic_poll": Plant(PLAIN, nonmonotonic_poll),
    "divergent_readers": Plant(PLAIN, divergent_readers),
    "stale_read": Plant(PLAIN, stale_read),
}

"""Plants of records in the wrong order, at the wrong place or too late (family B)."""

import numpy as np

from simulator.frames import Array, Frame
from simulator.log import micros
from simulator.plants.delivery import skip
from simulator.plants.tools import (
    PLAIN,
    RESTARTED,
    STEADY,
    Plant,
    Random,
    any_partition,
    change_commit,
    commits_of,
    deliveries,
    drawn,
    follows,
    groups,
    middle,
    offsets_of,
)
from simulator.universe import Place, Universe

_STALE_SECONDS = 7.0


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
    follows(universe, partition, None, *checks)
    for other in groups(universe):
        follows(universe, partition, other, *checks)
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
    follows(universe, partition, None, "nonmonotonic_poll", "stale_read")
    for group in groups(universe):
        follows(universe, partition, group, "nonmonotonic_poll")
    return [Place("nonmonotonic_send", "violation", partition, None, int(offsets[0]))]


def nonmonotonic_poll(universe: Universe, random: Random) -> list[Place]:
    """Two records of a poll came in the wrong order."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    polls = universe.frame("polls")

    def of_one_poll() -> Array | None:
        offsets = offsets_of(universe, middle(universe, random, partition, 2))
        rows = np.flatnonzero(deliveries(universe, partition, group, offsets))
        fits = len(rows) == 2 and len(set(polls["polled_micros"][rows])) == 1  # noqa: PLR2004
        return rows if fits else None

    rows = drawn(universe, of_one_poll)
    polls["position_in_poll"][rows] = polls["position_in_poll"][rows[::-1]]
    follows(universe, partition, group, "poll_skip")
    return [Place("nonmonotonic_poll", "violation", partition, group)]


def stale_read(universe: Universe, random: Random) -> list[Place]:
    """A group polls on and commits for seconds, and is not given what is there."""
    partition = any_partition(universe, random)
    group = groups(universe)[RESTARTED]
    polls, commits = universe.frame("polls"), universe.frame("commits")
    sends = universe.frame("sends")
    acknowledged = sends["offset"][sends.where(partition=partition, outcome="ok")]
    mine = deliveries(universe, partition, group)

    def from_an_acknowledged_one() -> tuple[int, int, Array] | None:
        began = universe.at(float(random.uniform(58.0, 62.0)))
        ended = began + micros(_STALE_SECONDS)
        held = np.flatnonzero(
            mine & (polls["polled_micros"] >= began) & (polls["polled_micros"] < ended)
        )
        order = held[np.argsort(polls["offset"][held])]
        fits = len(order) > 0 and polls["offset"][order[0]] in acknowledged
        return (began, ended, order) if fits else None

    began, ended, order = drawn(universe, from_an_acknowledged_one)
    first = int(polls["offset"][order[0]])
    polls["polled_micros"][order] = ended + partition * 10
    polls["position_in_poll"][order] = np.arange(len(order))
    log = universe.the_log()
    epoch = int(log.epoch[(log.partition == partition) & (log.offset == first - 1)][0])
    for index in commits_of(universe, partition, group):
        if began <= commits["committed_micros"][index] <= ended:
            change_commit(universe, int(index), offset=first, committed_epoch=epoch)
    return [Place("stale_read", None, partition, group)]


def poll_skip(universe: Universe, random: Random) -> list[Place]:
    """The same, within one member's session."""
    return skip(universe, random, "poll_skip")


PLANTS = {
    "inconsistent_offset": Plant(PLAIN, inconsistent_offset),
    "nonmonotonic_send": Plant(PLAIN, nonmonotonic_send),
    "poll_skip": Plant(PLAIN, poll_skip),
    "nonmonotonic_poll": Plant(PLAIN, nonmonotonic_poll),
    "divergent_readers": Plant(PLAIN, divergent_readers),
    "stale_read": Plant(PLAIN, stale_read),
}

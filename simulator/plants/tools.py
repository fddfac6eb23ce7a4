"""Tools of plants: choosing a place, and changing records in all tables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from contract.errors import UsageError
from simulator.frames import Array, Frame
from simulator.universe import Place, Universe

_T = TypeVar("_T")

Random = np.random.Generator
PLAIN, UNCLEAN, TRANSACTIONAL = "plain", "unclean", "transactional"
STEADY, RESTARTED = 0, 1
"""The groups of a plain universe."""
_FROM, _UNTIL = 0.3, 0.8
"""Anomalies are planted in this part of the surviving log."""
_DRAWS_MAX = 1000


@dataclass(frozen=True)
class Plant:
    """The function that plants an anomaly of a class in a universe of a kind.

    Attributes:
        apply: changes the universe, and returns the required findings; it adds consequences to
            `expected`.
    """

    kind: str
    apply: Callable[[Universe, Random], list[Place]]


def any_partition(universe: Universe, random: Random) -> int:
    """One of the topic's partitions."""
    return int(random.integers(universe.partitions))


def drawn(universe: Universe, draw: Callable[[], _T | None]) -> _T:
    """Call `draw` until it returns a place that fits the anomaly, not None.

    Raises:
        UsageError: it found none in a thousand calls.
    """
    for _ in range(_DRAWS_MAX):
        found = draw()
        if found is not None:
            return found
    raise UsageError(
        f"{universe.topic}: none of {_DRAWS_MAX} places fits the anomaly; generate more events, "
        "or take another seed"
    )


def middle(universe: Universe, random: Random, partition: int, count: int = 1) -> Array:
    """Indexes into the log of `count` successive acknowledged records of one batch's epoch.

    They lie in the middle of what survives, above the log start.
    """
    log = universe.the_log()
    start = universe.log_start.get(partition, 0)
    sends = universe.frame("sends")
    acknowledged = sends["offset"][sends.where(partition=partition, outcome="ok")]
    index = np.flatnonzero((log.partition == partition) & ~log.is_cut & (log.offset >= start))
    index = index[np.argsort(log.offset[index])]
    good = ~log.is_control[index] & np.isin(log.offset[index], acknowledged)
    first, last = int(len(index) * _FROM), max(int(len(index) * _UNTIL), 1)
    fits = [
        at
        for at in random.permutation(np.arange(first, last))
        if at + count < len(index)
        and good[at : at + count].all()
        and len({(int(log.epoch[i]), int(log.span[i])) for i in index[at : at + count]}) == 1
    ]
    return index[int(fits[0]) : int(fits[0]) + count]


def middle_batch(universe: Universe, random: Random, partition: int) -> Array:
    """Indexes into the log of one whole batch in the middle."""
    log = universe.the_log()
    (one,) = middle(universe, random, partition)
    return np.flatnonzero(log.batch == log.batch[one])


def offsets_of(universe: Universe, index: Array) -> Array:
    """The offsets of records of the log."""
    return universe.the_log().offset[index]


def deliveries(
    universe: Universe, partition: int, group: str, offsets: Array | None = None
) -> Array:
    """A mask of the polls of a group from a partition, of these offsets if they are given."""
    polls = universe.frame("polls")
    mask = polls.where(partition=partition, group=group)
    return mask if offsets is None else mask & np.isin(polls["offset"], offsets)


def drop_deliveries(universe: Universe, partition: int, group: str, offsets: Array) -> None:
    """Drop the deliveries of these records to the group."""
    universe.keep("polls", ~deliveries(universe, partition, group, offsets))
    polls = universe.frame("polls")
    mine = np.flatnonzero(deliveries(universe, partition, group))
    mine = mine[np.lexsort([polls["position_in_poll"][mine], polls["polled_micros"][mine]])]
    at = polls["polled_micros"][mine]
    polls["position_in_poll"][mine] = np.arange(len(at)) - np.searchsorted(at, at)


def commits_of(universe: Universe, partition: int, group: str) -> Array:
    """Indexes of a group's commits of a partition, by time."""
    commits = universe.frame("commits")
    mine = np.flatnonzero(commits.where(partition=partition, group=group))
    return mine[np.argsort(commits["committed_micros"][mine])]


def change_commit(universe: Universe, index: int, **values: int) -> None:
    """Change a commit, of the client and as stored."""
    commits, stored = universe.frame("commits"), universe.frame("committed_offsets")
    same = stored_row(universe, index)
    at = int(commits["committed_micros"][index])
    commits["began_micros"][index] += values.get("committed_micros", at) - at
    for name, value in values.items():
        commits[name][index] = value
        stored[name][same] = value


def stored_row(universe: Universe, index: int) -> int:
    """The index in committed_offsets of a commit of the client's."""
    commits, stored = universe.frame("commits"), universe.frame("committed_offsets")
    row = commits.row(index)
    mask = stored.where(
        group=row["group"],
        partition=row["partition"],
        committed_micros=row["committed_micros"] // 1000 * 1000,
    )
    return int(np.flatnonzero(mask)[0])


def drop_commits(universe: Universe, indexes: Array) -> None:
    """Drop commits, the client's and the stored ones."""
    stored = [stored_row(universe, int(one)) for one in indexes]
    keep = np.ones(len(universe.frame("committed_offsets")), dtype=bool)
    keep[stored] = False
    universe.keep("committed_offsets", keep)
    keep = np.ones(len(universe.frame("commits")), dtype=bool)
    keep[indexes] = False
    universe.keep("commits", keep)


def groups(universe: Universe) -> list[str]:
    """The names of its groups."""
    return [group.group for group in universe.groups]


def follows(universe: Universe, *checks: str, partition: int | None, group: str | None) -> None:
    """Allow findings of these checks there, which follow from the planted anomaly."""
    universe.expected += [Place(check, None, partition, group) for check in checks]


def events_of(universe: Universe, partition: int, group: str, change: str) -> Array:
    """Indexes of the group's changes of a kind, by time."""
    frame = universe.frame("group_events")
    mine = np.flatnonzero(frame.where(partition=partition, group=group, change=change))
    return mine[np.argsort(frame["at_micros"][mine])]


def copy_of(frame: Frame, index: int) -> Frame:
    """One row of a frame, as a frame."""
    return frame.take(np.array([index]))

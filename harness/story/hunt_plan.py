"""What a hunt does, round by round: everything is drawn from the run's seed."""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random


class Move(enum.StrEnum):
    """A step of a round.

    leave: members leave their groups, or an extra one joins and leaves; return: they are back.
    down: a broker ends; up: it is back. elect: partitions get other leaders, which are in sync.
    delete: records that all groups have committed are deleted. write: the producer writes again.
    wait: until the groups are stable.
    """

    LEAVE = "leave"
    RETURN = "return"
    DOWN = "down"
    UP = "up"
    ELECT = "elect"
    DELETE = "delete"
    WRITE = "write"
    WAIT = "wait"


class Departure(enum.StrEnum):
    """How members leave.

    close: they are closed. pause: their process is suspended until their sessions have expired.
    kill: it is killed, and another one takes its place. extra: an extra member joins and leaves.
    """

    CLOSE = "close"
    PAUSE = "pause"
    KILL = "kill"
    EXTRA = "extra"


class End(enum.StrEnum):
    """How a broker ends: by a controlled shutdown, by SIGKILL, or not at all."""

    NONE = "none"
    STOP = "stop"
    KILL = "kill"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a hunt can act on.

    brokers: those that may end. groups: by number. workers: those with members only.
    """

    brokers: Sequence[int]
    groups: int
    members: int
    workers: Sequence[int]
    partitions: int


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round.

    is_quiet: all groups have committed all records when it begins, and nothing is written before
        `write`.
    members: numbers of those that are closed.
    worker: that is paused or killed.
    groups: that the extra member joins.
    elected: partitions with another leader after each `elect`.
    kept: how many records before the groups' commits a deletion leaves.
    """

    moves: tuple[Move, ...]
    is_quiet: bool
    end: End
    broker: int
    departure: Departure
    members: tuple[int, ...]
    worker: int
    groups: tuple[int, ...]
    elected: tuple[tuple[int, ...], ...]
    kept: tuple[int, ...]


KEPT = (0, 0, 0, 1, 10, 100)
"""How many records a deletion leaves before the commits; most often none."""
_CLOSED_MAX, _JOINED, _ELECTED_MAX = 3, 2, 6
_DEPARTURES = (Departure.CLOSE,) * 3 + (Departure.PAUSE, Departure.KILL, Departure.EXTRA)
_ENDS = (End.NONE,) * 2 + (End.STOP, End.STOP, End.KILL)


def rounds(random: Random, shape: Shape) -> Iterator[Round]:
    """Yield rounds without an end; the same generator gives the same rounds."""
    while True:
        yield _round(random, shape)


def _round(random: Random, shape: Shape) -> Round:
    is_quiet = random.random() < 1 / 2
    elections, deletions = random.randint(1, 2), random.randint(1, 3)
    moves = _in_order(
        random,
        [
            Move.LEAVE,
            Move.RETURN,
            Move.DOWN,
            Move.UP,
            *(Move.ELECT,) * elections,
            *(Move.DELETE,) * deletions,
            *(Move.WAIT,) * random.randint(0, 2),
            *(Move.WRITE,) * is_quiet,
        ],
    )
    return Round(
        moves=moves,
        is_quiet=is_quiet,
        end=random.choice(_ENDS),
        broker=random.choice(shape.brokers),
        departure=random.choice(_DEPARTURES),
        members=_some(random, range(1, shape.members + 1), _CLOSED_MAX),
        worker=random.choice(shape.workers),
        groups=tuple(sorted(random.sample(range(shape.groups), min(_JOINED, shape.groups)))),
        elected=tuple(
            _some(random, range(shape.partitions), _ELECTED_MAX) for _ in range(elections)
        ),
        kept=tuple(random.choice(KEPT) for _ in range(deletions)),
    )


def _in_order(random: Random, moves: list[Move]) -> tuple[Move, ...]:
    """Return moves in a random order, in which members and brokers return after they left."""
    random.shuffle(moves)
    for first, then in ((Move.LEAVE, Move.RETURN), (Move.DOWN, Move.UP)):
        places = sorted((moves.index(first), moves.index(then)))
        moves[places[0]], moves[places[1]] = first, then
    return tuple(moves)


def _some(random: Random, of: Sequence[int], at_most: int) -> tuple[int, ...]:
    number = random.randint(1, min(at_most, len(of)))
    return tuple(sorted(random.sample(of, number)))

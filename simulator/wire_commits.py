"""Requests about the offsets of a group that does not exist, to the first broker of a universe."""

from typing import Any

from simulator.universe import Universe

_ASKED_SECONDS = 59.0
_ASKING_MICROS = 400
_NUMBERED_FROM = 5_000
COMMIT, FETCH = "OFFSET_COMMIT", "OFFSET_FETCH"
_COMMIT_VERSION, _FETCH_VERSION = 9, 8
GROUP_ID_NOT_FOUND, ILLEGAL_GENERATION = 69, 22
NO_COMMIT = -1


def write_wire_commits(universe: Universe) -> None:
    """Commit at a generation, which is refused, and fetch, which finds nothing."""
    for partition in range(universe.partitions):
        _write(
            universe,
            partition,
            0,
            api=COMMIT,
            api_key=8,
            version=_COMMIT_VERSION,
            error_code=GROUP_ID_NOT_FOUND,
            member=f"{universe.topic}.member",
            generation=0,
            asked_offset=0,
            asked_epoch=0,
            metadata="",
        )
        _write(
            universe,
            partition,
            1,
            api=FETCH,
            api_key=9,
            version=_FETCH_VERSION,
            error_code=0,
            offset=NO_COMMIT,
            epoch=NO_COMMIT,
            metadata="",
        )


def _write(universe: Universe, partition: int, number: int, **columns: Any) -> None:
    at = universe.at(_ASKED_SECONDS) + partition * 10_000 + number * 1_000
    universe.write(
        "wire_calls",
        worker="observer",
        seq=universe.index * 10_000 + _NUMBERED_FROM + partition * 10 + number,
        broker=universe.brokers[0],
        topic=universe.topic,
        partition=partition,
        group=f"{universe.topic}.absent",
        throttle_ms=0,
        request="{}",
        response="{}",
        began_micros=at - _ASKING_MICROS,
        at_micros=at,
        **columns,
    )

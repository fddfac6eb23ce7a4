"""Plants of requests and their responses (family P)."""

from typing import Any

import numpy as np

from simulator.frames import NULL
from simulator.plants.tools import PLAIN, Plant, Random, any_partition
from simulator.universe import Place, Universe
from simulator.wire import FENCED, UNKNOWN
from simulator.wire_commits import COMMIT, FETCH, ILLEGAL_GENERATION

_FAILURE = "MalformedResponseError: 4 bytes too many"


def _answered(
    universe: Universe, random: Random, check: str, values: dict[str, Any], **where: Any
) -> list[Place]:
    """Give one response to a request of a kind other values."""
    partition = any_partition(universe, random)
    calls = universe.frame("wire_calls")
    (row, *_) = np.flatnonzero(calls.where(partition=partition, **where))
    for name, value in values.items():
        calls[name][row] = value
    return [Place(check, "violation", partition)]


def wrong_epoch_error(universe: Universe, random: Random) -> list[Place]:
    """A newer leader epoch is refused as if it were older."""
    values = {"error_code": FENCED}
    return _answered(
        universe, random, "wrong_epoch_error", values, api="LIST_OFFSETS", error_code=UNKNOWN
    )


def wrong_epoch_end(universe: Universe, random: Random) -> list[Place]:
    """The leader has an end offset for an epoch that is above its own."""
    values = {"epoch": 1, "offset": int(random.integers(1, 100))}
    return _answered(
        universe,
        random,
        "wrong_epoch_end",
        values,
        api="OFFSET_FOR_LEADER_EPOCH",
        error_code=0,
        principal=None,
    )


def wrong_diverging_epoch(universe: Universe, random: Random) -> list[Place]:
    """The leader serves a Fetch whose last fetched epoch is above its own."""
    values = {"error_code": 0, "record_bytes": int(random.integers(1, 1000))}
    return _answered(universe, random, "wrong_diverging_epoch", values, api="FETCH")


def wrong_reported_epoch(universe: Universe, random: Random) -> list[Place]:
    """A broker's metadata has the leader without its epoch."""
    return _answered(universe, random, "wrong_reported_epoch", {"epoch": -1}, api="METADATA")


def wrong_authorization(universe: Universe, random: Random) -> list[Place]:
    """The leader responds to a principal that may not describe the topic."""
    values = {"error_code": 0}
    return _answered(
        universe, random, "wrong_authorization", values, principal=f"User:stranger-{universe.index}"
    )


def malformed_response(universe: Universe, random: Random) -> list[Place]:
    """A response can't be decoded."""
    nothing = dict.fromkeys(("error_code", "epoch", "offset", "throttle_ms"), NULL)
    values = {**nothing, "response": None, "failure": _FAILURE}
    return _answered(universe, random, "malformed_response", values, api="OFFSET_FOR_LEADER_EPOCH")


def wrong_commit_error(universe: Universe, random: Random) -> list[Place]:
    """A group that there is not refuses a commit as if it had another generation."""
    values = {"error_code": ILLEGAL_GENERATION}
    return _answered(universe, random, "wrong_commit_error", values, api=COMMIT)


def wrong_stored_commit(universe: Universe, random: Random) -> list[Place]:
    """A commit is accepted, and nothing of it is stored."""
    found = _answered(universe, random, "wrong_stored_commit", {"error_code": 0}, api=COMMIT)
    universe.expected.append(Place("wrong_commit_error", "violation", found[0].partition))
    return found


def wrong_fetched_commit(universe: Universe, random: Random) -> list[Place]:
    """A commit is returned where none is stored."""
    values = {"offset": int(random.integers(1, 100)), "epoch": 0}
    return _answered(universe, random, "wrong_fetched_commit", values, api=FETCH)


PLANTS = {
    "wrong_epoch_error": Plant(PLAIN, wrong_epoch_error),
    "wrong_epoch_end": Plant(PLAIN, wrong_epoch_end),
    "wrong_diverging_epoch": Plant(PLAIN, wrong_diverging_epoch),
    "wrong_reported_epoch": Plant(PLAIN, wrong_reported_epoch),
    "malformed_response": Plant(PLAIN, malformed_response),
    "wrong_authorization": Plant(PLAIN, wrong_authorization),
    "wrong_commit_error": Plant(PLAIN, wrong_commit_error),
    "wrong_stored_commit": Plant(PLAIN, wrong_stored_commit),
    "wrong_fetched_commit": Plant(PLAIN, wrong_fetched_commit),
}

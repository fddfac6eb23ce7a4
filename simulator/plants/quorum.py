"""Plants of the controllers' quorum (families G and P)."""

from typing import Any

from simulator.plants.tools import PLAIN, Plant, Random
from simulator.universe import Place, Universe

_SAMPLED_SECONDS, _TAKEN_SECONDS, _TRUNCATED_SECONDS, _ASKED_SECONDS = 20.0, 30.0, 31.0, 40.0
_MICROS = 1000
_FAR = 1_000_000_000
"""An offset that no metadata log reaches."""
_METADATA_LOG = "__cluster_metadata"


def _epoch(universe: Universe) -> int:
    """The only epoch of a universe's quorum: no other one's, as leaders are compared by epoch."""
    return universe.index + 1


def _sample(universe: Universe, high_watermark: int, log_ends: list[int]) -> None:
    """The first broker reports that it leads the quorum, all of whom vote."""
    at = universe.at(_SAMPLED_SECONDS)
    leader, *_ = universe.brokers
    universe.write(
        "quorum_samples",
        server=leader,
        leader=leader,
        leader_epoch=_epoch(universe),
        high_watermark=high_watermark,
        voters=tuple(universe.brokers),
        log_ends=tuple(log_ends),
        observers=(),
        at_micros=at,
        asked_micros=at - _MICROS,
    )


def metadata_lost(universe: Universe, random: Random) -> list[Place]:
    """The quorum's leader reported a high watermark that no log reaches."""
    end = _FAR + int(random.integers(100))
    _sample(universe, end, [end] * len(universe.brokers))
    return [Place("metadata_lost", "violation")]


def early_high_watermark(universe: Universe, random: Random) -> list[Place]:
    """The quorum's leader reported a high watermark that it has reached alone."""
    ahead = int(random.integers(2, 100))
    others = [0 for _ in universe.brokers[1:]]
    _sample(universe, 1, [ahead, *others])
    return [Place("early_high_watermark", "violation")]


def metadata_truncation(universe: Universe, random: Random) -> list[Place]:
    """A server truncated its metadata log below where it departed from the quorum's."""
    server = int(random.choice(universe.brokers))
    too_far = int(random.integers(1, 10))
    universe.write(
        "cut_metadata_batches",
        server=server,
        base_offset=_FAR,
        last_offset=_FAR,
        metadata_epoch=_epoch(universe),
        size_bytes=100,
        checksum=universe.index,
        leader=None,
        taken_micros=universe.at(_TAKEN_SECONDS),
    )
    universe.write(
        "truncations",
        broker=server,
        topic=_METADATA_LOG,
        partition=0,
        to_offset=_FAR - too_far,
        at_micros=universe.at(_TRUNCATED_SECONDS) // _MICROS * _MICROS,
        log_line=f"Truncating to offset {_FAR - too_far}",
    )
    return [Place("metadata_truncation", "violation")]


def wrong_quorum_response(universe: Universe, random: Random) -> list[Place]:
    """The quorum's leader accepted a Fetch of an older epoch than it had reported."""
    _sample(universe, -1, [0 for _ in universe.brokers])
    at = universe.at(_ASKED_SECONDS)
    asked: dict[str, Any] = {"asked_epoch": 0, "asked_offset": int(random.integers(1, 100))}
    universe.write(
        "wire_calls",
        worker="observer",
        seq=universe.index * 10_000 + 9_999,
        broker=universe.brokers[0],
        api="FETCH",
        api_key=1,
        version=17,
        topic=_METADATA_LOG,
        partition=0,
        current_leader_epoch=_epoch(universe) - 1,
        error_code=0,
        diverging_epoch=-1,
        diverging_offset=-1,
        throttle_ms=0,
        request="{}",
        response="{}",
        began_micros=at - _MICROS,
        at_micros=at,
        **asked,
    )
    return [Place("wrong_quorum_response", "violation")]


PLANTS = {
    "metadata_lost": Plant(PLAIN, metadata_lost),
    "early_high_watermark": Plant(PLAIN, early_high_watermark),
    "metadata_truncation": Plant(PLAIN, metadata_truncation),
    "wrong_quorum_response": Plant(PLAIN, wrong_quorum_response),
}

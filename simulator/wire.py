"""The observer's requests to the leaders of a universe, when no leader changes."""

from typing import Any

from simulator.universe import Change, Universe

_ASKED_SECONDS = 58.0
_ASKING_MICROS = 400
_PERMITTED_SECONDS = 0.6
_METADATA, _LIST_OFFSETS, _OFFSET_FOR_LEADER_EPOCH, _FETCH = 12, 9, 4, 12
"""Versions."""
FENCED, UNKNOWN, OUT_OF_RANGE, UNAUTHORIZED = 74, 75, 1, 29
"""Kafka's numbers of FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, OFFSET_OUT_OF_RANGE and
TOPIC_AUTHORIZATION_FAILED."""


def write_wire_calls(universe: Universe) -> None:
    """Ask the leader of each partition at each API that has leader epochs.

    One principal may describe the topic, and another may not.
    """
    reader, stranger = (f"User:{name}-{universe.index}" for name in ("reader", "stranger"))
    universe.write(
        "acls",
        resource_type="TOPIC",
        resource_name=universe.topic,
        pattern_type="LITERAL",
        principal=reader,
        operation="DESCRIBE",
        permission="ALLOW",
        metadata_offset=0,
        at_micros=universe.at(_PERMITTED_SECONDS),
    )
    for partition in range(universe.partitions):
        now = universe.led_at(partition, universe.at(_ASKED_SECONDS))
        log = universe.the_log()
        mine = (log.partition == partition) & ~log.is_cut
        mine &= log.at <= universe.at(_ASKED_SECONDS)
        end = int(log.offset[mine].max()) + 1
        _write(universe, now, 0, "METADATA", _METADATA, leader=now.leader, epoch=now.epoch)
        validated = ((now.epoch, 0), (now.epoch + 1, UNKNOWN), (now.epoch - 1, FENCED))
        for number, (epoch, error) in enumerate(validated, start=1):
            if epoch >= 0:
                found = {"epoch": -1, "offset": -1} if error else {"epoch": now.epoch}
                _write(
                    universe,
                    now,
                    number,
                    "LIST_OFFSETS",
                    _LIST_OFFSETS,
                    current_leader_epoch=epoch,
                    asked_timestamp=-1,
                    error_code=error,
                    **({"offset": end} | found),
                )
        unknown = {"current_leader_epoch": now.epoch, "asked_epoch": now.epoch + 1}
        _write(
            universe,
            now,
            4,
            "OFFSET_FOR_LEADER_EPOCH",
            _OFFSET_FOR_LEADER_EPOCH,
            epoch=-1,
            offset=-1,
            **unknown,
        )
        _write(
            universe,
            now,
            5,
            "FETCH",
            _FETCH,
            asked_offset=end,
            error_code=OUT_OF_RANGE,
            diverging_epoch=-1,
            diverging_offset=-1,
            record_bytes=0,
            **unknown,
        )
        for number, (principal, error) in enumerate(((reader, 0), (stranger, UNAUTHORIZED)), 6):
            _write(
                universe,
                now,
                number,
                "OFFSET_FOR_LEADER_EPOCH",
                _OFFSET_FOR_LEADER_EPOCH,
                principal=principal,
                error_code=error,
                epoch=-1,
                offset=-1,
                **(unknown | {"current_leader_epoch": -1}),
            )


def _write(
    universe: Universe, now: Change, number: int, api: str, version: int, **columns: Any
) -> None:
    at = universe.at(_ASKED_SECONDS) + now.partition * 10_000 + number * 1_000
    values: dict[str, Any] = {
        "worker": "observer",
        "seq": universe.index * 10_000 + now.partition * 10 + number,
        "broker": now.leader,
        "topic": universe.topic,
        "partition": now.partition,
        "error_code": 0,
        "is_retriable": True,
        "throttle_ms": 0,
        "request": "{}",
        "response": "{}",
        "began_micros": at - _ASKING_MICROS,
        "at_micros": at,
    }
    universe.write("wire_calls", api=api, api_key=0, version=version, **(values | columns))

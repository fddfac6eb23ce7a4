"""Resets in the log of kafka-python, at DEBUG.

A truncation line has the position, but not its epoch: that is in the line which set the position
("Updating fetch position"). The lines come from `Fetcher` (`consumer/fetcher.py`) and
`ConsumerCoordinator` (`coordinator/consumer.py`).
"""

import re
from collections.abc import Iterable

from contract.events import NO_EPOCH
from harness.decode.client_logs.lines import INT, OFFSET, TOPIC, Found, LogLine, Partition, Reset

_TP = rf"TopicPartition\(topic='(?P<topic>{TOPIC})', partition=(?P<partition>{INT})\)"
_UPDATING = re.compile(
    rf"^Updating fetch position for assigned partition {_TP} to ({OFFSET}) "
    rf"\(leader epoch (-?{INT})\)"
)
_TRUNCATION = re.compile(
    rf"^Truncation detected for {_TP} at position (?P<at>{OFFSET})(?P<rest>.*)$"
)
_DIVERGING = re.compile(
    rf"seeking to first diverging offset OffsetAndMetadata\(offset=({OFFSET}), "
    rf"[^(]*leader_epoch=(-?{INT})\)"
)
_OUT_OF_RANGE = re.compile(
    rf"^Fetch offset (?P<at>{OFFSET}) is out of range for topic-partition {_TP}"
)
_NO_COMMIT = re.compile(rf"has no committed offset for partition {_TP}")
_RESETTING = re.compile(rf"^Resetting offset for partition {_TP} to offset (?P<to>{OFFSET})\.")

_Position = tuple[str, Partition, int]


def read(lines: Iterable[LogLine]) -> list[Reset]:
    """Return the resets of a log, in order."""
    found = Found()
    epochs: dict[_Position, int] = {}
    for line in lines:
        if match := _UPDATING.match(line.text):
            epochs[line.member, _partition(match), int(match[3])] = int(match[4])
        elif (reset := _reset(line, epochs)) is not None:
            found.add(reset)
        elif match := _RESETTING.match(line.text):
            found.set_target(line, _partition(match), int(match["to"]))
    return found.resets


def _reset(line: LogLine, epochs: dict[_Position, int]) -> Reset | None:
    """Return the reset of a line, without what later lines add; None if it has none."""
    if match := _TRUNCATION.match(line.text):
        reset = _from_position(line, match, "truncation", epochs)
        if diverging := _DIVERGING.search(match["rest"]):
            reset.to_offset, reset.to_epoch = int(diverging[1]), int(diverging[2])
        return reset
    if match := _OUT_OF_RANGE.match(line.text):
        return _from_position(line, match, "out_of_range", epochs)
    if match := _NO_COMMIT.search(line.text):
        return Reset(line, _partition(match), "no_commit")
    return None


def _from_position(
    line: LogLine, match: re.Match[str], cause: str, epochs: dict[_Position, int]
) -> Reset:
    partition, offset = _partition(match), int(match["at"])
    epoch = epochs.get((line.member, partition, offset), NO_EPOCH)
    return Reset(line, partition, cause, offset, epoch)


def _partition(match: re.Match[str]) -> Partition:
    return match["topic"], int(match["partition"])

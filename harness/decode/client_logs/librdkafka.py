"""Resets and omitted commits in librdkafka's debug log (`debug=consumer,cgrp,fetch,topic`).

A truncation that it resets for has two lines: the query of the leader (`rd_kafka_offset_validate`:
"querying broker for epoch validation of") and the seek that follows (`rd_kafka_toppar_seek`: "in
state validate-epoch-wait"). Every other reset is one line of `rd_kafka_offset_reset`; if its target
has to be looked up, the result is in another line ("request for ... returned offset").

A position that is not greater than the committed one is left out of a commit, with a line
(`rd_kafka_topic_partition_list_set_offsets`).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.decode.client_logs.lines import (
    INT,
    OFFSET,
    TOPIC,
    Found,
    LogLine,
    Partition,
    Reset,
    log_lines,
)

_TP = rf"(?<![A-Za-z0-9._-])(?P<topic>{TOPIC}) \[(?P<partition>{INT})\]"
_POSITION = rf"offset (\S+) \(leader epoch (-?{INT})\)"
_KNOWN_POSITION = rf"offset ({OFFSET}) \(leader epoch (-?{INT})\)"
_QUERYING = re.compile(rf"{_TP}: querying broker for epoch validation of {_KNOWN_POSITION}")
_SEEKING = re.compile(rf"Seek {_TP} to {_KNOWN_POSITION} in state validate-epoch-wait")
_RESETTING = re.compile(
    rf"{_TP}: offset reset \(at (?P<at>{_POSITION}), broker \S+\) to (?:cached BEGINNING offset )?"
    rf"(?P<to>{_POSITION}): (?P<reason>.*)$"
)
_LOOKED_UP = re.compile(
    rf"Offset \S+ request for {_TP} returned offset ({OFFSET}) \(-?\d+\) leader epoch (-?{INT})"
)
_OMITTED = "not including in commit"
_OMITTING = re.compile(
    rf"{_TP}: stored {_KNOWN_POSITION}, committed {_KNOWN_POSITION}: {_OMITTED}$"
)
_MARKS = ("epoch validation", "validate-epoch-wait", "offset reset (", "returned offset")
"""Only lines with one of these are matched by regexes: a few of a hundred thousand."""

_AT = re.compile(_KNOWN_POSITION)
_CAUSES = {
    "Broker: Offset out of range": "out_of_range",
    "Local: Partition log truncation detected": "truncation",
    "Local: No offset stored": "no_commit",
}


def read(lines: Iterable[LogLine]) -> list[Reset]:
    """Return the resets of a log, in order."""
    found = Found()
    validating: dict[tuple[str, Partition], tuple[int, int]] = {}
    for line in lines:
        if not any(words in line.text for words in _MARKS):
            continue
        if match := _QUERYING.search(line.text):
            validating[line.member, _partition(match)] = int(match[3]), int(match[4])
        elif match := _SEEKING.search(line.text):
            position = validating.get((line.member, _partition(match)))
            if position is not None:
                target = int(match[3]), int(match[4])
                found.add(Reset(line, _partition(match), "truncation", *position, *target))
        elif match := _RESETTING.search(line.text):
            reset = _reset(line, match)
            if reset is not None:
                found.add(reset)
        elif match := _LOOKED_UP.search(line.text):
            found.set_target(line, _partition(match), int(match[3]), int(match[4]))
    return found.resets


def omitted_commits(lines: Iterable[str], *, worker: str) -> Iterator[dict[str, Any]]:
    """Yield rows of the table `omitted_commits`, from the lines of one worker's client log."""
    for line in log_lines(line for line in lines if _OMITTED in line):
        if match := _OMITTING.search(line.text):
            topic, partition = _partition(match)
            names = ("offset", "epoch", "committed_offset", "committed_epoch")
            numbers = zip(names, map(int, match.groups()[2:]), strict=True)
            yield line.of_partition((topic, partition), worker=worker) | dict(numbers)


def _reset(line: LogLine, match: re.Match[str]) -> Reset | None:
    """Return the reset of a line; None if it only looks up a requested position."""
    cause = next((name for end, name in _CAUSES.items() if match["reason"].endswith(end)), None)
    if cause is None:
        return None
    reset = Reset(line, _partition(match), cause)
    # A truncation without a policy is reset "at INVALID", and has the position in its reason.
    for position in (match["at"], match["reason"]):
        if at := _AT.search(position):
            reset.from_offset, reset.from_epoch = int(at[1]), int(at[2])
            break
    if to := _AT.search(match["to"]):
        reset.to_offset, reset.to_epoch = int(to[1]), int(to[2])
    return reset


def _partition(match: re.Match[str]) -> Partition:
    return match["topic"], int(match["partition"])

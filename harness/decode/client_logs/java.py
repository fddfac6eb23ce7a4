"""Resets in the log of the Java consumer, of both group protocols.

The lines come from `SubscriptionState.maybeCompleteValidation` ("Truncation detected"),
`FetchCollector.handleInitializeErrors` ("is out of range") and `maybeSeekUnvalidated`
("Resetting offset").
"""

import re
from collections.abc import Iterable

from harness.decode.client_logs.lines import (
    INT,
    OFFSET,
    TOPIC,
    Found,
    LogLine,
    Partition,
    Reset,
    number,
)

_POSITION = rf"FetchPosition\{{offset=({OFFSET}), offsetEpoch=Optional(?:\[({INT})\]|\.empty)"
_TP = rf"(?P<tp>{TOPIC}-{INT})"
_TRUNCATION = re.compile(
    rf"^Truncation detected for partition {_TP} at offset {_POSITION}[^}}]*\}}\}}?"
    r"(?P<rest>.*)$"
)
_OUT_OF_RANGE = re.compile(rf"^Fetch position {_POSITION}.* is out of range for partition {_TP}")
_NO_COMMIT = re.compile(rf"^Found no committed offset for partition {_TP}")
_RESETTING = re.compile(rf"^Resetting offset for partition {_TP} to position {_POSITION}")
_DIVERGING = re.compile(_POSITION)


def read(lines: Iterable[LogLine]) -> list[Reset]:
    """Return the resets of a log, in order."""
    found = Found()
    for line in lines:
        reset = _reset(line)
        if reset is not None:
            found.add(reset)
        elif match := _RESETTING.match(line.text):
            found.set_target(line, _partition(match["tp"]), int(match[2]), number(match[3]))
    return found.resets


def _reset(line: LogLine) -> Reset | None:
    """Return the reset of a line, without what later lines add; None if it has none."""
    if match := _TRUNCATION.match(line.text):
        partition, from_offset, from_epoch = _partition(match["tp"]), int(match[2]), match[3]
        reset = Reset(line, partition, "truncation", from_offset, number(from_epoch))
        if diverging := _DIVERGING.search(match["rest"]):
            reset.to_offset, reset.to_epoch = int(diverging[1]), number(diverging[2])
        return reset
    if match := _OUT_OF_RANGE.match(line.text):
        partition = _partition(match["tp"])
        return Reset(line, partition, "out_of_range", int(match[1]), number(match[2]))
    if match := _NO_COMMIT.match(line.text):
        return Reset(line, _partition(match["tp"]), "no_commit")
    return None


def _partition(text: str) -> Partition:
    topic, _, partition = text.rpartition("-")
    return topic, int(partition)

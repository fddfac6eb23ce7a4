"""Resets, from what the Java consumer logs: its only trace of a truncation that policy handles.

The lines come from `SubscriptionState.maybeCompleteValidation` ("Truncation detected"),
`FetchCollector.handleInitializeErrors` ("is out of range") and `maybeSeekUnvalidated`
("Resetting offset").
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from harness.contract.events import NO_EPOCH

_LINE = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \w+ \S+ "
    r"\[Consumer clientId=(?P<member>[^,\]]+), groupId=(?P<group>[^\]]+)\] (?P<text>.*)$"
)
_POSITION = r"FetchPosition\{offset=(\d+), offsetEpoch=Optional(?:\[(\d+)\]|\.empty)"
_TRUNCATION = re.compile(
    rf"^Truncation detected for partition (?P<tp>\S+) at offset {_POSITION}[^}}]*\}}\}}?"
    r"(?P<rest>.*)$"
)
_OUT_OF_RANGE = re.compile(
    rf"^Fetch position {_POSITION}.* is out of range for partition (?P<tp>[^\s,]+)"
)
_NO_COMMIT = re.compile(r"^Found no committed offset for partition (?P<tp>\S+)")
_RESETTING = re.compile(rf"^Resetting offset for partition (?P<tp>\S+) to position {_POSITION}")
_DIVERGING = re.compile(_POSITION)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Told:
    """A log line of one member."""

    at_micros: int
    member: str
    group: str
    text: str
    line: str


def resets(lines: Iterable[str], *, worker: str, policies: dict[str, str]) -> list[dict[str, Any]]:
    """Rows of the table `resets`.

    Args:
        lines: of one worker's client log.
        worker: whose.
        policies: `auto.offset.reset` by group.

    A reset whose target the client looked up appears once, with cause and target together; one
    that nothing followed (no policy: the client raised) has no `to_offset`.
    """
    rows: list[dict[str, Any]] = []
    awaiting: dict[tuple[str, str], dict[str, Any]] = {}
    for told in _told(lines):
        found = _cause(told)
        if found is not None:
            topic_partition, row = found
            row |= _key(told, worker, topic_partition, policies)
            rows.append(row)
            if row["to_offset"] is None:
                awaiting[told.member, topic_partition] = row
        elif match := _RESETTING.match(told.text):
            key = (told.member, match["tp"])
            if key in awaiting:
                target = {"to_offset": int(match[2]), "to_epoch": _epoch(match[3])}
                awaiting.pop(key).update(target)
    return rows


def _told(lines: Iterable[str]) -> Iterator[_Told]:
    for line in lines:
        if match := _LINE.match(line):
            at = datetime.strptime(match["at"], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
            micros = round((at - _EPOCH).total_seconds() * 1_000_000)
            yield _Told(micros, match["member"], match["group"], match["text"], line.rstrip())


def _cause(told: _Told) -> tuple[str, dict[str, Any]] | None:
    """What reset a line tells of: its partition, and the row as far as the line goes."""
    row: dict[str, Any] = {"to_offset": None, "to_epoch": NO_EPOCH}
    if match := _TRUNCATION.match(told.text):
        row |= {"cause": "truncation", "from_offset": int(match[2]), "from_epoch": _epoch(match[3])}
        if diverging := _DIVERGING.search(match["rest"]):
            row |= {"to_offset": int(diverging[1]), "to_epoch": _epoch(diverging[2])}
        return match["tp"], row
    if match := _OUT_OF_RANGE.match(told.text):
        row |= {
            "cause": "out_of_range",
            "from_offset": int(match[1]),
            "from_epoch": _epoch(match[2]),
        }
        return match["tp"], row
    if match := _NO_COMMIT.match(told.text):
        row |= {"cause": "no_commit", "from_offset": None, "from_epoch": NO_EPOCH}
        return match["tp"], row
    return None


def _key(
    told: _Told, worker: str, topic_partition: str, policies: dict[str, str]
) -> dict[str, Any]:
    topic, _, partition = topic_partition.rpartition("-")
    return {
        "worker": worker,
        "group": told.group,
        "member": told.member,
        "topic": topic,
        "partition": int(partition),
        "policy": policies.get(told.group, ""),
        "log_line": told.line,
        "at_micros": told.at_micros,
    }


def _epoch(text: str | None) -> int:
    return NO_EPOCH if text is None else int(text)

"""The lines of a client log, and the resets that are found in them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from contract.events import NO_EPOCH

_LINE = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \w+ \S+ "
    r"\[Consumer clientId=(?P<member>[^,\]]+), groupId=(?P<group>[^\]]+)\] (?P<text>.*)$"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

OFFSET, INT = r"[0-9]{1,18}", r"[0-9]{1,9}"
"""Numbers in a log line, as many digits as their columns take; a line with more is no such line."""

Partition = tuple[str, int]


@dataclass(frozen=True)
class LogLine:
    """A log line of one member; `time` is in UTC, to the millisecond."""

    time: str
    member: str
    group: str
    text: str
    raw: str


@dataclass
class Reset:
    """A reset that a client told of; `from_offset` is None without a commit."""

    line: LogLine
    partition: Partition
    cause: str
    from_offset: int | None = None
    from_epoch: int = NO_EPOCH
    to_offset: int | None = None
    to_epoch: int = NO_EPOCH

    def row(self, *, worker: str, policies: dict[str, str]) -> dict[str, Any]:
        """As a row of the table `resets`."""
        return {
            "worker": worker,
            "group": self.line.group,
            "member": self.line.member,
            "topic": self.partition[0],
            "partition": self.partition[1],
            "cause": self.cause,
            "policy": policies.get(self.line.group, ""),
            "from_offset": self.from_offset,
            "from_epoch": self.from_epoch,
            "to_offset": self.to_offset,
            "to_epoch": self.to_epoch,
            "log_line": self.line.raw,
            "at_micros": micros_of(self.line.time),
        }


class Found:
    """The resets of a log in its order, and those that still wait for their target."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.resets: list[Reset] = []
        self._awaiting: dict[tuple[str, Partition], Reset] = {}

    def add(self, reset: Reset) -> None:
        """A reset; without a target it waits for one. Told again while it waits, it is the same."""
        key = (reset.line.member, reset.partition)
        waiting = self._awaiting.get(key)
        if waiting is not None and waiting.cause == reset.cause:
            return
        self.resets.append(reset)
        if reset.to_offset is None:
            self._awaiting[key] = reset

    def arrived(
        self, line: LogLine, partition: Partition, offset: int, epoch: int = NO_EPOCH
    ) -> None:
        """The target that a client looked up for a reset told before; else it is no reset."""
        reset = self._awaiting.pop((line.member, partition), None)
        if reset is not None:
            reset.to_offset, reset.to_epoch = offset, epoch


def log_lines(lines: Iterable[str]) -> Iterator[LogLine]:
    """The lines in which a member speaks, in their order."""
    for line in lines:
        match = _LINE.match(line)
        if match and is_time(match["at"]):
            yield LogLine(
                match["at"], match["member"], match["group"], match["text"], line.rstrip()
            )


def is_time(time: str) -> bool:
    """Whether digits in the form of a log line's time are one that `micros_of` takes."""
    try:
        return micros_of(time) >= 0
    except ValueError:
        return False


def micros_of(time: str) -> int:
    """Microseconds since 1970 of a log line's time (UTC, to the millisecond)."""
    at = datetime.fromisoformat(time).replace(tzinfo=UTC)
    return round((at - _EPOCH).total_seconds() * 1_000_000)


def number(text: str | None) -> int:
    """A leader epoch as it is told; -1 where it is not."""
    return NO_EPOCH if text is None else int(text)

"""The lines of a client log, and the resets that are found in them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from contract.events import NO_EPOCH

_LINE = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \w+ \S+ "
    r"\[Consumer (?:instanceId=[^,\]]+, )?clientId=(?P<member>[^,\]]+), "
    r"groupId=(?P<group>[^\]]+)\] (?P<text>.*)$"
)
_TIMED = re.compile(rb"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) ")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

OFFSET, INT = r"[0-9]{1,18}", r"[0-9]{1,9}"
"""Numbers in a log line, with as many digits as their columns hold; a line with more is ignored."""
TOPIC = r"[A-Za-z0-9._-]{1,249}"
"""A topic's name (`org.apache.kafka.common.internals.Topic`).

A part without a bound, such as `\\S+`, begins after a fixed text only, and ends before one that it
does not hold: so the time that a line takes grows with its length, and not with a power of it.
"""

Partition = tuple[str, int]


def end_of(content: bytes | None) -> dict[str, Any]:
    """Return how a log ends, as columns of the table `histories`; None: there is none."""
    lines = (content or b"").split(b"\n")
    torn = lines.pop()
    times = (match["at"] for line in reversed(lines) if (match := _TIMED.match(line)))
    last = next((at for at in map(bytes.decode, times) if is_time(at)), None)
    return {
        "log_lines": len(lines),
        "is_log_torn": bool(torn),
        "log_until_micros": None if last is None else micros_of(last),
    }


@dataclass(frozen=True)
class LogLine:
    """A log line of one member; `time` is in UTC, to the millisecond."""

    time: str
    member: str
    group: str
    text: str
    raw: str

    def of_partition(self, partition: Partition, *, worker: str) -> dict[str, Any]:
        """Return the columns of a row about a partition that say where and when it was logged."""
        return {
            "worker": worker,
            "group": self.group,
            "member": self.member,
            "topic": partition[0],
            "partition": partition[1],
            "log_line": self.raw,
            "at_micros": micros_of(self.time),
        }


@dataclass
class Reset:
    """A reset that a client logged; `from_offset` is None without a commit."""

    line: LogLine
    partition: Partition
    cause: str
    from_offset: int | None = None
    from_epoch: int = NO_EPOCH
    to_offset: int | None = None
    to_epoch: int = NO_EPOCH

    def row(self, *, worker: str, policies: dict[str, str]) -> dict[str, Any]:
        """Return a row of the table `resets`."""
        return self.line.of_partition(self.partition, worker=worker) | {
            "cause": self.cause,
            "policy": policies.get(self.line.group, ""),
            "from_offset": self.from_offset,
            "from_epoch": self.from_epoch,
            "to_offset": self.to_offset,
            "to_epoch": self.to_epoch,
        }


class Found:
    """The resets of a log in order, and those that still lack their target."""

    def __init__(self) -> None:
        """Start empty."""
        self.resets: list[Reset] = []
        self._awaiting: dict[tuple[str, Partition], Reset] = {}

    def add(self, reset: Reset) -> None:
        """Add a reset, except a repetition of one that still lacks its target."""
        key = (reset.line.member, reset.partition)
        waiting = self._awaiting.get(key)
        if waiting is not None and waiting.cause == reset.cause:
            return
        self.resets.append(reset)
        if reset.to_offset is None:
            self._awaiting[key] = reset

    def set_target(
        self, line: LogLine, partition: Partition, offset: int, epoch: int = NO_EPOCH
    ) -> None:
        """Set the target that a client looked up for an earlier reset; ignored without one."""
        reset = self._awaiting.pop((line.member, partition), None)
        if reset is not None:
            reset.to_offset, reset.to_epoch = offset, epoch


def log_lines(lines: Iterable[str]) -> Iterator[LogLine]:
    """Yield the lines of members, in order."""
    for line in lines:
        match = _LINE.match(line)
        if match and is_time(match["at"]):
            yield LogLine(
                match["at"], match["member"], match["group"], match["text"], line.rstrip()
            )


def is_time(time: str) -> bool:
    """Return whether `micros_of` accepts a text in the form of a log line's time."""
    try:
        return micros_of(time) >= 0
    except ValueError:
        return False


def micros_of(time: str) -> int:
    """Return a log line's time (UTC, to the millisecond) in microseconds since 1970."""
    at = datetime.fromisoformat(time).replace(tzinfo=UTC)
    return round((at - _EPOCH).total_seconds() * 1_000_000)


def number(text: str | None) -> int:
    """Return a leader epoch of a line; -1 if it has none."""
    return NO_EPOCH if text is None else int(text)

"""Truncations, from what the servers log: a replica that was cut keeps no other trace of it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.decode.client_logs.lines import micros_of

_TRUNCATION = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \w+ \[.*\] \S+ "
    r"\[UnifiedLog partition=(?P<topic>.+?)-(?P<partition>\d+), dir=.*\] "
    r"Truncating to offset (?P<offset>\d+)$"
)
_SERVER = re.compile(r"\[KafkaRaftServer nodeId=(\d+)\]")


def server_of(folder_name: str, lines: Iterable[str]) -> int | None:
    """Whose log it is: the folder's name, or what the server calls itself; None if neither tells.

    Args:
        folder_name: below `brokers/`: the server's id; in older runs, the name of its node.
        lines: of the log.
    """
    if folder_name.isdecimal():
        return int(folder_name)
    return next((int(match[1]) for line in lines if (match := _SERVER.search(line))), None)


def truncations(lines: Iterable[str], *, broker: int) -> Iterator[dict[str, Any]]:
    """Rows of the table `truncations`.

    Kafka 3.9 and 4.x write the same line (UnifiedLog.truncateTo); one that `has no effect` removed
    nothing and is none.

    Args:
        lines: of one server's log, in UTC.
        broker: whose.
    """
    for line in lines:
        if match := _TRUNCATION.match(line.rstrip()):
            yield {
                "broker": broker,
                "topic": match["topic"],
                "partition": int(match["partition"]),
                "to_offset": int(match["offset"]),
                "at_micros": micros_of(match["at"]),
                "log_line": line.rstrip(),
            }

"""Tables from the servers' logs: truncations, advances of log starts, starts of epochs."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.decode.client_logs.lines import INT, OFFSET, is_time, micros_of

_AT = r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \w+ \[.*\] \S+ "
_LOG = rf"\[UnifiedLog partition=(?P<topic>.+?)-(?P<partition>{INT}), dir=.*\] "
_TRUNCATION = re.compile(_AT + _LOG + rf"Truncating to offset (?P<to_offset>{OFFSET})$")
_LOG_START = re.compile(
    _AT
    + _LOG
    + rf"Incremented log start offset to (?P<log_start_offset>{OFFSET}) due to (?P<reason>.+)$"
)
_EPOCH_START = re.compile(
    _AT
    + rf"\[Broker id=\d+\] Leader (?P<topic>.+)-(?P<partition>{INT}) with topic id \S+ starts at "
    rf"leader epoch (?P<leader_epoch>{INT}) from offset (?P<start_offset>{OFFSET}) "
)
_SERVER = re.compile(rf"\[KafkaRaftServer nodeId=({INT})\]")


def id_of(folder_name: str) -> int | None:
    """Return the server id in a folder's name; None if the name is no id."""
    return int(folder_name) if re.fullmatch(INT, folder_name) else None


def server_of(folder_name: str, lines: Iterable[str]) -> int | None:
    """Return the server id of a log, by the folder's name or a line of the log; None without one.

    Args:
        folder_name: below `brokers/`: the server's id; in older runs, the name of its node.
        lines: of the log.
    """
    if (server := id_of(folder_name)) is not None:
        return server
    return next((int(match[1]) for line in lines if (match := _SERVER.search(line))), None)


def truncations(lines: Iterable[str], *, broker: int) -> Iterator[dict[str, Any]]:
    """Return rows of the table `truncations`.

    Kafka 3.9 and 4.x write the same line (UnifiedLog.truncateTo); a line with `has no effect`
    removed nothing and has no row.

    Args:
        lines: of one server's log, in UTC.
        broker: its id.
    """
    return _rows(_TRUNCATION, lines, broker)


def log_start_changes(lines: Iterable[str], *, broker: int) -> Iterator[dict[str, Any]]:
    """Return rows of the table `log_start_changes` (UnifiedLog.maybeIncrementLogStartOffset)."""
    return _rows(_LOG_START, lines, broker)


def leader_epoch_starts(lines: Iterable[str], *, broker: int) -> Iterator[dict[str, Any]]:
    """Return rows of the table `leader_epoch_starts` (Partition.makeLeader)."""
    return _rows(_EPOCH_START, lines, broker)


TABLES_OF_SERVER_LOGS = {
    "truncations": truncations,
    "log_start_changes": log_start_changes,
    "leader_epoch_starts": leader_epoch_starts,
}


def _rows(pattern: re.Pattern[str], lines: Iterable[str], broker: int) -> Iterator[dict[str, Any]]:
    """Return a row for each matching line, with integers for the groups that are numbers."""
    for line in lines:
        match = pattern.match(line.rstrip())
        if match and is_time(match["at"]):
            found = match.groupdict()
            at = found.pop("at")
            yield {
                **{name: int(v) if name in _NUMBERS else v for name, v in found.items()},
                "broker": broker,
                "at_micros": micros_of(at),
                "log_line": line.rstrip(),
            }


_NUMBERS = {"partition", "to_offset", "log_start_offset", "leader_epoch", "start_offset"}

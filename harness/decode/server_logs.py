"""Tables from the servers' logs: truncations, advances of log starts, starts of epochs."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.decode.client_logs.lines import INT, OFFSET, TOPIC, is_time, micros_of

_AT = r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \w+ \[[^\]]*\] \S+ "
_LOG = rf"\[UnifiedLog partition=(?P<topic>{TOPIC})-(?P<partition>{INT}), dir=.*\] "
_TRUNCATION = re.compile(_AT + _LOG + rf"Truncating to offset (?P<to_offset>{OFFSET})$")
_LOG_START = re.compile(
    _AT
    + _LOG
    + rf"Incremented log start offset to (?P<log_start_offset>{OFFSET}) due to (?P<reason>.+)$"
)
_EPOCH_START = re.compile(
    _AT
    + rf"\[Broker id=\d+\] Leader (?P<topic>{TOPIC})-(?P<partition>{INT}) with topic id \S+ starts "
    rf"at leader epoch (?P<leader_epoch>{INT}) from offset (?P<start_offset>{OFFSET}) "
)
TABLES_OF_SERVER_LOGS = {
    "truncations": _TRUNCATION,
    "log_start_changes": _LOG_START,
    "leader_epoch_starts": _EPOCH_START,
}
"""By table, the line that each row comes from: of UnifiedLog.truncateTo, which is the same in Kafka
3.9 and 4.x, and has no row with `has no effect`; of UnifiedLog.maybeIncrementLogStartOffset; and of
Partition.makeLeader."""
_NUMBERS = {"partition", "to_offset", "log_start_offset", "leader_epoch", "start_offset"}
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


def rows_of(table: str, lines: Iterable[str], *, broker: int) -> Iterator[dict[str, Any]]:
    """Return rows of one of TABLES_OF_SERVER_LOGS from a log in UTC; numbers are integers."""
    pattern = TABLES_OF_SERVER_LOGS[table]
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

"""A log line of any length takes a time that grows with its length: else these tests never end."""

from collections.abc import Iterable

import pytest

from contract.clients import Client
from harness.decode.client_logs import resets
from harness.decode.server_logs import TABLES_OF_SERVER_LOGS, rows_of, server_of

pytestmark = pytest.mark.timeout(60)

BYTES = 300_000
AT = "2026-11-21 08:29:07.031 INFO "
OF_SERVERS = (
    f"{AT}[",
    f"{AT}[main] x ",
    f"{AT}[main] UnifiedLog [UnifiedLog partition=a-1, dir=/x] ",
    f"{AT}[a] [b] [UnifiedLog partition=a-0, dir=] ",
    f"{AT}[main] Partition [Broker id=1] Leader a-0 with topic id x starts at leader epoch ",
    "[KafkaRaftServer nodeId=",
)
OF_MEMBERS = (
    "Truncation detected for partition a-0 at offset FetchPosition{offset=1, offsetEpoch=Optional.",
    "Fetch position FetchPosition{offset=1, offsetEpoch=Optional.empty} is out of range for ",
    " is out of range for partition a-",
    "Resetting offset for partition ",
    "Truncation detected for TopicPartition(topic='a', partition=0) at position 1",
    "seeking to first diverging offset OffsetAndMetadata(offset=1, ",
    "has no committed offset for partition TopicPartition(topic='a",
    "epoch validation",
    " offset reset (at offset a (leader epoch 1), broker ",
    "a [0]: offset reset (at offset 1 (leader epoch 1), broker 1) to offset 1 (leader epoch 1): ",
    "Offset x request for a [0] returned offset ",
    "a",
    "-",
    "a-1",
    "(",
    "[",
    ". ",
)


def lines(starts: Iterable[str], fragments: Iterable[str]) -> list[str]:
    """Each start, followed by each fragment again and again."""
    return [
        (start + fragment * (BYTES // len(fragment) + 1))[:BYTES]
        for start in starts
        for fragment in fragments
    ]


@pytest.mark.parametrize("table", TABLES_OF_SERVER_LOGS)
def test_a_servers_line(table: str) -> None:
    fragments = (*OF_SERVERS, "] [", "] x ", "a-1", ", dir=", "] Truncating to offset ", "1")
    for start in ("", *OF_SERVERS):
        for line in lines([start], fragments):
            assert list(rows_of(table, [line], broker=1)) == []
            assert server_of("node", [line]) is None


@pytest.mark.parametrize("client", Client)
def test_a_clients_line(client: Client) -> None:
    where = f"{AT}x [Consumer clientId=g#2, groupId=g] "
    marked = f"{where}epoch validation offset reset ( "
    for start in (where, marked, *(where + one for one in OF_MEMBERS)):
        for line in lines([start], OF_MEMBERS):
            resets([line], worker="w", policies={}, client=client)
    for line in lines(["", AT, f"{AT}x [Consumer clientId="], ["a", "[", "] ", ", groupId="]):
        assert resets([line], worker="w", policies={}, client=client) == []

"""Lines of the logs of servers and clients."""

from collections.abc import Iterable

import pytest

from cluster.kafka.service import log_end
from contract.software import INSTALLED, Client
from harness.decode.client_logs import resets
from harness.decode.client_logs.joins import join_loops
from harness.decode.client_logs.librdkafka import omitted_commits
from harness.decode.client_logs.lines import end_of
from harness.decode.server_logs import TABLES_OF_SERVER_LOGS, rows_of, server_of

# A log line of any length takes a time that grows with its length: else these tests never end.


pytestmark = pytest.mark.timeout(60)

BYTES = 150_000
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
    "not including in commit",
    "a [0]: stored offset 1 (leader epoch 1), committed offset 1 (leader epoch 1): not including ",
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


@pytest.mark.parametrize("client", INSTALLED)
def test_a_clients_line(client: Client) -> None:
    where = f"{AT}x [Consumer clientId=g#2, groupId=g] "
    marked = f"{where}epoch validation offset reset ( "
    for start in (where, marked, *(where + line for line in OF_MEMBERS)):
        for line in lines([start], OF_MEMBERS):
            resets([line], worker="w", policies={}, client=client)
    for line in lines(["", AT, f"{AT}x [Consumer clientId="], ["a", "[", "] ", ", groupId="]):
        assert resets([line], worker="w", policies={}, client=client) == []


# Truncations from servers' logs: lines of real brokers, their folder shortened.


_CUT = "INFO [ReplicaFetcherThread-0-2] UnifiedLog [UnifiedLog partition={}, dir=/data] Truncating"
# Kafka 4.4.0
STARTED = "2026-11-21 08:29:07.031 INFO [main] KafkaRaftServer [KafkaRaftServer nodeId=1] started"
NO_EFFECT = (
    f"2026-11-21 08:28:20.667 {_CUT.format('orders-1')} to 0 has no effect as the largest offset in"
    " the log is -1"
)
FETCHER = (
    "2026-11-21 08:28:30.347 INFO [ReplicaFetcherThread-0-2] ReplicaFetcherThread [ReplicaFetcher"
    " replicaId=1, leaderId=2, fetcherId=0] Truncating partition orders-0 with"
    " TruncationState(offset=2010, completed=true) due to leader epoch and offset"
    " EpochEndOffset(errorCode=0, partition=0, leaderEpoch=0, endOffset=2010)"
)
TRUNCATED = f"2026-11-21 08:28:30.347 {_CUT.format('orders-0')} to offset 2010"
LINES = [STARTED, NO_EFFECT, FETCHER, f"{TRUNCATED}\n", "Formatting metadata directory /data", ""]
# Kafka 3.9.0
OLDER = f"2026-11-21 06:57:57.869 {_CUT.format('back-log-10')} to offset 100"


def test_truncations_that_had_an_effect() -> None:
    (row,) = rows_of("truncations", LINES, broker=1)
    assert (row["broker"], row["topic"], row["partition"]) == (1, "orders", 0)
    assert row["to_offset"] == 2010
    assert row["at_micros"] == 1_795_249_710_347_000
    assert row["log_line"] == TRUNCATED


def test_kafka_3_9_writes_the_same_line() -> None:
    (row,) = rows_of("truncations", [OLDER], broker=2)
    assert (row["topic"], row["partition"], row["to_offset"]) == ("back-log", 10, 100)


def test_whose_log_it_is() -> None:
    assert server_of("2", []) == 2
    assert server_of("node-7", LINES) == 1
    assert server_of("node-7", [OLDER]) is None


# Resets from the logs of Java's client, librdkafka 2.16.0 and kafka-python 3.0.12: lines of runs.


WHERE = "[Consumer clientId=g#2, groupId=g]"
RD = f"2026-11-21 07:55:21.873 DEBUG librdkafka(g#2) {WHERE}"
MAIN = "[g#2#consumer-9] [thrd:main]:"
QUERYING = (
    f"{RD} VALIDATE {MAIN} 10.88.0.12:9092/2: orders [0]: querying broker for epoch validation of "
    "offset 200 (leader epoch 0): epoch updated from metadata"
)
SEEK = "Seek orders [0] to offset 100 (leader epoch 0)"
SEEKING = [
    f"{RD} CONSUMER {MAIN} {SEEK} (v3)",
    f"{RD} FETCH {MAIN} {SEEK} in state validate-epoch-wait (v3)",
]
TRUNCATED_WITHOUT_POLICY = (
    f"{RD} OFFSET {MAIN} orders [0]: offset reset (at offset INVALID (leader epoch 2), broker 2) "
    "to offset INVALID (leader epoch -1): Partition log truncation detected at offset 200 (leader "
    "epoch 0): broker end offset is 100 (offset leader epoch 0). Reset to INVALID.: Local: "
    "Partition log truncation detected"
)
NOT_AVAILABLE = (
    "fetch failed due to requested offset not available on the broker: Broker: Offset out of range"
)
OUT_OF_RANGE = (
    f"{RD} OFFSET {MAIN} orders [0]: offset reset (at offset 200 (leader epoch 0), broker 2) "
    f"to offset END (leader epoch -1): {NOT_AVAILABLE}"
)
OUT_OF_RANGE_WITHOUT_POLICY = (
    f"{RD} OFFSET {MAIN} orders [0]: offset reset (at offset 200 (leader epoch -1), broker 2) "
    f"to offset INVALID (leader epoch -1): {NOT_AVAILABLE}"
)
OUT_OF_RANGE_CACHED = (
    f"{RD} OFFSET {MAIN} orders [0]: offset reset (at offset 200 (leader epoch 2), broker 2) "
    f"to cached BEGINNING offset offset 0 (leader epoch -1): {NOT_AVAILABLE}"
)
NO_COMMIT = (
    f"{RD} OFFSET {MAIN} orders [0]: offset reset (at offset INVALID (leader epoch -1), broker -1) "
    "to offset BEGINNING (leader epoch -1): no previously committed offset available: Local: No "
    "offset stored"
)
LOOKED_UP = (
    f"{RD} OFFSET {MAIN} Offset END request for orders [0] returned offset 150 (150) leader epoch 2"
)
LOGICAL = (
    f"{RD} OFFSET {MAIN} orders [0]: offset reset (at offset BEGINNING (leader epoch -1), broker "
    "-1) to offset BEGINNING (leader epoch -1): update: Success"
)

JAVA = f"2026-11-21 06:00:00.500 INFO SubscriptionState {WHERE}"
LEADER = "currentLeader=LeaderAndEpoch{leader=Optional[10.0.0.1:9092 (id: 2 rack: null)], epoch=2}"
OLD = f"FetchPosition{{offset=200, offsetEpoch=Optional[0], {LEADER}}}"
BARE = f"FetchPosition{{offset=200, offsetEpoch=Optional.empty, {LEADER}}}"
NEW = f"FetchPosition{{offset=100, offsetEpoch=Optional[0], {LEADER}}}"
JAVA_TRUNCATED = (
    f"{JAVA} Truncation detected for partition orders-0 at offset {OLD}, "
    f"resetting offset to the first offset known to diverge {NEW}"
)
JAVA_TRUNCATED_WITHOUT_POLICY = (
    f"{JAVA} Truncation detected for partition orders-0 at offset {OLD} (the end offset from "
    "the broker is OffsetAndMetadata{offset=100}), but no reset policy is set"
)
JAVA_OUT_OF_RANGE = (
    f"{JAVA} Fetch position {BARE} is out of range for partition orders-0, resetting offset"
)
START = f"FetchPosition{{offset=0, offsetEpoch=Optional.empty, {LEADER}}}"
JAVA_RESETTING = f"{JAVA} Resetting offset for partition orders-0 to position {START}."


JAVA_NO_COMMIT = f"{JAVA} Found no committed offset for partition orders-0"

PY = f"2026-11-21 07:55:22.028 INFO kafka.consumer.fetcher {WHERE}"
TP = "TopicPartition(topic='orders', partition=0)"
DIVERGENT = "OffsetAndMetadata(offset=100, metadata='', leader_epoch=0)"
UPDATING = f"{PY} Updating fetch position for assigned partition {TP} to 200 (leader epoch 0)"
PY_TRUNCATED = (
    f"{PY} Truncation detected for {TP} at position 200; seeking to first diverging offset "
    f"{DIVERGENT}"
)
PY_TRUNCATED_WITHOUT_POLICY = (
    f"{PY} Truncation detected for {TP} at position 200 (first diverging offset is {DIVERGENT}), "
    "but no reset policy is set"
)
PY_OUT_OF_RANGE = f"{PY} Fetch offset 200 is out of range for topic-partition {TP}"
PY_NO_COMMIT = f"{PY} Group g has no committed offset for partition {TP}"
PY_RESETTING = f"{PY} Resetting offset for partition {TP} to offset 150."


@pytest.mark.parametrize(
    ("client", "lines", "expected"),
    [
        ("java", [JAVA_TRUNCATED], ("truncation", 200, 0, 100, 0)),
        ("java", [JAVA_TRUNCATED_WITHOUT_POLICY], ("truncation", 200, 0, None, -1)),
        ("java", [JAVA_OUT_OF_RANGE, JAVA_RESETTING], ("out_of_range", 200, -1, 0, -1)),
        ("java", [JAVA_NO_COMMIT, JAVA_RESETTING], ("no_commit", None, -1, 0, -1)),
        ("librdkafka", [QUERYING, *SEEKING], ("truncation", 200, 0, 100, 0)),
        ("librdkafka", [TRUNCATED_WITHOUT_POLICY], ("truncation", 200, 0, None, -1)),
        ("librdkafka", [OUT_OF_RANGE, LOOKED_UP], ("out_of_range", 200, 0, 150, 2)),
        ("librdkafka", [OUT_OF_RANGE_WITHOUT_POLICY], ("out_of_range", 200, -1, None, -1)),
        ("librdkafka", [OUT_OF_RANGE_CACHED], ("out_of_range", 200, 2, 0, -1)),
        ("librdkafka", [NO_COMMIT, LOOKED_UP], ("no_commit", None, -1, 150, 2)),
        ("kafka-python", [UPDATING, PY_TRUNCATED], ("truncation", 200, 0, 100, 0)),
        ("kafka-python", [PY_TRUNCATED_WITHOUT_POLICY], ("truncation", 200, -1, None, -1)),
        ("kafka-python", [PY_OUT_OF_RANGE, PY_RESETTING], ("out_of_range", 200, -1, 150, -1)),
        (
            "kafka-python",
            [PY_NO_COMMIT, PY_NO_COMMIT, PY_RESETTING],
            ("no_commit", None, -1, 150, -1),
        ),
    ],
)
def test_resets_are_read_from_each_clients_log(
    client: str, lines: list[str], expected: tuple[object]
) -> None:
    (row,) = resets(lines, worker="w", policies={"g": "latest"}, client=client)
    columns = ("cause", "from_offset", "from_epoch", "to_offset", "to_epoch")
    assert tuple(row[column] for column in columns) == expected
    assert (row["group"], row["member"], row["policy"]) == ("g", "g#2", "latest")
    assert (row["topic"], row["partition"]) == ("orders", 0)
    assert client != "java" or row["at_micros"] % 1_000_000 == 500_000


@pytest.mark.parametrize(
    ("client", "lines"),
    [
        ("librdkafka", ["", LOGICAL, LOOKED_UP, QUERYING, SEEKING[0]]),
        ("kafka-python", ["garbage", UPDATING, PY_RESETTING]),
        ("admin", [PY_OUT_OF_RANGE]),
        (None, [OUT_OF_RANGE]),
    ],
)
def test_what_tells_of_no_reset_is_none(client: str | None, lines: list[str]) -> None:
    assert resets(lines, worker="w", policies={}, client=client) == []


OMITTED = (
    f"{RD} OFFSET {MAIN} Topic orders [0]: stored offset 100 (leader epoch 0), "
    "committed offset 50 (leader epoch 1): not including in commit"
)


def test_what_librdkafka_leaves_out_of_a_commit_is_read_from_its_log() -> None:
    without = OMITTED.replace("offset 100 (leader epoch 0)", "offset INVALID (leader epoch -1)")
    (row,) = omitted_commits(["", QUERYING, without, OMITTED, f"{OMITTED}ted"], worker="w")
    columns = ("offset", "epoch", "committed_offset", "committed_epoch")
    assert tuple(row[column] for column in columns) == (100, 0, 50, 1)
    assert (row["group"], row["member"], row["topic"], row["partition"]) == (
        "g",
        "g#2",
        "orders",
        0,
    )
    assert row["log_line"] == OMITTED


def joins(seconds: Iterable[float], text: str) -> list[str]:
    of = "INFO M [Consumer instanceId=i-2, clientId=g#2, groupId=g]"
    return [f"2026-11-29 01:28:{second:06.3f} {of} {text}" for second in seconds]


@pytest.mark.parametrize(
    "text",
    [
        "Member AmJguKEBROqckBwUZSt1dw with epoch 0 transitioned from FENCED to JOINING.",
        "(Re-)joining group",
    ],
)
def test_a_member_that_joins_again_and_again_is_counted(text: str) -> None:
    often = [at / 100 for at in range(1000, 1100)]
    lines = joins([1, 1.5, *often, 30], text) + joins([31], "transitioned from FENCED to JOINING")
    (row,) = join_loops(lines, worker="w")
    assert (row["member"], row["times"]) == ("g#2", 100)
    assert row["ended_micros"] - row["began_micros"] == 990_000


TIMED = b"2026-11-25 15:54:50.297 INFO AbstractConfig ProducerConfig values:\n"
UNTIL = 1_795_622_090_297_000


@pytest.mark.parametrize(
    ("content", "lines", "torn", "until"),
    [
        (None, 0, "whole", None),
        (b"", 0, "whole", None),
        (TIMED, 1, "whole", UNTIL),
        (TIMED + b"\tacks = -1\n", 2, "whole", UNTIL),
        (TIMED + b"2026-11-25 15:5", 1, "torn", UNTIL),
        (TIMED + b"2026-99-25 15:54:50.297 INFO\n", 2, "whole", UNTIL),
        (b"no time\n", 1, "whole", None),
    ],
)
def test_how_a_log_ends(content: bytes | None, lines: int, torn: str, until: int | None) -> None:
    assert end_of(content) == {
        "log_lines": lines,
        "is_log_torn": torn == "torn",
        "log_until_micros": until,
    }


# What is said of a server that ended, where only the first line of a message is kept.


@pytest.mark.parametrize(
    ("tail", "reported"),
    [
        ("", "its log is empty"),
        ("\n \n", "its log is empty"),
        ("one", "its log ends with: one"),
        ("one\ntwo\n\n", "its log ends with: two\none"),
    ],
)
def test_the_last_line_stands_first(tail: str, reported: str) -> None:
    assert log_end(tail) == reported

"""Truncations from servers' logs: lines of real brokers, their folder shortened."""

from harness.decode.server_logs import rows_of, server_of

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
    (one,) = rows_of("truncations", LINES, broker=1)
    assert (one["broker"], one["topic"], one["partition"]) == (1, "orders", 0)
    assert one["to_offset"] == 2010
    assert one["at_micros"] == 1_795_249_710_347_000
    assert one["log_line"] == TRUNCATED


def test_kafka_3_9_writes_the_same_line() -> None:
    (one,) = rows_of("truncations", [OLDER], broker=2)
    assert (one["topic"], one["partition"], one["to_offset"]) == ("back-log", 10, 100)


def test_whose_log_it_is() -> None:
    assert server_of("2", []) == 2
    assert server_of("node-7", LINES) == 1
    assert server_of("node-7", [OLDER]) is None

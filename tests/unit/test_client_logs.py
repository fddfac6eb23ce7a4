"""Resets from the logs of librdkafka 2.16.0 and kafka-python 3.0.12: lines of real runs.

Java's are in test_decode.
"""

import pytest

from harness.decode.client_logs import resets
from harness.decode.client_logs.lines import end_of

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

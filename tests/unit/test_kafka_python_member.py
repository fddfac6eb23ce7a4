"""The kafka-python member: how long it polls, and which of several its log is about."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition

from harness.clients import kafka_python_consumer
from harness.clients.history import HistoryWriter
from harness.clients.kafka_python_consumer import KafkaPythonMember, SpeakerLog
from harness.clients.member import POLL_MS, Member

ORDERS = TopicPartition("orders", 0)
JOIN_MS = 1000
"""Longer than a poll of a member that reads, shorter than one of a member that joins."""

polls: list[int] = []


class JoiningConsumer:
    """Joins if a poll is long enough, as kafka-python 3.0.12 does after a change of metadata."""

    def __init__(self, **settings: Any) -> None:
        self._assigned: set[TopicPartition] = set()
        assert settings["group_id"] == "g"
        self.config = settings

    def subscribe(self, topics: list[str], listener: Any) -> None:
        assert topics == ["orders"]
        assert listener is not None

    def assignment(self) -> set[TopicPartition]:
        return self._assigned

    def position(self, partition: TopicPartition, timeout_ms: int) -> int:
        assert (partition, timeout_ms) == (ORDERS, POLL_MS)
        return 0

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        polls.append(timeout_ms)
        if self._assigned:
            return {ORDERS: [SimpleNamespace(offset=0, leader_epoch=0, value=b"v")]}
        if timeout_ms >= JOIN_MS:
            self._assigned = {ORDERS}
        return {}


def test_a_member_without_partitions_polls_until_a_join_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_python_consumer, "KafkaConsumer", JoiningConsumer)
    polls.clear()
    planned = Member(group="g", member="g#1", topic="orders", reset="earliest")
    history = HistoryWriter(tmp_path / "history")
    member = KafkaPythonMember(planned, "b:9092", history, speaker=SpeakerLog())
    assert member.take(1, timeout_seconds=5) == 1
    history.close()
    join_ms, read_ms = polls
    assert (join_ms >= JOIN_MS, read_ms) == (True, POLL_MS)


@pytest.mark.parametrize(
    ("thread", "member"), [("MainThread", "g#1"), ("kafka-io-h#1", "h#1"), ("kafka-io-x", None)]
)
def test_kafka_pythons_loggers_tell_whose_thread_spoke(thread: str, member: str | None) -> None:
    speaker = SpeakerLog()
    for group in ("g", "h"):
        speaker.introduce(Member(group=group, member=f"{group}#1", topic="t", reset="none"))
    speaker.calls(Member(group="g", member="g#1", topic="t", reset="none"))
    record = logging.LogRecord("kafka.consumer", logging.DEBUG, "", 0, "said", None, None)
    record.threadName = thread
    assert speaker.filter(record)
    assert getattr(record, "member", None) == member

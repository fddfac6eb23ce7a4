"""The librdkafka member, on the mock cluster that librdkafka has in itself."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from msgspec.structs import replace

from contract.events import NO_EPOCH
from contract.terms import CommitEpoch
from harness.clients.history import HistoryWriter
from harness.clients.librdkafka_consumer import LibrdkafkaMember
from harness.clients.member import LogEnd, Member, MemberCommit, OffsetAndEpoch
from harness.decode.histories import read_histories

WRITTEN, PARTITIONS = 100, 4
ENDS = [
    LogEnd(topic="orders", partition=partition, offset=0 if partition else WRITTEN)
    for partition in range(PARTITIONS)
]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """The address of a broker whose topic has records in its first partition."""
    producer = Producer(
        {
            "bootstrap.servers": "none",
            "test.mock.num.brokers": 1,
            "topic.metadata.refresh.interval.ms": -1,
        }
    )
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    for number in range(WRITTEN):
        producer.produce("orders", value=f"writer:0:{number}", partition=0)
    assert producer.flush(10) == 0
    yield f"{broker.host}:{broker.port}"
    producer.purge()


def member(folder: Path, bootstrap: str, group: str, **plan: object) -> LibrdkafkaMember:
    planned = Member(
        group=group, member=f"{group}#1", topic="orders", reset="earliest", client="librdkafka"
    )
    return LibrdkafkaMember(
        replace(planned, **plan),
        bootstrap,
        HistoryWriter(folder / "w.jsonl"),
        log=logging.FileHandler(folder / "client.log"),
    )


@pytest.mark.parametrize(
    ("manner", "style"),
    [("sync", "record"), ("sync", "application"), ("message", "application"), ("stored", "record")],
)
def test_each_call_commits_what_was_read(
    tmp_path: Path, bootstrap: str, manner: str, style: str
) -> None:
    opened = member(tmp_path, bootstrap, f"{manner}-{style}", manner=manner, is_subscribed=False)
    opened.assign([0], offset=WRITTEN - 10)
    assert opened.take(10, timeout_seconds=20) == 10
    order = MemberCommit(member=opened.member.member, commit_epoch=CommitEpoch(style))
    assert opened.commit(order) == "ok"
    found = opened.committed([0, 1], timeout_seconds=10)
    assert [(commit.offset, commit.error) for commit in found] == [(WRITTEN, None), (None, None)]
    opened.close()
    (row,) = read_histories(tmp_path).of("commits")
    assert (row["offset"], row["manner"], row["outcome"]) == (WRITTEN, manner, "ok")
    assert {row["is_stable"] for row in read_histories(tmp_path).of("offset_reads")} == {False}


def test_a_position_that_was_set_is_read_from(tmp_path: Path, bootstrap: str) -> None:
    opened = member(tmp_path, bootstrap, "sought", isolation="read_committed")
    assert opened.consume(ENDS, timeout_seconds=20) == "caught_up"
    opened.pause([0])
    opened.resume([0])
    opened.seek([0], OffsetAndEpoch(WRITTEN - 5, NO_EPOCH))
    assert opened.consume(ENDS, timeout_seconds=20) == "caught_up"
    opened.close()
    rows = read_histories(tmp_path)
    assert [row["offset"] for row in rows.of("polls")][WRITTEN:] == list(range(95, WRITTEN))
    changes = [row["change"] for row in rows.of("group_events") if row["partition"] == 0]
    assert changes == ["assigned", "caught_up", "paused", "resumed", "sought", "caught_up"]


def test_a_manual_assignment_ends(tmp_path: Path, bootstrap: str) -> None:
    opened = member(tmp_path, bootstrap, "by-hand", is_subscribed=False)
    opened.assign([0])
    assert opened.take(WRITTEN, timeout_seconds=20) == WRITTEN
    opened.unsubscribe()
    assert opened.take(1, timeout_seconds=0.2) == 0
    opened.close()
    changes = [row["change"] for row in read_histories(tmp_path).of("group_events")]
    assert changes == ["opened", "assigned", "revoked", "closed"]


@pytest.mark.parametrize("assigned", [[], [1], [0, 1, 2, 3]])
def test_a_rebalance_assigns_what_the_client_names(
    tmp_path: Path, bootstrap: str, assigned: list[int]
) -> None:
    """A cooperative one names what the member did not have (KIP-429), an eager one all."""
    opened = member(tmp_path, bootstrap, f"rebalanced-{len(assigned)}")
    assert opened.consume(ENDS, timeout_seconds=20) == "caught_up"
    opened._on_assign(  # noqa: SLF001
        opened._consumer,  # noqa: SLF001
        [TopicPartition("orders", partition) for partition in assigned],
    )
    opened.take(1, timeout_seconds=0.2)
    opened.close()
    rows = read_histories(tmp_path).of("group_events")
    seen = [row["partition"] for row in rows if row["change"] == "assigned"]
    assert seen == [*range(PARTITIONS), *assigned]


def test_a_commit_that_nobody_awaits_is_recorded_when_its_response_comes(
    tmp_path: Path, bootstrap: str
) -> None:
    opened = member(tmp_path, bootstrap, "unawaited", manner="unawaited")
    assert opened.take(WRITTEN, timeout_seconds=30) == WRITTEN
    opened._commit_unawaited(7)  # noqa: SLF001
    opened.close()
    (committed,) = [
        row
        for row in read_histories(tmp_path).of("commits")
        if (row["partition"], row["offset"]) == (0, WRITTEN)
    ]
    assert (committed["manner"], committed["outcome"]) == ("unawaited", "ok")
    assert committed["began_micros"] == 7
    assert opened.commits

"""Dynamic quorums, requests to controllers and what their responses say, samples of leaders."""

from pathlib import Path
from typing import Any

import pytest

from cluster.kafka.config import directory_id, format_options, server_properties
from cluster.kafka.topology import Topology
from contract.events import QuorumSampled
from contract.quorum_rules import METADATA_LOG, METADATA_LOG_ID
from harness.clients.history import HistoryWriter
from harness.decode.histories import read_histories
from harness.story.quorum import Turns, turns_in
from harness.wire.answers import answers
from harness.wire.quorum_requests import NOBODY, end_quorum_epoch, fetch_metadata, vote

ADDRESSES = {1: "10.0.0.1", 101: "10.0.0.2", 102: "10.0.0.3", 103: "10.0.0.4"}
STATIC = Topology(brokers=1, controllers=3)
DYNAMIC = Topology(brokers=1, controllers=3, spares=1)


def test_a_spare_controller_does_not_vote_at_first() -> None:
    assert (STATIC.voter_ids, DYNAMIC.voter_ids) == ([101, 102, 103], [101, 102])
    assert DYNAMIC.controller_ids == STATIC.controller_ids


@pytest.mark.parametrize("server", ADDRESSES)
def test_servers_find_a_static_quorum_by_its_voters_and_a_dynamic_one_by_addresses(
    server: int,
) -> None:
    def said(topology: Topology) -> str:
        return server_properties(
            topology, server_id=server, addresses=ADDRESSES, data=Path("/data")
        )

    voters = "101@10.0.0.2:9093,102@10.0.0.3:9093,103@10.0.0.4:9093"
    assert f"controller.quorum.voters={voters}\n" in said(STATIC)
    assert "bootstrap" not in said(STATIC)
    addresses = "10.0.0.2:9093,10.0.0.3:9093,10.0.0.4:9093"
    assert f"controller.quorum.bootstrap.servers={addresses}\n" in said(DYNAMIC)
    assert "controller.quorum.voters" not in said(DYNAMIC)


def test_the_voters_of_a_dynamic_quorum_are_formatted_with_each_other() -> None:
    options = {
        server: format_options(DYNAMIC, server_id=server, addresses=ADDRESSES)
        for server in ADDRESSES
    }
    voters = [f"{i}@{ADDRESSES[i]}:9093:{directory_id(i)}" for i in (101, 102)]
    assert options[101] == options[102] == ["--initial-controllers", ",".join(voters)]
    assert options[103] == ["--no-initial-controllers"]
    assert options[1] == format_options(STATIC, server_id=101, addresses=ADDRESSES) == []


def test_a_directory_id_is_one_that_kafka_can_parse() -> None:
    ids = {directory_id(voter) for voter in range(101, 106)}
    assert len(ids) == 5
    assert {len(one) for one in ids} == {22}
    assert not any(one.startswith("-") for one in ids)


@pytest.mark.parametrize("names", ["candidateEpoch", "replicaEpoch"])
def test_a_vote_is_read_by_both_names_of_its_fields(names: str) -> None:
    """KIP-996 gave the fields of the request other names."""
    asked = {"partitionIndex": 0, names: 4, "lastOffsetEpoch": 0, "lastOffset": 0}
    said = {"partitionIndex": 0, "errorCode": 74, "leaderId": 102, "leaderEpoch": 5}

    def of(partition: dict[str, Any]) -> dict[str, Any]:
        return {"topics": [{"topicName": METADATA_LOG, "partitions": [partition]}]}

    (found,) = answers("VOTE", 1, of(asked), of(said), topic_names={})
    assert (found.topic, found.current_leader_epoch, found.asked_offset) == (METADATA_LOG, 4, 0)
    assert (found.error_code, found.leader, found.epoch) == (74, 102, 5)


def test_the_leader_of_a_fetch_is_read() -> None:
    partition = {"partitionIndex": 0, "errorCode": 6, "recordsSizeInBytes": 0}
    partition |= {"currentLeader": {"leaderId": 102, "leaderEpoch": 5}}  # type: ignore[dict-item]
    response = {"responses": [{"topicId": METADATA_LOG_ID, "partitions": [partition]}]}
    (found,) = answers(
        "FETCH", 17, {"topics": []}, response, topic_names={METADATA_LOG_ID: METADATA_LOG}
    )
    assert (found.topic, found.leader, found.epoch) == (METADATA_LOG, 102, 5)


@pytest.mark.parametrize("version", [13, 14, 15, 18])
def test_a_fetch_says_which_replica_it_is_from(version: int) -> None:
    made = fetch_metadata(
        version=version, current_leader_epoch=2, last_fetched_epoch=1, offset=7, replica=NOBODY
    )
    nested = {"replicaId": NOBODY, "replicaEpoch": -1}
    expected = (None, nested) if version >= 15 else (NOBODY, None)
    assert (made.fields.get("replicaId"), made.fields.get("replicaState")) == expected


def test_requests_of_the_quorum_name_the_metadata_log() -> None:
    for made in (
        vote(version=0, epoch=1, candidate=101),
        end_quorum_epoch(version=0, epoch=1, leader=101),
    ):
        (topic,) = made.fields["topics"]
        assert topic["topicName"] == METADATA_LOG


def test_a_sample_of_a_leader_becomes_a_row(tmp_path: Path) -> None:
    sampled: dict[str, Any] = {
        "server": 101,
        "leader": 101,
        "leader_epoch": 2,
        "high_watermark": -1,
        "voters": [101, 102],
        "log_ends": [7, -1],
        "observers": [1],
        "asked_micros": 5,
    }
    history = HistoryWriter(tmp_path / "observer.jsonl")
    history.write(QuorumSampled, **sampled)
    history.close()
    (row,) = read_histories(tmp_path).of("quorum_samples")
    assert {name: row[name] for name in sampled} == sampled
    with pytest.raises(ValueError, match="differ in length"):
        QuorumSampled(seq=0, wall_micros=0, mono_micros=0, **(sampled | {"log_ends": [7]}))


@pytest.mark.parametrize(
    ("led", "turns"),
    [
        ({}, None),
        ({2: 101, 3: 102}, None),
        ({2: 101, 3: 101, 5: 101}, None),
        ({2: 101, 3: 102, 4: 102}, None),
        ({2: 101, 3: 102, 7: 101}, Turns(twice=101, between=102, epoch=7)),
        ({7: 101, 3: 102, 2: 101}, Turns(twice=101, between=102, epoch=7)),
        ({2: 102, 3: 101, 4: 101, 6: 102, 8: 101}, Turns(twice=102, between=101, epoch=6)),
    ],
)
def test_two_voters_lead_in_turn(led: dict[int, int], turns: Turns | None) -> None:
    assert turns_in(led) == turns

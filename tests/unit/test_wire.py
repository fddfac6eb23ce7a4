"""Requests as fields of Kafka's schemas, what is read of responses, and dynamic quorums."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cluster.kafka.config import directory_id, format_options, server_properties
from cluster.kafka.topology import Topology
from contract.events import Event, GroupSampled, QuorumSampled
from contract.protocol import METADATA_LOG, METADATA_LOG_ID
from contract.waiting import wait_until
from harness.clients.history import HistoryWriter
from harness.clients.observer_worker import Asking, WireResult
from harness.decode.histories import read_histories
from harness.story.features import HowFar
from harness.story.quorum import Turns, turns_in
from harness.wire.answers import answers
from harness.wire.requests import (
    fetch,
    list_offsets,
    metadata,
    of_replica,
    offset_for_leader_epoch,
    update_features,
)

# Requests as fields of Kafka's schemas, and what is read of them and of their responses.


ID = "a-topic-id"
NAMES = {ID: "t"}


def read(api: str, version: int, request: Any, response: dict[str, Any] | None) -> dict[str, Any]:
    (answer,) = answers(api, version, request, response, topic_names=NAMES)
    found: dict[str, Any] = msgspec.to_builtins(answer)
    return {name: value for name, value in found.items() if value is not None}


def fetch_response(**fields: Any) -> dict[str, Any]:
    partition = {"partitionIndex": 0, "errorCode": 0, "recordsSizeInBytes": 7, **fields}
    return {"errorCode": 0, "responses": [{"topicId": ID, "partitions": [partition]}]}


def of_topic(**partition: Any) -> dict[str, Any]:
    return {"topics": [{"name": "t", "topic": "t", "errorCode": 0, "partitions": [partition]}]}


WHERE = {"topic": "t", "partition": 0}
ASKED = {**WHERE, "current_leader_epoch": 3, "asked_epoch": 1, "asked_offset": 5}
AT = {"partition": 0, "currentLeaderEpoch": 3, "lastFetchedEpoch": 1, "fetchOffset": 5}
FETCH = {"topics": [{"topicId": ID, "partitions": [AT]}]}
OLD_FETCH = of_topic(partition=0, fetchOffset=5)
NONE = {"diverging_epoch": -1, "diverging_offset": -1}
END_ASKED = {**WHERE, "asked_replica": -1, "current_leader_epoch": -1, "asked_epoch": 2}


@pytest.mark.parametrize(
    ("api", "version", "asked", "response", "found"),
    [
        ("FETCH", 13, FETCH, fetch_response(), ASKED | NONE | {"error_code": 0, "record_bytes": 7}),
        (
            "FETCH",
            13,
            FETCH,
            fetch_response(divergingEpoch={"epoch": 1, "endOffset": 4}),
            ASKED
            | {"error_code": 0, "record_bytes": 7}
            | {"diverging_epoch": 1, "diverging_offset": 4},
        ),
        # An error of the whole response is that of each partition.
        ("FETCH", 13, FETCH, {"errorCode": 70, "responses": []}, ASKED | NONE | {"error_code": 70}),
        ("FETCH", 13, FETCH, {"errorCode": 0, "responses": []}, ASKED),
        ("FETCH", 13, FETCH, None, ASKED),
        # A version without a field has no value of it.
        (
            "FETCH",
            8,
            OLD_FETCH,
            {"responses": of_topic(partitionIndex=0, errorCode=6)["topics"]},
            {**WHERE, "asked_offset": 5, "error_code": 6},
        ),
        (
            "LIST_OFFSETS",
            9,
            list_offsets(topic="t", version=9, timestamp=-2, current_leader_epoch=3).fields,
            of_topic(partitionIndex=0, errorCode=0, leaderEpoch=1, offset=60, timestamp=-1),
            {**WHERE, "asked_replica": -1, "asked_timestamp": -2, "current_leader_epoch": 3}
            | {"error_code": 0, "epoch": 1, "offset": 60},
        ),
        (
            "OFFSET_FOR_LEADER_EPOCH",
            4,
            offset_for_leader_epoch(topic="t", version=4, epoch=2).fields,
            of_topic(partition=0, errorCode=0, leaderEpoch=1, endOffset=100),
            END_ASKED | {"error_code": 0, "epoch": 1, "offset": 100},
        ),
        # A partition that the response lacks has no error code.
        (
            "OFFSET_FOR_LEADER_EPOCH",
            4,
            offset_for_leader_epoch(topic="t", version=4, epoch=2).fields,
            {"topics": []},
            END_ASKED,
        ),
        (
            "METADATA",
            12,
            metadata(topic="t", version=12).fields,
            of_topic(partitionIndex=0, errorCode=0, leaderId=2, leaderEpoch=3),
            {**WHERE, "leader": 2, "epoch": 3, "error_code": 0},
        ),
    ],
)
def test_what_is_read_of_requests_and_their_responses(
    api: str, version: int, asked: Any, response: dict[str, Any] | None, found: dict[str, Any]
) -> None:
    assert read(api, version, asked, response) == found


def test_an_api_that_is_not_known_here_has_no_partitions() -> None:
    assert answers("API_VERSIONS", 3, {}, {"apiKeys": []}, topic_names={}) == []


@pytest.mark.parametrize(
    ("version", "sent"),
    [(14, {"replicaId": 2}), (15, {"replicaState": {"replicaId": 2, "replicaEpoch": -1}})],
)
def test_a_fetch_of_a_replica_says_which_one(version: int, sent: dict[str, Any]) -> None:
    asked = of_replica(fetch, 2)(topic="t", version=version, current_leader_epoch=3)
    named = {name: asked.fields[name] for name in asked.fields if name.startswith("replica")}
    assert named == sent
    assert read("FETCH", version, asked.fields, None)["asked_replica"] == 2


@pytest.mark.parametrize(("version", "sender"), [(14, {"replicaId": -1}), (15, {})])
def test_a_fetch_of_a_consumer_has_no_replica(version: int, sender: dict[str, Any]) -> None:
    """From version 15 on the replica is a tagged field, which is not sent by consumers."""
    assert read("FETCH", version, {**FETCH, **sender}, None)["asked_replica"] == -1


def test_an_end_offset_is_asked_for_by_a_replica() -> None:
    asked = of_replica(offset_for_leader_epoch, 2)(topic="t", version=3, epoch=1)
    assert read("OFFSET_FOR_LEADER_EPOCH", 3, asked.fields, None)["asked_replica"] == 2


# Dynamic quorums, requests to controllers and what their responses say, samples of leaders.


ADDRESSES = {1: "10.0.0.1", 101: "10.0.0.2", 102: "10.0.0.3", 103: "10.0.0.4"}
STATIC = Topology(brokers=1, controllers=3)
DYNAMIC = Topology(brokers=1, controllers=3, spares=1)


@pytest.mark.parametrize("server", ADDRESSES)
def test_servers_find_a_static_quorum_by_its_voters_and_a_dynamic_one_by_addresses(
    server: int,
) -> None:
    def properties_of(topology: Topology) -> str:
        return server_properties(
            topology, server_id=server, addresses=ADDRESSES, data=Path("/data")
        )

    voters = "101@10.0.0.2:9093,102@10.0.0.3:9093,103@10.0.0.4:9093"
    assert f"controller.quorum.voters={voters}\n" in properties_of(STATIC)
    assert "bootstrap" not in properties_of(STATIC)
    addresses = "10.0.0.2:9093,10.0.0.3:9093,10.0.0.4:9093"
    assert f"controller.quorum.bootstrap.servers={addresses}\n" in properties_of(DYNAMIC)
    assert "controller.quorum.voters" not in properties_of(DYNAMIC)


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
    assert {len(text) for text in ids} == {22}
    assert not any(text.startswith("-") for text in ids)


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


def row_of(tmp_path: Path, table: str, kind: type[Event], sampled: dict[str, Any]) -> Any:
    """The row that the event of an observer becomes, in the columns that are given."""
    history = HistoryWriter(tmp_path / "observer.jsonl")
    history.write(kind, **sampled)
    history.close()
    (row,) = read_histories(tmp_path).of(table)
    return {name: row[name] for name in sampled}


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
    assert row_of(tmp_path, "quorum_samples", QuorumSampled, sampled) == sampled
    with pytest.raises(ValueError, match="differ in length"):
        QuorumSampled(seq=0, wall_micros=0, mono_micros=0, **(sampled | {"log_ends": [7]}))


def test_a_change_of_a_groups_state_becomes_a_row(tmp_path: Path) -> None:
    sampled: dict[str, Any] = {
        "broker": 1,
        "group": "g",
        "state": "PreparingRebalance",
        "asked_micros": 5,
    }
    assert row_of(tmp_path, "group_samples", GroupSampled, sampled) == sampled


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


def test_a_request_is_repeated_until_its_end() -> None:
    sent: list[WireResult] = []

    def send() -> WireResult:
        sent.append(WireResult(response={}, failure=None, began_micros=len(sent)))
        return sent[-1]

    asking = Asking(send, interval_ms=1)
    wait_until(lambda: len(sent) > 2, what="three requests", timeout_seconds=10)
    asking.end()
    assert asking.last is sent[-1]
    assert [answer.began_micros for answer in sent] == list(range(len(sent)))


@pytest.mark.parametrize(
    ("whole", "of_features", "code"),
    [(0, [], 0), (0, [0, 95], 95), (41, [], 41), (0, None, 0)],
)
def test_an_update_of_feature_levels_has_one_error(
    whole: int, of_features: list[int] | None, code: int
) -> None:
    response = {
        "errorCode": whole,
        "results": of_features and [{"errorCode": number} for number in of_features],
    }
    request = update_features({"metadata.version": 21}, how=HowFar.SAFE_DOWNGRADE)
    assert request.fields["featureUpdates"] == [
        {"feature": "metadata.version", "maxVersionLevel": 21, "upgradeType": 2}
    ]
    found = answers(request.api, 1, request.fields, response, topic_names={})
    assert [answer.error_code for answer in found] == [code]
    assert answers(request.api, 1, request.fields, None, topic_names={}) == []

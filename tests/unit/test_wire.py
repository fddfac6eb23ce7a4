"""Requests as fields of Kafka's schemas, and what is read of them and of their responses."""

from typing import Any

import msgspec
import pytest

from contract.events import WireAnswer
from harness.wire.answers import answers
from harness.wire.requests import (
    CLUSTER_ACTION,
    DESCRIBE,
    create_acl,
    fetch,
    list_offsets,
    metadata,
    of_replica,
    offset_for_leader_epoch,
)

ID = "a-topic-id"
NAMES = {ID: "t"}


def read(api: str, version: int, request: Any, response: dict[str, Any] | None) -> dict[str, Any]:
    (answer,) = answers(api, version, request, response, topic_names=NAMES)
    found: dict[str, Any] = msgspec.to_builtins(answer)
    return {name: value for name, value in found.items() if value is not None}


def fetched(**fields: Any) -> dict[str, Any]:
    partition = {"partitionIndex": 0, "errorCode": 0, "recordsSizeInBytes": 7, **fields}
    return {"errorCode": 0, "responses": [{"topicId": ID, "partitions": [partition]}]}


WHERE = {"topic": "t", "partition": 0}
ASKED = {**WHERE, "current_leader_epoch": 3, "asked_epoch": 1, "asked_offset": 5}
FETCH = {
    "topics": [
        {
            "topicId": ID,
            "partitions": [
                {
                    "partition": 0,
                    "currentLeaderEpoch": 3,
                    "lastFetchedEpoch": 1,
                    "fetchOffset": 5,
                }
            ],
        }
    ]
}


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (
            fetched(),
            {"error_code": 0, "record_bytes": 7, "diverging_epoch": -1, "diverging_offset": -1},
        ),
        (
            fetched(divergingEpoch={"epoch": 1, "endOffset": 4}),
            {"error_code": 0, "record_bytes": 7, "diverging_epoch": 1, "diverging_offset": 4},
        ),
        # An error of the whole response is that of each partition.
        ({"errorCode": 70, "responses": []}, {"error_code": 70, "diverging_epoch": -1,
                                              "diverging_offset": -1}),
        ({"errorCode": 0, "responses": []}, {}),
        (None, {}),
    ],
)  # fmt: skip
def test_a_fetch_by_topic_id(response: dict[str, Any] | None, found: dict[str, Any]) -> None:
    assert read("FETCH", 13, FETCH, response) == ASKED | found


def test_a_version_without_a_field_has_no_value_of_it() -> None:
    request = {"topics": [{"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 5}]}]}
    response = {
        "responses": [{"topic": "t", "partitions": [{"partitionIndex": 0, "errorCode": 6}]}]
    }
    assert read("FETCH", 8, request, response) == {**WHERE, "asked_offset": 5, "error_code": 6}


def test_offsets_ends_and_leaders() -> None:
    asked = list_offsets(topic="t", version=9, timestamp=-2, current_leader_epoch=3).fields
    row = {"partitionIndex": 0, "errorCode": 0, "leaderEpoch": 1, "offset": 60, "timestamp": -1}
    response = {"topics": [{"name": "t", "partitions": [row]}]}
    found = {"asked_timestamp": -2, "current_leader_epoch": 3, "epoch": 1, "offset": 60}
    consumer = {**WHERE, "asked_replica": -1}
    assert read("LIST_OFFSETS", 9, asked, response) == {**consumer, "error_code": 0, **found}
    asked = offset_for_leader_epoch(topic="t", version=4, epoch=2).fields
    row = {"partition": 0, "errorCode": 0, "leaderEpoch": 1, "endOffset": 100}
    response = {"topics": [{"topic": "t", "partitions": [row]}]}
    found = {"asked_epoch": 2, "current_leader_epoch": -1, "epoch": 1, "offset": 100}
    assert read("OFFSET_FOR_LEADER_EPOCH", 4, asked, response) == {
        **consumer,
        "error_code": 0,
        **found,
    }
    row = {"partitionIndex": 0, "errorCode": 0, "leaderId": 2, "leaderEpoch": 3}
    response = {"topics": [{"name": "t", "errorCode": 0, "partitions": [row]}]}
    asked = metadata(topic="t", version=12).fields
    found = {"leader": 2, "epoch": 3, "error_code": 0}
    assert read("METADATA", 12, asked, response) == {**WHERE, **found}


def test_an_api_that_is_not_known_here_has_no_partitions() -> None:
    assert answers("API_VERSIONS", 3, {}, {"apiKeys": []}, topic_names={}) == []


def test_a_partition_that_the_response_lacks_has_no_error_code() -> None:
    asked = offset_for_leader_epoch(topic="t", version=4, epoch=2).fields
    (answer,) = answers("OFFSET_FOR_LEADER_EPOCH", 4, asked, {"topics": []}, topic_names={})
    assert answer == WireAnswer(
        topic="t",
        partition=0,
        asked_replica=-1,
        current_leader_epoch=-1,
        asked_epoch=2,
        error_code=None,
    )


def test_a_request_is_given_every_field_whatever_the_version() -> None:
    old, new = (fetch(topic="t", topic_id=ID, version=version) for version in (4, 18))
    assert old.fields == new.fields
    assert (old.api, old.version) == ("FETCH", 4)


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


def test_an_entry_allows_an_operation_on_a_topic_or_on_the_cluster() -> None:
    (topic,) = create_acl(principal="p", operation=DESCRIBE, topic="t").fields["creations"]
    (cluster,) = create_acl(principal="p", operation=CLUSTER_ACTION).fields["creations"]
    assert (topic["resourceName"], topic["principal"]) == ("t", "User:p")
    assert cluster["resourceName"] == "kafka-cluster"
    assert topic["resourceType"] != cluster["resourceType"]

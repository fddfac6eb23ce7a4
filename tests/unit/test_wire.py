"""Requests as fields of Kafka's schemas, and what is read of them and of their responses."""

from typing import Any

import msgspec
import pytest

from contract.events import WireAnswer
from harness.wire.answers import answers
from harness.wire.requests import fetch, list_offsets, metadata, offset_for_leader_epoch

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
    assert read("LIST_OFFSETS", 9, asked, response) == {**WHERE, "error_code": 0, **found}
    asked = offset_for_leader_epoch(topic="t", version=4, epoch=2).fields
    row = {"partition": 0, "errorCode": 0, "leaderEpoch": 1, "endOffset": 100}
    response = {"topics": [{"topic": "t", "partitions": [row]}]}
    found = {"asked_epoch": 2, "current_leader_epoch": -1, "epoch": 1, "offset": 100}
    assert read("OFFSET_FOR_LEADER_EPOCH", 4, asked, response) == {
        **WHERE,
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
        topic="t", partition=0, current_leader_epoch=-1, asked_epoch=2, error_code=None
    )


def test_a_request_is_given_every_field_whatever_the_version() -> None:
    old, new = (fetch(topic="t", topic_id=ID, version=version) for version in (4, 18))
    assert old.fields == new.fields
    assert (old.api, old.version) == ("FETCH", 4)

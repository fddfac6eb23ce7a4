"""What a request asks about each partition, and what the response says of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract.events import WireAnswer
from harness.wire.commit_answers import commit_answers
from harness.wire.requests import CONSUMER, FIRST_WITH_REPLICA_STATE

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class _Side:
    """Where a request or a response has its partitions, in the names of Kafka's schema.

    Attributes:
        topics: the list of topics.
        topic: the name of a topic.
        partition: the number of a partition, in the topic's list `partitions`.
        columns: fields of a partition, by the field of `WireAnswer`; a nested one as `a.b`, and one
            that has another name in other releases as `a|b`.
    """

    topics: str
    topic: str
    partition: str
    columns: Mapping[str, str]


_SIDES: dict[str, tuple[_Side | None, _Side]] = {
    "FETCH": (
        _Side(
            "topics",
            "topic",
            "partition",
            {
                "current_leader_epoch": "currentLeaderEpoch",
                "asked_epoch": "lastFetchedEpoch",
                "asked_offset": "fetchOffset",
            },
        ),
        _Side(
            "responses",
            "topic",
            "partitionIndex",
            {
                "error_code": "errorCode",
                "diverging_epoch": "divergingEpoch.epoch",
                "diverging_offset": "divergingEpoch.endOffset",
                "record_bytes": "recordsSizeInBytes",
                "leader": "currentLeader.leaderId",
                "epoch": "currentLeader.leaderEpoch",
            },
        ),
    ),
    "LIST_OFFSETS": (
        _Side(
            "topics",
            "name",
            "partitionIndex",
            {"current_leader_epoch": "currentLeaderEpoch", "asked_timestamp": "timestamp"},
        ),
        _Side(
            "topics",
            "name",
            "partitionIndex",
            {"error_code": "errorCode", "epoch": "leaderEpoch", "offset": "offset"},
        ),
    ),
    "OFFSET_FOR_LEADER_EPOCH": (
        _Side(
            "topics",
            "topic",
            "partition",
            {"current_leader_epoch": "currentLeaderEpoch", "asked_epoch": "leaderEpoch"},
        ),
        _Side(
            "topics",
            "topic",
            "partition",
            {"error_code": "errorCode", "epoch": "leaderEpoch", "offset": "endOffset"},
        ),
    ),
    "METADATA": (
        None,
        _Side(
            "topics",
            "name",
            "partitionIndex",
            {"error_code": "errorCode", "leader": "leaderId", "epoch": "leaderEpoch"},
        ),
    ),
}
_OF_QUORUM = _Side(
    "topics",
    "topicName",
    "partitionIndex",
    {"error_code": "errorCode", "leader": "leaderId", "epoch": "leaderEpoch"},
)
_EPOCH_OF_LEADER = _Side(
    "topics", "topicName", "partitionIndex", {"current_leader_epoch": "leaderEpoch"}
)
_SIDES |= {
    "VOTE": (
        _Side(
            "topics",
            "topicName",
            "partitionIndex",
            {
                "current_leader_epoch": "candidateEpoch|replicaEpoch",
                "asked_epoch": "lastOffsetEpoch",
                "asked_offset": "lastOffset",
            },
        ),
        _OF_QUORUM,
    ),
    "BEGIN_QUORUM_EPOCH": (_EPOCH_OF_LEADER, _OF_QUORUM),
    "END_QUORUM_EPOCH": (_EPOCH_OF_LEADER, _OF_QUORUM),
}
_FIRST_DIVERGING_VERSION = 12


def answers(
    api: str,
    version: int,
    request: Fields,
    response: Fields | None,
    *,
    topic_names: Mapping[str, str],
) -> list[WireAnswer]:
    """Return one answer for each partition that the request asks about, or the response has.

    Args:
        api: the name in `ApiKeys`; there are none of an API that is not known here.
        version: of request and response.
        request: its fields.
        response: its fields; None if there is none.
        topic_names: by topic id, for versions that have ids instead of names.
    """
    if api not in _SIDES:
        return commit_answers(api, request, response, topic_names=topic_names)
    asked, answered = _SIDES[api]
    found: dict[tuple[str, int], dict[str, Any]] = {}
    if asked is not None:
        sender = _sender(api, version, request)
        for key, partition in _partitions(request, asked, topic_names):
            found[key] = {"asked_replica": sender, **_columns(partition, asked)}
    if response is not None:
        whole = response.get("errorCode") or None
        for key, partition in _partitions(response, answered, topic_names):
            found.setdefault(key, {}).update(_columns(partition, answered))
        for values in found.values():
            if whole is not None:
                values["error_code"] = whole
            if api == "FETCH" and version >= _FIRST_DIVERGING_VERSION and "error_code" in values:
                # A tagged field that has its default value is not sent.
                for name in ("diverging_epoch", "diverging_offset"):
                    values.setdefault(name, -1)
    return [
        WireAnswer(topic=topic, partition=partition, **values)
        for (topic, partition), values in found.items()
    ]


def _sender(api: str, version: int, request: Fields) -> int | None:
    """Return the replica id of a request; a tagged field that has its default is not sent."""
    is_nested = api == "FETCH" and version >= FIRST_WITH_REPLICA_STATE
    fields = request.get("replicaState", {"replicaId": CONSUMER}) if is_nested else request
    sender: int | None = fields.get("replicaId")
    return sender


def _partitions(
    fields: Fields, side: _Side, topic_names: Mapping[str, str]
) -> Iterator[tuple[tuple[str, int], Fields]]:
    for topic in fields.get(side.topics, ()):
        name = topic.get(side.topic)
        if name is None:
            name = topic_names.get(topic["topicId"], topic["topicId"])
        for partition in topic["partitions"]:
            yield (name, partition[side.partition]), partition


def _columns(partition: Fields, side: _Side) -> dict[str, Any]:
    found = {}
    for column, names in side.columns.items():
        name = next((one for one in names.split("|") if one in partition), names)
        outer, _, inner = name.partition(".")
        value = partition.get(outer)
        if value is not None and inner:
            value = value.get(inner)
        if value is not None:
            found[column] = value
    return found

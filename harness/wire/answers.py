"""What a request asks about each partition, and what the response says of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract.events import WireAnswer
from harness.wire.requests import CONSUMER, FIRST_WITH_REPLICA_STATE, UPDATE_FEATURES

Fields = Mapping[str, Any]
Columns = dict[str, Any]
_Partition = tuple[str, int]

_COMMITS = ("OFFSET_COMMIT", "TXN_OFFSET_COMMIT")
_FETCH = "OFFSET_FETCH"
_WITHOUT_PARTITIONS = ("INIT_PRODUCER_ID", "JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT", "END_TXN")
_OF_REQUEST = {
    "groupId": "group",
    "memberId": "member",
    "generationId": "generation",
    "generationIdOrMemberEpoch": "generation",
    "memberEpoch": "generation",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "requireStable": "is_stable",
}
"""Fields of a whole request, by the columns that have them."""
_COMMITTED = {
    "committedOffset": "asked_offset",
    "committedLeaderEpoch": "asked_epoch",
    "committedMetadata": "metadata",
}
_FETCHED = {
    "committedOffset": "offset",
    "committedLeaderEpoch": "epoch",
    "metadata": "metadata",
    "errorCode": "error_code",
}
_GRANTED = {
    "errorCode": "error_code",
    "memberId": "member",
    "generationId": "generation",
    "memberEpoch": "generation",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
}
"""Fields of a whole response, by the columns that have them."""


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
        name = next(
            (alternative for alternative in names.split("|") if alternative in partition), names
        )
        outer, _, inner = name.partition(".")
        value = partition.get(outer)
        if value is not None and inner:
            value = value.get(inner)
        if value is not None:
            found[column] = value
    return found


def commit_answers(
    api: str, request: Fields, response: Fields | None, *, topic_names: Mapping[str, str]
) -> list[WireAnswer]:
    """Return one answer for each partition, or one about the whole response where it has none.

    Args:
        api: the name in `ApiKeys`; there are none of an API that is not known here.
        request: its fields.
        response: its fields; None if there is none.
        topic_names: by topic id, for versions that have ids instead of names.
    """
    if api in _WITHOUT_PARTITIONS:
        granted = _rename_fields(response or {}, _GRANTED)
        return [WireAnswer(**(_rename_fields(request, _OF_REQUEST) | granted))]
    if api == UPDATE_FEATURES:
        return [] if response is None else [WireAnswer(error_code=error_of_update(response))]
    if api not in (*_COMMITS, _FETCH):
        return []
    found = (
        _columns_of_fetch(request, response)
        if api == _FETCH
        else _columns_of_commit(request, response)
    )
    answers = []
    for (topic, partition), columns in found.items():
        topic_id = topic if columns.pop("is_by_id") else None
        name = topic_names.get(topic, topic)
        answers.append(WireAnswer(topic=name, partition=partition, topic_id=topic_id, **columns))
    return answers


def error_of_update(response: Fields) -> int:
    """The error code of an UpdateFeatures: of the whole response, or of its first feature."""
    codes = [
        response["errorCode"],
        *(result["errorCode"] for result in response.get("results") or ()),
    ]
    return next((code for code in codes if code), 0)


def _columns_of_commit(request: Fields, response: Fields | None) -> dict[_Partition, Columns]:
    whole = _rename_fields(request, _OF_REQUEST)
    found = {
        key: whole | {"is_by_id": by_id} | _rename_fields(partition, _COMMITTED)
        for key, by_id, partition in _of_topics(request.get("topics"))
    }
    for key, by_id, partition in _of_topics((response or {}).get("topics")):
        columns = found.setdefault(key, {**whole, "is_by_id": by_id})
        columns["error_code"] = partition["errorCode"]
    return found


def _columns_of_fetch(request: Fields, response: Fields | None) -> dict[_Partition, Columns]:
    """Return what an OffsetFetch says of its first group; before version 8 it has one only."""
    is_stable = _rename_fields(request, {"requireStable": "is_stable"})
    asked = _first_group(request)
    whole = {"group": asked["groupId"]} | is_stable
    found: dict[_Partition, Columns] = {}
    for topic in asked.get("topics") or ():
        name, by_id = _name_or_id(topic)
        for partition in topic["partitionIndexes"]:
            found[name, partition] = {**whole, "is_by_id": by_id}
    if response is not None:
        answered = _first_group(response)
        error = answered.get("errorCode")
        for key, by_id, partition in _of_topics(answered.get("topics")):
            columns = found.setdefault(key, {**whole, "is_by_id": by_id})
            columns |= _rename_fields(partition, _FETCHED)
        for columns in found.values():
            if error:
                columns["error_code"] = error
    return found


def _first_group(fields: Fields) -> Fields:
    groups = fields.get("groups")
    first: Fields = fields if groups is None else groups[0]
    return first


def _of_topics(topics: Any) -> Iterator[tuple[_Partition, bool, Fields]]:
    for topic in topics or ():
        name, by_id = _name_or_id(topic)
        for partition in topic["partitions"]:
            yield (name, partition["partitionIndex"]), by_id, partition


def _name_or_id(topic: Fields) -> tuple[str, bool]:
    """Return a topic's name or id, and whether it is an id."""
    by_id = "topicId" in topic
    return topic["topicId" if by_id else "name"], by_id


def _rename_fields(fields: Fields, names: Mapping[str, str]) -> Columns:
    return {column: fields[name] for name, column in names.items() if fields.get(name) is not None}

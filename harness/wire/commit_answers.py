"""What requests of groups and transactions ask, and what their responses say."""

from collections.abc import Iterator, Mapping
from typing import Any

from contract.events import WireAnswer

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
        granted = _columns(response or {}, _GRANTED)
        return [WireAnswer(**(_columns(request, _OF_REQUEST) | granted))]
    if api not in (*_COMMITS, _FETCH):
        return []
    found = _fetched(request, response) if api == _FETCH else _committed(request, response)
    answers = []
    for (topic, partition), columns in found.items():
        topic_id = topic if columns.pop("is_by_id") else None
        name = topic_names.get(topic, topic)
        answers.append(WireAnswer(topic=name, partition=partition, topic_id=topic_id, **columns))
    return answers


def _committed(request: Fields, response: Fields | None) -> dict[_Partition, Columns]:
    whole = _columns(request, _OF_REQUEST)
    found = {
        key: whole | {"is_by_id": by_id} | _columns(partition, _COMMITTED)
        for key, by_id, partition in _partitions(request.get("topics"))
    }
    for key, by_id, partition in _partitions((response or {}).get("topics")):
        columns = found.setdefault(key, {**whole, "is_by_id": by_id})
        columns["error_code"] = partition["errorCode"]
    return found


def _fetched(request: Fields, response: Fields | None) -> dict[_Partition, Columns]:
    """Return what an OffsetFetch says of its first group; before version 8 it has one only."""
    is_stable = _columns(request, {"requireStable": "is_stable"})
    asked = _first_group(request)
    whole = {"group": asked["groupId"]} | is_stable
    found: dict[_Partition, Columns] = {}
    for topic in asked.get("topics") or ():
        name, by_id = _named(topic)
        for partition in topic["partitionIndexes"]:
            found[name, partition] = {**whole, "is_by_id": by_id}
    if response is not None:
        answered = _first_group(response)
        error = answered.get("errorCode")
        for key, by_id, partition in _partitions(answered.get("topics")):
            columns = found.setdefault(key, {**whole, "is_by_id": by_id})
            columns |= _columns(partition, _FETCHED)
        for columns in found.values():
            if error:
                columns["error_code"] = error
    return found


def _first_group(fields: Fields) -> Fields:
    groups = fields.get("groups")
    first: Fields = fields if groups is None else groups[0]
    return first


def _partitions(topics: Any) -> Iterator[tuple[_Partition, bool, Fields]]:
    for topic in topics or ():
        name, by_id = _named(topic)
        for partition in topic["partitions"]:
            yield (name, partition["partitionIndex"]), by_id, partition


def _named(topic: Fields) -> tuple[str, bool]:
    """Return a topic's name or id, and whether it is an id."""
    by_id = "topicId" in topic
    return topic["topicId" if by_id else "name"], by_id


def _columns(fields: Fields, names: Mapping[str, str]) -> Columns:
    return {column: fields[name] for name, column in names.items() if fields.get(name) is not None}

"""Requests of groups and transactions; they need no JVM.

Each can be sent at any version: the fields that a version does not have are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contract.events import NO_EPOCH
from harness.wire.requests import NO_ID, WireRequest

NO_GENERATION = -1
"""The generation, or member epoch, of a client that is no member."""
NO_PRODUCER = -1
_TIMEOUT_MS = 60_000
_SESSION_MS = 60_000
_SUBSCRIBES_TO_NOTHING = "AAAAAAAA/////w=="
"""A `ConsumerProtocolSubscription` without topics and user data, as base64."""


@dataclass(frozen=True, kw_only=True)
class Offset:
    """An offset to commit, or a partition to fetch one of; by name or by id, as the version has it.

    Attributes:
        topic: its name.
        topic_id: its id.
        partition: its number.
        offset: to commit.
        epoch: of the record before it.
        metadata: of the commit.
    """

    topic: str
    topic_id: str = NO_ID
    partition: int = 0
    offset: int = 0
    epoch: int = NO_EPOCH
    metadata: str = ""


def offset_commit(
    *,
    group: str,
    offsets: Sequence[Offset],
    version: int,
    member: str = "",
    generation: int = NO_GENERATION,
) -> WireRequest:
    """An OffsetCommit."""
    fields: dict[str, Any] = {
        "groupId": group,
        "generationIdOrMemberEpoch": generation,
        "memberId": member,
        "groupInstanceId": None,
        "retentionTimeMs": -1,
        "topics": _committed(offsets),
    }
    return WireRequest(api="OFFSET_COMMIT", version=version, fields=fields)


def txn_offset_commit(
    *,
    transactional_id: str,
    group: str,
    producer: tuple[int, int],
    offsets: Sequence[Offset],
    version: int,
    member: str = "",
    generation: int = NO_GENERATION,
) -> WireRequest:
    """A TxnOffsetCommit; `producer` is its id and epoch.

    The generation has two names: KIP-1319 renamed it.
    """
    fields: dict[str, Any] = {
        "transactionalId": transactional_id,
        "groupId": group,
        "producerId": producer[0],
        "producerEpoch": producer[1],
        "generationId": generation,
        "generationIdOrMemberEpoch": generation,
        "memberId": member,
        "groupInstanceId": None,
        "topics": _committed(offsets),
    }
    return WireRequest(api="TXN_OFFSET_COMMIT", version=version, fields=fields)


def offset_fetch(
    *, group: str, offsets: Sequence[Offset], version: int, is_stable: bool = False
) -> WireRequest:
    """An OffsetFetch of one group; `is_stable` refuses while a transaction has offsets of it."""
    topics = [
        {"name": one.topic, "topicId": one.topic_id, "partitionIndexes": [one.partition]}
        for one in offsets
    ]
    asked = {"groupId": group, "topics": topics}
    whole = {"memberId": None, "memberEpoch": NO_GENERATION}
    fields: dict[str, Any] = {"requireStable": is_stable}
    fields |= {"groups": [asked | whole]} if version >= FIRST_WITH_GROUPS else asked
    return WireRequest(api="OFFSET_FETCH", version=version, fields=fields)


FIRST_WITH_GROUPS = 8
"""The first version of OffsetFetch that can ask for several groups."""


def init_producer_id(*, transactional_id: str, version: int) -> WireRequest:
    """An InitProducerId, which raises the producer epoch of a transactional.id."""
    fields: dict[str, Any] = {
        "transactionalId": transactional_id,
        "transactionTimeoutMs": _TIMEOUT_MS,
        "producerId": NO_PRODUCER,
        "producerEpoch": NO_PRODUCER,
    }
    return WireRequest(api="INIT_PRODUCER_ID", version=version, fields=fields)


def add_offsets_to_txn(
    *, transactional_id: str, group: str, producer: tuple[int, int], version: int
) -> WireRequest:
    """An AddOffsetsToTxn, which must precede a TxnOffsetCommit before version 5 (KIP-890)."""
    fields: dict[str, Any] = {
        "transactionalId": transactional_id,
        "producerId": producer[0],
        "producerEpoch": producer[1],
        "groupId": group,
    }
    return WireRequest(api="ADD_OFFSETS_TO_TXN", version=version, fields=fields)


def end_txn(
    *, transactional_id: str, producer: tuple[int, int], is_commit: bool, version: int
) -> WireRequest:
    """An EndTxn."""
    fields: dict[str, Any] = {
        "transactionalId": transactional_id,
        "producerId": producer[0],
        "producerEpoch": producer[1],
        "committed": is_commit,
    }
    return WireRequest(api="END_TXN", version=version, fields=fields)


def join_group(*, group: str, version: int, member: str = "") -> WireRequest:
    """A JoinGroup of a member of the classic protocol; up to version 3 it needs no member id."""
    fields: dict[str, Any] = {
        "groupId": group,
        "sessionTimeoutMs": _SESSION_MS,
        "rebalanceTimeoutMs": _SESSION_MS,
        "memberId": member,
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": _SUBSCRIBES_TO_NOTHING}],
        "reason": None,
    }
    return WireRequest(api="JOIN_GROUP", version=version, fields=fields)


def sync_group(*, group: str, version: int, member: str, generation: int) -> WireRequest:
    """A SyncGroup of the only member of a group, which then is stable."""
    fields: dict[str, Any] = {
        "groupId": group,
        "generationId": generation,
        "memberId": member,
        "groupInstanceId": None,
        "assignments": [{"memberId": member, "assignment": ""}],
    }
    return WireRequest(api="SYNC_GROUP", version=version, fields=fields)


def consumer_group_heartbeat(
    *,
    group: str,
    version: int,
    member: str,
    epoch: int,
    topics: Sequence[str] | None = None,
    owned: Sequence[Mapping[str, Any]] | None = None,
) -> WireRequest:
    """A ConsumerGroupHeartbeat (KIP-848); `epoch` 0 joins.

    topics: to subscribe to, when it joins.
    owned: the partitions that the member has, as the last response assigned them.
    """
    is_joining = topics is not None
    fields: dict[str, Any] = {
        "groupId": group,
        "memberId": member,
        "memberEpoch": epoch,
        "instanceId": None,
        "rackId": None,
        "rebalanceTimeoutMs": _SESSION_MS if is_joining else -1,
        "subscribedTopicNames": topics,
        "subscribedTopicRegex": None,
        "serverAssignor": None,
        "topicPartitions": [] if is_joining else owned,
    }
    return WireRequest(api="CONSUMER_GROUP_HEARTBEAT", version=version, fields=fields)


def _committed(offsets: Sequence[Offset]) -> list[dict[str, Any]]:
    by_topic: dict[tuple[str, str], list[Offset]] = {}
    for one in offsets:
        by_topic.setdefault((one.topic, one.topic_id), []).append(one)
    return [
        {
            "name": name,
            "topicId": topic_id,
            "partitions": [
                {
                    "partitionIndex": one.partition,
                    "committedOffset": one.offset,
                    "committedLeaderEpoch": one.epoch,
                    "committedMetadata": one.metadata,
                    "commitTimestamp": -1,
                }
                for one in group
            ],
        }
        for (name, topic_id), group in by_topic.items()
    ]

"""Requests in the names of Kafka's message schemas; they need no JVM.

Each can be sent at any version: the fields that a version does not have are left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from contract.events import NO_EPOCH
from contract.protocol import METADATA_LOG, METADATA_LOG_ID

CONSUMER = -1
"""The replica id of clients."""
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id that stands for none, as Kafka writes it."""
LATEST, EARLIEST = -1, -2
_BYTES_MAX = 1 << 20
FIRST_WITH_REPLICA_STATE = 15
"""The first version of Fetch that has the replica's id in a structure of its own (KIP-903)."""
_TOPIC, _CLUSTER, _LITERAL, _ALLOW = 2, 4, 3, 3
_CLUSTER_NAME = "kafka-cluster"
READ, DESCRIBE, CLUSTER_ACTION = 3, 8, 9
"""Operations, by their codes in `AclOperation`."""
NO_GENERATION = -1
"""The generation, or member epoch, of a client that is no member."""
NO_PRODUCER = -1
_TIMEOUT_MS = 60_000
_SESSION_MS = 60_000
_SUBSCRIBES_TO_NOTHING = "AAAAAAAA/////w=="
"""A `ConsumerProtocolSubscription` without topics and user data, as base64."""
_QUOTA = 1_000_000_000.0
_CHANGE_MS = 30_000
UPDATE_FEATURES = "UPDATE_FEATURES"
NOBODY = 9999
"""The replica id of no server."""


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """A principal with its password, for SASL/PLAIN."""

    principal: str
    password: str


class WireRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request.

    api: the name in `ApiKeys`, e.g. `FETCH`.
    fields: of the request. A field that the version does not have is left out if Kafka's schema
        calls it ignorable, or if it has its default value.
    """

    api: str
    version: int
    fields: dict[str, Any]


Request = Callable[..., WireRequest]
"""Makes a request from its version and further arguments, all by keyword."""


def fetch(
    *,
    topic: str,
    partition: int = 0,
    version: int,
    topic_id: str = NO_ID,
    offset: int = 0,
    current_leader_epoch: int = NO_EPOCH,
    last_fetched_epoch: int = NO_EPOCH,
) -> WireRequest:
    """A consumer's Fetch without a session, which returns at once."""
    asked = {
        "partition": partition,
        "currentLeaderEpoch": current_leader_epoch,
        "fetchOffset": offset,
        "lastFetchedEpoch": last_fetched_epoch,
        "logStartOffset": -1,
        "partitionMaxBytes": _BYTES_MAX,
    }
    return WireRequest(
        api="FETCH",
        version=version,
        fields={
            "replicaId": CONSUMER,
            "maxWaitMs": 0,
            "minBytes": 0,
            "maxBytes": _BYTES_MAX,
            "isolationLevel": 0,
            "sessionId": 0,
            "sessionEpoch": -1,
            "topics": [{"topic": topic, "topicId": topic_id, "partitions": [asked]}],
            "forgottenTopicsData": [],
            "rackId": "",
        },
    )


def list_offsets(
    *,
    topic: str,
    partition: int = 0,
    version: int,
    timestamp: int = LATEST,
    current_leader_epoch: int = NO_EPOCH,
) -> WireRequest:
    """A consumer's ListOffsets."""
    asked = {
        "partitionIndex": partition,
        "currentLeaderEpoch": current_leader_epoch,
        "timestamp": timestamp,
        "maxNumOffsets": 1,
    }
    return WireRequest(
        api="LIST_OFFSETS",
        version=version,
        fields={
            "replicaId": CONSUMER,
            "isolationLevel": 0,
            "topics": [{"name": topic, "partitions": [asked]}],
            "timeoutMs": 0,
        },
    )


def offset_for_leader_epoch(
    *,
    topic: str,
    partition: int = 0,
    version: int,
    epoch: int,
    current_leader_epoch: int = NO_EPOCH,
) -> WireRequest:
    """A consumer's OffsetForLeaderEpoch."""
    asked = {
        "partition": partition,
        "currentLeaderEpoch": current_leader_epoch,
        "leaderEpoch": epoch,
    }
    return WireRequest(
        api="OFFSET_FOR_LEADER_EPOCH",
        version=version,
        fields={"replicaId": CONSUMER, "topics": [{"topic": topic, "partitions": [asked]}]},
    )


def of_replica(request: Request, replica: int) -> Request:
    """Make a request that says it is from a broker: a Fetch, or an OffsetForLeaderEpoch.

    A leader that accepts the Fetch of a replica takes its fetch offset for that replica's log end.
    """

    def make_request(*, version: int, **asked: Any) -> WireRequest:
        found = request(version=version, **asked)
        fields = {name: value for name, value in found.fields.items() if name != "replicaId"}
        if found.api == "FETCH" and version >= FIRST_WITH_REPLICA_STATE:
            fields["replicaState"] = {"replicaId": replica, "replicaEpoch": -1}
        else:
            fields["replicaId"] = replica
        return WireRequest(api=found.api, version=version, fields=fields)

    return make_request


def metadata(*, topic: str, version: int) -> WireRequest:
    """A Metadata about one topic, which does not create it; from version 4 on."""
    fields: dict[str, Any] = {
        "topics": [{"topicId": NO_ID, "name": topic}],
        "allowAutoTopicCreation": False,
        "includeClusterAuthorizedOperations": False,
        "includeTopicAuthorizedOperations": False,
    }
    return WireRequest(api="METADATA", version=version, fields=fields)


def api_versions(*, version: int = 3) -> WireRequest:
    """Which versions of which APIs a broker supports.

    Before version 4 the response leaves out features whose least level is 0 (KAFKA-17011).
    """
    fields = {"clientSoftwareName": "fencepost", "clientSoftwareVersion": "1"}
    return WireRequest(api="API_VERSIONS", version=version, fields=fields)


def create_acl(*, principal: str, operation: int, topic: str | None = None) -> WireRequest:
    """Allow a principal an operation on a topic, or on the cluster."""
    entry = {
        "resourceType": _CLUSTER if topic is None else _TOPIC,
        "resourceName": _CLUSTER_NAME if topic is None else topic,
        "resourcePatternType": _LITERAL,
        "principal": f"User:{principal}",
        "host": "*",
        "operation": operation,
        "permissionType": _ALLOW,
    }
    return WireRequest(api="CREATE_ACLS", version=3, fields={"creations": [entry]})


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
        "topics": _topics_to_commit(offsets),
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
        "topics": _topics_to_commit(offsets),
    }
    return WireRequest(api="TXN_OFFSET_COMMIT", version=version, fields=fields)


def offset_fetch(
    *, group: str, offsets: Sequence[Offset], version: int, is_stable: bool = False
) -> WireRequest:
    """An OffsetFetch of one group; `is_stable` refuses while a transaction has offsets of it."""
    topics = [
        {"name": offset.topic, "topicId": offset.topic_id, "partitionIndexes": [offset.partition]}
        for offset in offsets
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


def _topics_to_commit(offsets: Sequence[Offset]) -> list[dict[str, Any]]:
    by_topic: dict[tuple[str, str], list[Offset]] = {}
    for offset in offsets:
        by_topic.setdefault((offset.topic, offset.topic_id), []).append(offset)
    return [
        {
            "name": name,
            "topicId": topic_id,
            "partitions": [
                {
                    "partitionIndex": offset.partition,
                    "committedOffset": offset.offset,
                    "committedLeaderEpoch": offset.epoch,
                    "committedMetadata": offset.metadata,
                    "commitTimestamp": -1,
                }
                for offset in group
            ],
        }
        for (name, topic_id), group in by_topic.items()
    ]


def alter_quota(user: str, *, version: int = 1) -> WireRequest:
    """Set the quota of one user: an entry of the metadata log that concerns no topic."""
    entry = {
        "entity": [{"entityType": "user", "entityName": user}],
        "ops": [{"key": "producer_byte_rate", "value": _QUOTA, "remove": False}],
    }
    fields = {"entries": [entry], "validateOnly": False}
    return WireRequest(api="ALTER_CLIENT_QUOTAS", version=version, fields=fields)


def fetch_metadata(
    *,
    version: int,
    current_leader_epoch: int,
    last_fetched_epoch: int,
    offset: int,
    replica: int | None = None,
) -> WireRequest:
    """A Fetch of the metadata log which returns at once; a consumer's, or a replica's."""
    request = fetch if replica is None else of_replica(fetch, replica)
    return request(
        topic=METADATA_LOG,
        topic_id=METADATA_LOG_ID,
        version=version,
        offset=offset,
        current_leader_epoch=current_leader_epoch,
        last_fetched_epoch=last_fetched_epoch,
    )


def vote(*, version: int, epoch: int, candidate: int) -> WireRequest:
    """A Vote for a candidate with an empty log. Kafka 4 calls the candidate a replica (KIP-996)."""
    asked = {
        "candidateEpoch": epoch,
        "candidateId": candidate,
        "candidateDirectoryId": NO_ID,
        "replicaEpoch": epoch,
        "replicaId": candidate,
        "replicaDirectoryId": NO_ID,
        "voterDirectoryId": NO_ID,
        "lastOffsetEpoch": 0,
        "lastOffset": 0,
        "preVote": False,
    }
    return _of_quorum("VOTE", version, asked)


def begin_quorum_epoch(*, version: int, epoch: int, leader: int) -> WireRequest:
    """A BeginQuorumEpoch of a leader."""
    asked = {"leaderId": leader, "leaderEpoch": epoch, "voterDirectoryId": NO_ID}
    return _of_quorum("BEGIN_QUORUM_EPOCH", version, asked)


def end_quorum_epoch(*, version: int, epoch: int, leader: int) -> WireRequest:
    """An EndQuorumEpoch of a leader without preferred successors."""
    asked: dict[str, Any] = {"leaderId": leader, "leaderEpoch": epoch}
    asked |= {"preferredSuccessors": [], "preferredCandidates": []}
    return _of_quorum("END_QUORUM_EPOCH", version, asked)


def add_voter(voter: int, directory: str, address: str, port: int) -> WireRequest:
    """An AddRaftVoter (KIP-853); the controller fetches already."""
    fields = {
        "clusterId": None,
        "timeoutMs": _CHANGE_MS,
        "voterId": voter,
        "voterDirectoryId": directory,
        "listeners": [{"name": "CONTROLLER", "host": address, "port": port}],
    }
    return WireRequest(api="ADD_RAFT_VOTER", version=0, fields=fields)


def remove_voter(voter: int, directory: str) -> WireRequest:
    """A RemoveRaftVoter (KIP-853)."""
    fields = {"clusterId": None, "voterId": voter, "voterDirectoryId": directory}
    return WireRequest(api="REMOVE_RAFT_VOTER", version=0, fields=fields)


def _of_quorum(api: str, version: int, asked: dict[str, Any]) -> WireRequest:
    partition = {"partitionIndex": 0, **asked}
    fields = {
        "clusterId": None,
        "voterId": -1,
        "topics": [{"topicName": METADATA_LOG, "partitions": [partition]}],
        "leaderEndpoints": [],
    }
    return WireRequest(api=api, version=version, fields=fields)


def update_features(levels: Mapping[str, int], *, how: int) -> WireRequest:
    """An UpdateFeatures (KIP-584); `how` is the code of `FeatureUpdate.UpgradeType`."""
    updates = [
        {"feature": name, "maxVersionLevel": level, "upgradeType": how}
        for name, level in levels.items()
    ]
    fields = {"timeoutMs": _CHANGE_MS, "featureUpdates": updates, "validateOnly": False}
    return WireRequest(api=UPDATE_FEATURES, version=1, fields=fields)

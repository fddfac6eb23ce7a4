"""Requests about one partition, in the names of Kafka's message schemas; they need no JVM.

Each can be sent at any version: the fields that a version does not have are left out.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from contract.events import NO_EPOCH

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

    def made(*, version: int, **asked: Any) -> WireRequest:
        found = request(version=version, **asked)
        fields = {name: value for name, value in found.fields.items() if name != "replicaId"}
        if found.api == "FETCH" and version >= FIRST_WITH_REPLICA_STATE:
            fields["replicaState"] = {"replicaId": replica, "replicaEpoch": -1}
        else:
            fields["replicaId"] = replica
        return WireRequest(api=found.api, version=version, fields=fields)

    return made


def metadata(*, topic: str, version: int) -> WireRequest:
    """A Metadata about one topic, which does not create it; from version 4 on."""
    fields: dict[str, Any] = {
        "topics": [{"topicId": NO_ID, "name": topic}],
        "allowAutoTopicCreation": False,
        "includeClusterAuthorizedOperations": False,
        "includeTopicAuthorizedOperations": False,
    }
    return WireRequest(api="METADATA", version=version, fields=fields)


def api_versions() -> WireRequest:
    """Which versions of which APIs a broker supports."""
    fields = {"clientSoftwareName": "fencepost", "clientSoftwareVersion": "1"}
    return WireRequest(api="API_VERSIONS", version=3, fields=fields)


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

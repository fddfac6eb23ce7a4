"""Requests to controllers, in the names of Kafka's message schemas; they need no JVM."""

from typing import Any

from contract.quorum_rules import METADATA_LOG, METADATA_LOG_ID
from harness.wire.requests import NO_ID, WireRequest, fetch

_QUOTA = 1_000_000_000.0
_CHANGE_MS = 30_000
NOBODY = 9999
"""The replica id of no server."""
_FIRST_WITH_REPLICA_STATE = 15


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
    asked = fetch(
        topic=METADATA_LOG,
        topic_id=METADATA_LOG_ID,
        version=version,
        offset=offset,
        current_leader_epoch=current_leader_epoch,
        last_fetched_epoch=last_fetched_epoch,
    )
    if replica is None:
        return asked
    fields = {name: value for name, value in asked.fields.items() if name != "replicaId"}
    if version < _FIRST_WITH_REPLICA_STATE:
        fields["replicaId"] = replica
    else:
        fields["replicaState"] = {"replicaId": replica, "replicaEpoch": -1}
    return WireRequest(api="FETCH", version=version, fields=fields)


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

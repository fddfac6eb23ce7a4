"""The rules of the controllers' quorum on the wire, each with its source and its versions."""

import enum

from contract.checks import Check
from contract.protocol_rule import ProtocolRule, Source, Versions


class QuorumRule(enum.StrEnum):
    """What each response of a controller about the metadata log has to fulfil."""

    OLDER_EPOCH = "quorum: older epoch"
    NEWER_EPOCH = "quorum: newer epoch"
    NOT_LEADER = "quorum: not the leader"
    LEADER_EPOCH = "quorum: leader epoch"
    NON_VOTER = "quorum: fetch of a non-voter"
    DIVERGENCE = "quorum: divergence"
    NO_DIVERGENCE = "quorum: no divergence"
    CURRENT_LEADER = "quorum: current leader"
    OLD_VOTE = "quorum: vote in an old epoch"
    OLD_BEGIN = "quorum: begin of an old epoch"
    OLD_END = "quorum: end of an old epoch"


METADATA_LOG = "__cluster_metadata"
"""The topic of the metadata log, which has one partition."""
METADATA_LOG_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
"""Its topic id, as Kafka writes it (`Uuid.METADATA_TOPIC_ID`)."""
FIRST_WITH_QUORUM = 13
"""The first version of Fetch that a controller serves: it has topic ids, by which the metadata log
is asked for (`RaftUtil.hasValidTopicPartition`)."""
_FETCH, _VOTE, _BEGIN, _END = "FETCH", "VOTE", "BEGIN_QUORUM_EPOCH", "END_QUORUM_EPOCH"
QUORUM_API_KEYS = {_VOTE: 52, _BEGIN: 53, _END: 54}

_KIP_595 = "KIP-595"
_HANDLING = Source(_KIP_595, "Fetch")
_CLIENT = "KafkaRaftClient"
_LEADER_CODE = f"{_CLIENT}.validateLeaderOnlyRequest"
_VOTER_CODE = f"{_CLIENT}.validateVoterOnlyRequest"
_LOG_CODE = "RaftLog.validateOffsetAndEpoch"
_FETCHES = {_FETCH: Versions(FIRST_WITH_QUORUM)}
_CHECK = Check.WRONG_QUORUM_RESPONSE


def _fetch(says: str, code: str) -> ProtocolRule:
    return ProtocolRule(says, _HANDLING, code, _FETCHES, _CHECK)


def _old(says: str, place: str, api: str) -> ProtocolRule:
    return ProtocolRule(says, Source(_KIP_595, place), _VOTER_CODE, {api: Versions(0)}, _CHECK)


QUORUM_RULES: dict[enum.StrEnum, ProtocolRule] = {
    QuorumRule.OLDER_EPOCH: _fetch(
        "A controller refuses a Fetch whose current leader epoch is older than its own with"
        " FENCED_LEADER_EPOCH, whether it leads or not.",
        _LEADER_CODE,
    ),
    QuorumRule.NEWER_EPOCH: _fetch(
        "A controller refuses a Fetch whose current leader epoch is newer than its own with"
        " UNKNOWN_LEADER_EPOCH, whether it leads or not.",
        _LEADER_CODE,
    ),
    QuorumRule.NOT_LEADER: _fetch(
        "A voter that does not lead refuses a Fetch with its own epoch with"
        " NOT_LEADER_OR_FOLLOWER.",
        _LEADER_CODE,
    ),
    QuorumRule.LEADER_EPOCH: _fetch(
        "The quorum's leader accepts a Fetch with its own epoch.",
        _LEADER_CODE,
    ),
    QuorumRule.NON_VOTER: _fetch(
        "The quorum's leader accepts a Fetch of a replica that is no voter.",
        "LeaderState.updateReplicaState",
    ),
    QuorumRule.DIVERGENCE: _fetch(
        "A Fetch whose last fetched epoch is not in the leader's log, or ends there below the"
        " fetch offset, is answered with the largest epoch that is not above it and with the end"
        " offset of that epoch, without records.",
        _LOG_CODE,
    ),
    QuorumRule.NO_DIVERGENCE: _fetch(
        "A Fetch whose last fetched epoch reaches the fetch offset in the leader's log has no"
        " diverging epoch.",
        _LOG_CODE,
    ),
    QuorumRule.CURRENT_LEADER: ProtocolRule(
        "A response of a controller has its epoch, and the leader of that epoch if it knows one.",
        Source(_KIP_595, "responses of Fetch, Vote, BeginQuorumEpoch, EndQuorumEpoch"),
        "RaftUtil.singletonFetchResponse",
        {_FETCH: Versions(FIRST_WITH_QUORUM)} | {api: Versions(0) for api in (_VOTE, _BEGIN, _END)},
        _CHECK,
    ),
    QuorumRule.OLD_VOTE: _old(
        "A Vote for a candidate of an older epoch, whose last entry is of a still older one, is"
        " refused with FENCED_LEADER_EPOCH and not granted.",
        "Vote",
        _VOTE,
    ),
    QuorumRule.OLD_BEGIN: _old(
        "A BeginQuorumEpoch of an older epoch is refused with FENCED_LEADER_EPOCH.",
        "BeginQuorumEpoch",
        _BEGIN,
    ),
    QuorumRule.OLD_END: _old(
        "An EndQuorumEpoch of an older epoch is refused with FENCED_LEADER_EPOCH.",
        "EndQuorumEpoch",
        _END,
    ),
}

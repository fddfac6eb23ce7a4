"""The rules of Kafka's protocol about leader epochs, each with its source and its versions.

A check reports a rule by its name, as the kind of its finding. docs/protocol.md has them on the
site.
"""

import enum

from contract.checks import Check
from contract.commit_rules import COMMIT_API_KEYS, COMMIT_RULES
from contract.protocol_rule import ProtocolRule, Source, Versions
from contract.quorum_rules import QUORUM_API_KEYS, QUORUM_RULES

__all__ = ["API_KEYS", "RULES", "ProtocolRule", "Rule", "Source", "Versions"]


class Rule(enum.StrEnum):
    """What each response has to fulfil."""

    OLDER_EPOCH = "older epoch"
    NEWER_EPOCH = "newer epoch"
    LEADER_EPOCH = "leader epoch"
    NO_EPOCH = "no epoch"
    VERSION_WITHOUT_EPOCH = "version without epoch"
    FOLLOWER = "follower"
    REPLICA = "replica"
    RETRIABLE = "retriable"
    DESCRIBE = "describe on the topic"
    CLUSTER_ACTION = "cluster action"
    UNAUTHORIZED = "unauthorized"
    END_OF_LATEST = "end of the latest epoch"
    END_OF_KNOWN = "end of a known epoch"
    END_OF_SKIPPED = "end of a skipped epoch"
    END_OF_REMOVED = "end of a removed epoch"
    END_OF_UNKNOWN = "end of an unknown epoch"
    DIVERGENCE = "divergence"
    NO_DIVERGENCE = "no divergence"
    UNKNOWN_LAST_FETCHED = "unknown last fetched epoch"
    BELOW_LOG_START = "below the log start"
    EPOCH_OF_LEADER = "epoch of the leader"
    EPOCH_OF_OFFSET = "epoch of an offset"
    THROTTLE_TIME = "throttle time"
    SCHEMA = "schema"


_FETCH, _LIST, _END = "FETCH", "LIST_OFFSETS", "OFFSET_FOR_LEADER_EPOCH"
OFFSETS_FOR_TIMES = "offsetsForTimes"
"""The call of a client, in the place of an API's name; it has no version, which is 0 then."""
NO_API_KEY, NO_BROKER = -1, -1
"""Of a client's call."""
API_KEYS = {_FETCH: 1, _LIST: 2, "METADATA": 3, _END: 23} | COMMIT_API_KEYS | QUORUM_API_KEYS
"""By the name of an API: its number, which no release changes."""
API_NAMES = {
    "FETCH": "Fetch",
    "LIST_OFFSETS": "ListOffsets",
    "METADATA": "Metadata",
    "OFFSET_COMMIT": "OffsetCommit",
    "OFFSET_FETCH": "OffsetFetch",
    "OFFSET_FOR_LEADER_EPOCH": "OffsetForLeaderEpoch",
    "VOTE": "Vote",
    "BEGIN_QUORUM_EPOCH": "BeginQuorumEpoch",
    "END_QUORUM_EPOCH": "EndQuorumEpoch",
    "TXN_OFFSET_COMMIT": "TxnOffsetCommit",
    OFFSETS_FOR_TIMES: OFFSETS_FOR_TIMES,
}
"""By the name of an API: what Kafka's documents call it."""
VALIDATED: dict[str, int] = {_FETCH: 9, _LIST: 4, _END: 2}
"""By API: the first version whose request has the current leader epoch."""
FIRST_WITH_LAST_FETCHED = 12
FIRST_WITH_METADATA_EPOCH = 7
FIRST_WITH_REPLICA = 3
"""The first version of OffsetForLeaderEpoch that says which replica it is from."""

_KIP_320 = "KIP-320"
_HANDLING = Source(_KIP_320, "Leader Fetch Handling")
_WITH_EPOCH = {api: Versions(first) for api, first in VALIDATED.items()}
_ENDS = Source(_KIP_320, "OffsetsForLeaderEpoch")
_KIP_101 = Source("KIP-101", "response of OffsetsForLeaderEpoch")
_KIP_279 = Source("KIP-279", "response of OffsetsForLeaderEpoch")
_ENDS_CODE = "LeaderEpochFileCache.endOffsetFor"
_ENDS_VERSIONS = {_END: Versions(0)}
_ACLS = Source(_KIP_320, "ACL Changes")
_ACLS_CODE = "KafkaApis.handleOffsetForLeaderEpochRequest"
_KIP_595 = Source("KIP-595", "Fetch")
_DIVERGENCE_CODE = "Partition.readRecords"
_DIVERGENCE_VERSIONS = {_FETCH: Versions(FIRST_WITH_LAST_FETCHED)}

RULES: dict[enum.StrEnum, ProtocolRule] = {
    Rule.OLDER_EPOCH: ProtocolRule(
        "A request whose current leader epoch is older than the broker's is refused with"
        " FENCED_LEADER_EPOCH.",
        _HANDLING,
        "Partition.checkCurrentLeaderEpoch",
        _WITH_EPOCH,
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.NEWER_EPOCH: ProtocolRule(
        "A request whose current leader epoch is newer than the broker's is refused with"
        " UNKNOWN_LEADER_EPOCH.",
        _HANDLING,
        "Partition.checkCurrentLeaderEpoch",
        _WITH_EPOCH,
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.LEADER_EPOCH: ProtocolRule(
        "A request with the leader's own epoch is not refused because of its epoch.",
        _HANDLING,
        "Partition.checkCurrentLeaderEpoch",
        _WITH_EPOCH,
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.NO_EPOCH: ProtocolRule(
        "The current leader epoch -1 bypasses the validation.",
        _HANDLING,
        "RequestUtils.getLeaderEpoch",
        _WITH_EPOCH,
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.VERSION_WITHOUT_EPOCH: ProtocolRule(
        "At versions from before KIP-320 no epoch is validated.",
        Source(_KIP_320, "Protocol Changes, Fetch"),
        "RequestUtils.getLeaderEpoch",
        {api: Versions(0, first - 1) for api, first in VALIDATED.items()},
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.FOLLOWER: ProtocolRule(
        "A follower compares the epoch first: it refuses another epoch than its own with one of"
        " both errors, not with NOT_LEADER_OR_FOLLOWER.",
        Source(_KIP_320, "Protocol Changes, Fetch"),
        "Partition.getLocalLog",
        _WITH_EPOCH,
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.REPLICA: ProtocolRule(
        "A leader refuses another epoch than its own to a replica as to a consumer.",
        Source(_KIP_320, "Replica Handling"),
        "Partition.checkCurrentLeaderEpoch",
        {_FETCH: Versions(VALIDATED[_FETCH]), _END: Versions(FIRST_WITH_REPLICA)},
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.RETRIABLE: ProtocolRule(
        "The error with which a wrong epoch is refused has a retriable exception in the client"
        " library of the release.",
        Source(_KIP_320, "API Changes"),
        "FencedLeaderEpochException",
        _WITH_EPOCH,
        Check.WRONG_EPOCH_ERROR,
    ),
    Rule.DESCRIBE: ProtocolRule(
        "Describe on the topic suffices for OffsetForLeaderEpoch.",
        _ACLS,
        _ACLS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_AUTHORIZATION,
    ),
    Rule.CLUSTER_ACTION: ProtocolRule(
        "ClusterAction on the cluster suffices for OffsetForLeaderEpoch.",
        _ACLS,
        _ACLS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_AUTHORIZATION,
    ),
    Rule.UNAUTHORIZED: ProtocolRule(
        "An OffsetForLeaderEpoch of a principal with neither is refused with"
        " TOPIC_AUTHORIZATION_FAILED.",
        _ACLS,
        _ACLS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_AUTHORIZATION,
    ),
    Rule.END_OF_LATEST: ProtocolRule(
        "The latest epoch ends at the log end.",
        _KIP_101,
        _ENDS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_EPOCH_END,
    ),
    Rule.END_OF_KNOWN: ProtocolRule(
        "An epoch of the leader's cache ends where the next one in the cache starts.",
        _KIP_101,
        _ENDS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_EPOCH_END,
    ),
    Rule.END_OF_SKIPPED: ProtocolRule(
        "For an epoch between two of the cache, the response has the older one with its end.",
        _KIP_279,
        _ENDS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_EPOCH_END,
    ),
    Rule.END_OF_REMOVED: ProtocolRule(
        "For an epoch below the oldest of the cache, as after a deletion, the response has the"
        " requested epoch with the start of the oldest.",
        Source("KAFKA-19902", "step 6, which expects OFFSET_OUT_OF_RANGE: a Fetch has that"),
        _ENDS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_EPOCH_END,
    ),
    Rule.END_OF_UNKNOWN: ProtocolRule(
        "For an epoch above the latest, the response has epoch -1 and end offset -1.",
        _KIP_279,
        _ENDS_CODE,
        _ENDS_VERSIONS,
        Check.WRONG_EPOCH_END,
    ),
    Rule.DIVERGENCE: ProtocolRule(
        "A Fetch whose last fetched epoch ends below the fetch offset, or is not in the cache, is"
        " answered with the diverging epoch and its end offset, and without records.",
        _KIP_595,
        _DIVERGENCE_CODE,
        _DIVERGENCE_VERSIONS,
        Check.WRONG_DIVERGING_EPOCH,
    ),
    Rule.NO_DIVERGENCE: ProtocolRule(
        "A Fetch whose last fetched epoch reaches the fetch offset has no diverging epoch.",
        _KIP_595,
        _DIVERGENCE_CODE,
        _DIVERGENCE_VERSIONS,
        Check.WRONG_DIVERGING_EPOCH,
    ),
    Rule.UNKNOWN_LAST_FETCHED: ProtocolRule(
        "A Fetch whose last fetched epoch is above the latest is refused with OFFSET_OUT_OF_RANGE.",
        _KIP_595,
        _DIVERGENCE_CODE,
        _DIVERGENCE_VERSIONS,
        Check.WRONG_DIVERGING_EPOCH,
    ),
    Rule.BELOW_LOG_START: ProtocolRule(
        "A Fetch below the log start is refused with OFFSET_OUT_OF_RANGE, also where its last"
        " fetched epoch diverges.",
        Source("KAFKA-19902", "step 6"),
        _DIVERGENCE_CODE,
        _DIVERGENCE_VERSIONS,
        Check.WRONG_DIVERGING_EPOCH,
    ),
    Rule.EPOCH_OF_LEADER: ProtocolRule(
        "A Metadata response has the leader epoch of each partition.",
        Source(_KIP_320, "Metadata"),
        "KRaftMetadataCache.getPartitionMetadata",
        {"METADATA": Versions(FIRST_WITH_METADATA_EPOCH)},
        Check.WRONG_REPORTED_EPOCH,
    ),
    Rule.EPOCH_OF_OFFSET: ProtocolRule(
        "A ListOffsets response has the leader epoch of its offset: of the latest offset the"
        " leader's epoch, of another one that of its record. offsetsForTimes of a client returns"
        " the epoch of the record at the offset that it returns.",
        Source(_KIP_320, "ListOffsets; API Changes"),
        "Partition.fetchOffsetForTimestamp",
        {_LIST: Versions(VALIDATED[_LIST]), OFFSETS_FOR_TIMES: Versions(0)},
        Check.WRONG_REPORTED_EPOCH,
    ),
    Rule.THROTTLE_TIME: ProtocolRule(
        "An OffsetForLeaderEpoch response has the throttle time.",
        _ENDS,
        "OffsetForLeaderEpochResponse",
        {_END: Versions(VALIDATED[_END])},
        Check.MALFORMED_RESPONSE,
    ),
    Rule.SCHEMA: ProtocolRule(
        "A response can be decoded by the schema of its version, and has every partition of its"
        " request.",
        Source(_KIP_320, "Protocol Changes"),
        "ApiMessage.read",
        {},
        Check.MALFORMED_RESPONSE,
    ),
    **COMMIT_RULES,
    **QUORUM_RULES,
}

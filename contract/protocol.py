"""The rules of Kafka's protocol about leader epochs, each with its source and its versions.

A check reports a rule by its name, as the kind of its finding. docs/protocol.md has them on the
site.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from contract.terms import Check

# What a rule of the protocol is: its sentence, its source, its versions, and the check.


@dataclass(frozen=True)
class Versions:
    """Versions of an API, by their numbers; `last` is None where all newer ones are included."""

    first: int
    last: int | None = None

    def __str__(self) -> str:
        """Return them as Kafka's schemas write them: `9+` or `0-8`."""
        return f"{self.first}+" if self.last is None else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Source:
    """Where a rule or a statement is written: a document, and the place in it."""

    document: str
    place: str


@dataclass(frozen=True)
class ProtocolRule:
    """A rule.

    Attributes:
        says: the rule, in one sentence.
        source: the document that promises it.
        code: the class and method of Kafka's source that does it.
        versions: by API; empty: every version of every API.
        check: judges it.
        since: the first major release with what the rule is about, where versions do not show that.
    """

    says: str
    source: Source
    code: str
    versions: Mapping[str, Versions]
    check: Check
    since: int = 0


# The rules of committed offsets on the wire: OffsetCommit, TxnOffsetCommit and OffsetFetch.


class CommitRule(enum.StrEnum):
    """What each response about committed offsets has to fulfil."""

    UNKNOWN_TOPIC_ID = "unknown topic id"
    UNKNOWN_PARTITION = "unknown partition"
    TOPICS_FIRST = "topics first"
    OLDER_PRODUCER_EPOCH = "older producer epoch"
    GROUP_NOT_FOUND = "group not found"
    GROUP_NOT_FOUND_BEFORE = "group not found, before its error"
    STALE_MEMBER_EPOCH = "stale member epoch"
    STALE_MEMBER_EPOCH_BEFORE = "stale member epoch, before its error"
    OTHER_GENERATION = "other generation"
    UNKNOWN_MEMBER = "unknown member"
    ACCEPTED_COMMIT = "accepted commit"
    STORED_COMMIT = "stored commit"
    REFUSED_COMMIT = "refused commit"
    STORED_TOPIC_ID = "stored topic id"
    STORED_VERSION = "version of a stored commit"
    FETCHED_COMMIT = "fetched commit"
    EPOCH_OF_COMMIT = "epoch of a commit"
    PENDING_COMMIT = "pending commit"


COMMIT, TXN_COMMIT, OFFSET_FETCH = "OFFSET_COMMIT", "TXN_OFFSET_COMMIT", "OFFSET_FETCH"
ALTER_OFFSETS = "alterConsumerGroupOffsets"
"""The call of Admin, in the place of an API's name."""
FIRST_WITH_NEW_COORDINATOR = (4,)
"""The first release that has KIP-848's group coordinator by default."""
COMMIT_API_KEYS = {
    COMMIT: 8,
    OFFSET_FETCH: 9,
    "FIND_COORDINATOR": 10,
    "JOIN_GROUP": 11,
    "SYNC_GROUP": 14,
    "INIT_PRODUCER_ID": 22,
    "ADD_OFFSETS_TO_TXN": 25,
    "END_TXN": 26,
    TXN_COMMIT: 28,
    "CONSUMER_GROUP_HEARTBEAT": 68,
}
"""By the name of an API: its number, which no release changes."""
FIRST_WITH_TOPIC_ID = {COMMIT: 10, TXN_COMMIT: 6, OFFSET_FETCH: 10}
FIRST_WITH_COMMITTED_EPOCH = {COMMIT: 6, TXN_COMMIT: 2, OFFSET_FETCH: 5}
FIRST_WITH_GENERATION = {COMMIT: 1, TXN_COMMIT: 3}
FIRST_WITH_GROUP_ERRORS = {COMMIT: 9, TXN_COMMIT: 6}
"""The first version that returns GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH."""
FIRST_WITH_MEMBER_EPOCHS = 4
"""The first major release whose brokers have groups of the consumer protocol by default."""
FIRST_WITH_STABLE = 7
"""The first version of OffsetFetch that can ask for stable offsets."""
FIRST_VALUE_WITH_TOPIC_ID = 4
"""A version of `OffsetCommitValue`."""

_KIP_1319, _EPOCHS = "KIP-1319", "KIP-320"
_ERRORS = Source(_KIP_1319, "Broker-Side, Error mapping")
_RESOLUTION = Source(_KIP_1319, "Broker-Side, Topic ID resolution")
_HANDLER = "KafkaApis.handleTxnOffsetCommitRequest, handleOffsetCommitRequest"
_VALIDATION = "OffsetMetadataManager.validateTransactionalOffsetCommit, validateOffsetCommit"
_MEMBER = "ConsumerGroup.validateOffsetCommit, ClassicGroup.validateOffsetCommit"
_WRITE = "OffsetMetadataManager.commitTransactionalOffset, commitOffset"
_READ = "OffsetMetadataManager.fetchOffsets"
_BOTH = {COMMIT: Versions(1), TXN_COMMIT: Versions(0)}
_WITH_MEMBER = {api: Versions(first) for api, first in FIRST_WITH_GENERATION.items()}
_SINCE = {api: Versions(first) for api, first in FIRST_WITH_GROUP_ERRORS.items()}
_BEFORE = {
    api: Versions(FIRST_WITH_GENERATION[api], first - 1)
    for api, first in FIRST_WITH_GROUP_ERRORS.items()
}

COMMIT_RULES: dict[enum.StrEnum, ProtocolRule] = {
    CommitRule.UNKNOWN_TOPIC_ID: ProtocolRule(
        "A topic id that no topic has, or had a deleted one, is refused with UNKNOWN_TOPIC_ID.",
        _RESOLUTION,
        _HANDLER,
        {api: Versions(first) for api, first in FIRST_WITH_TOPIC_ID.items()},
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.UNKNOWN_PARTITION: ProtocolRule(
        "A partition that its topic does not have, or the name of no topic, is refused with"
        " UNKNOWN_TOPIC_OR_PARTITION; the other partitions are not.",
        _RESOLUTION,
        _HANDLER,
        _BOTH,
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.TOPICS_FIRST: ProtocolRule(
        "An unknown topic or partition has its own error, also where the group or the producer of"
        " the request is refused.",
        _RESOLUTION,
        _HANDLER,
        _BOTH,
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.OLDER_PRODUCER_EPOCH: ProtocolRule(
        "A commit with an older producer epoch than its producer id has is refused with"
        " INVALID_PRODUCER_EPOCH or PRODUCER_FENCED.",
        Source("KIP-890", "verification of transactions"),
        "TransactionCoordinator.handleVerifyPartitionsInTransaction",
        {TXN_COMMIT: Versions(0)},
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.GROUP_NOT_FOUND: ProtocolRule(
        "A commit with a generation for a group that does not exist is refused with"
        " GROUP_ID_NOT_FOUND.",
        _ERRORS,
        _VALIDATION,
        _SINCE,
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.GROUP_NOT_FOUND_BEFORE: ProtocolRule(
        "Older versions refuse it with ILLEGAL_GENERATION.",
        _ERRORS,
        _VALIDATION,
        _BEFORE,
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.STALE_MEMBER_EPOCH: ProtocolRule(
        "A commit with another member epoch than the member's is refused with STALE_MEMBER_EPOCH.",
        _ERRORS,
        _VALIDATION,
        _SINCE,
        Check.WRONG_COMMIT_ERROR,
        since=FIRST_WITH_MEMBER_EPOCHS,
    ),
    CommitRule.STALE_MEMBER_EPOCH_BEFORE: ProtocolRule(
        "Older versions of TxnOffsetCommit refuse it with ILLEGAL_GENERATION; those of OffsetCommit"
        " refuse every member of the consumer protocol with UNSUPPORTED_VERSION.",
        _ERRORS,
        _VALIDATION,
        _BEFORE,
        Check.WRONG_COMMIT_ERROR,
        since=FIRST_WITH_MEMBER_EPOCHS,
    ),
    CommitRule.OTHER_GENERATION: ProtocolRule(
        "A commit with another generation than that of its group, of the classic protocol, is"
        " refused with ILLEGAL_GENERATION.",
        Source("KIP-447", "fencing by the generation"),
        _MEMBER,
        _WITH_MEMBER,
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.UNKNOWN_MEMBER: ProtocolRule(
        "A commit of a member that its group does not have is refused with UNKNOWN_MEMBER_ID, as is"
        " one of no member for a group that has some, unless it is a TxnOffsetCommit.",
        Source("KIP-447", "fencing by the member id"),
        _MEMBER,
        _WITH_MEMBER,
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.ACCEPTED_COMMIT: ProtocolRule(
        "A commit of a known partition, by no member or at the member's generation, is accepted, or"
        " refused with OFFSET_METADATA_TOO_LARGE (`offset.metadata.max.bytes`).",
        _ERRORS,
        _VALIDATION,
        _BOTH,
        Check.WRONG_COMMIT_ERROR,
    ),
    CommitRule.STORED_COMMIT: ProtocolRule(
        "An accepted commit is stored with its offset, leader epoch and metadata, and with the id"
        " and epoch of its producer.",
        Source(_EPOCHS, "OffsetCommit and TxnOffsetCommit"),
        _WRITE,
        _BOTH,
        Check.WRONG_STORED_COMMIT,
    ),
    CommitRule.REFUSED_COMMIT: ProtocolRule(
        "A refused commit is not stored.",
        _ERRORS,
        _WRITE,
        _BOTH,
        Check.WRONG_STORED_COMMIT,
    ),
    CommitRule.STORED_TOPIC_ID: ProtocolRule(
        "A commit whose request has the topic's id is stored with it.",
        Source(_KIP_1319, "Broker-Side, Persisting topic IDs"),
        _WRITE,
        {api: Versions(FIRST_WITH_TOPIC_ID[api]) for api in (COMMIT, TXN_COMMIT)},
        Check.WRONG_STORED_COMMIT,
    ),
    CommitRule.STORED_VERSION: ProtocolRule(
        "A commit is stored by a version of OffsetCommitValue that has the leader epoch (3 and"
        " later), and the topic id if it has one (4 and later).",
        Source(_EPOCHS, "Offset Schema Changes"),
        "GroupCoordinatorRecordHelpers.newOffsetCommitRecord",
        _BOTH,
        Check.WRONG_STORED_COMMIT,
    ),
    CommitRule.FETCHED_COMMIT: ProtocolRule(
        "An OffsetFetch response has the offset and metadata of the last stored commit; -1 where"
        " there is none.",
        Source(_EPOCHS, "OffsetFetch"),
        _READ,
        {OFFSET_FETCH: Versions(1)},
        Check.WRONG_FETCHED_COMMIT,
    ),
    CommitRule.EPOCH_OF_COMMIT: ProtocolRule(
        "An OffsetFetch response has the leader epoch of the last stored commit.",
        Source(_EPOCHS, "OffsetFetch"),
        _READ,
        {OFFSET_FETCH: Versions(FIRST_WITH_COMMITTED_EPOCH[OFFSET_FETCH])},
        Check.WRONG_FETCHED_COMMIT,
    ),
    CommitRule.PENDING_COMMIT: ProtocolRule(
        "A request for stable offsets is refused with UNSTABLE_OFFSET_COMMIT while an open"
        " transaction has offsets of the partition.",
        Source("KIP-447", "OffsetFetch"),
        _READ,
        {OFFSET_FETCH: Versions(FIRST_WITH_STABLE)},
        Check.WRONG_FETCHED_COMMIT,
    ),
}


# The rules of the controllers' quorum on the wire, each with its source and its versions.


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
_VOTE, _BEGIN, _RESIGN = "VOTE", "BEGIN_QUORUM_EPOCH", "END_QUORUM_EPOCH"
QUORUM_API_KEYS = {_VOTE: 52, _BEGIN: 53, _RESIGN: 54}

_RAFT = "KIP-595"
_RAFT_FETCH = Source(_RAFT, "Fetch")
_CLIENT = "KafkaRaftClient"
_LEADER_CODE = f"{_CLIENT}.validateLeaderOnlyRequest"
_VOTER_CODE = f"{_CLIENT}.validateVoterOnlyRequest"
_LOG_CODE = "RaftLog.validateOffsetAndEpoch"
_FETCHES = {"FETCH": Versions(FIRST_WITH_QUORUM)}
_CHECK = Check.WRONG_QUORUM_RESPONSE


def _fetch(says: str, code: str) -> ProtocolRule:
    return ProtocolRule(says, _RAFT_FETCH, code, _FETCHES, _CHECK)


def _old_rule(says: str, place: str, api: str) -> ProtocolRule:
    return ProtocolRule(says, Source(_RAFT, place), _VOTER_CODE, {api: Versions(0)}, _CHECK)


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
        Source(_RAFT, "responses of Fetch, Vote, BeginQuorumEpoch, EndQuorumEpoch"),
        "RaftUtil.singletonFetchResponse",
        _FETCHES | {api: Versions(0) for api in (_VOTE, _BEGIN, _RESIGN)},
        _CHECK,
    ),
    QuorumRule.OLD_VOTE: _old_rule(
        "A Vote for a candidate of an older epoch, whose last entry is of a still older one, is"
        " refused with FENCED_LEADER_EPOCH and not granted.",
        "Vote",
        _VOTE,
    ),
    QuorumRule.OLD_BEGIN: _old_rule(
        "A BeginQuorumEpoch of an older epoch is refused with FENCED_LEADER_EPOCH.",
        "BeginQuorumEpoch",
        _BEGIN,
    ),
    QuorumRule.OLD_END: _old_rule(
        "An EndQuorumEpoch of an older epoch is refused with FENCED_LEADER_EPOCH.",
        "EndQuorumEpoch",
        _RESIGN,
    ),
}

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
        "KRaftMetadataCache.partitionMetadata",
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
        "Message.read",
        {},
        Check.MALFORMED_RESPONSE,
    ),
    **COMMIT_RULES,
    **QUORUM_RULES,
}

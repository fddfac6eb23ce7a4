"""The rules of committed offsets on the wire: OffsetCommit, TxnOffsetCommit and OffsetFetch."""

import enum

from contract.checks import Check
from contract.protocol_rule import ProtocolRule, Source, Versions


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

_KIP_1319, _KIP_320 = "KIP-1319", "KIP-320"
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
        Source(_KIP_320, "OffsetCommit and TxnOffsetCommit"),
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
        Source(_KIP_320, "Offset Schema Changes"),
        "GroupCoordinatorRecordHelpers.newOffsetCommitRecord",
        _BOTH,
        Check.WRONG_STORED_COMMIT,
    ),
    CommitRule.FETCHED_COMMIT: ProtocolRule(
        "An OffsetFetch response has the offset and metadata of the last stored commit; -1 where"
        " there is none.",
        Source(_KIP_320, "OffsetFetch"),
        _READ,
        {OFFSET_FETCH: Versions(1)},
        Check.WRONG_FETCHED_COMMIT,
    ),
    CommitRule.EPOCH_OF_COMMIT: ProtocolRule(
        "An OffsetFetch response has the leader epoch of the last stored commit.",
        Source(_KIP_320, "OffsetFetch"),
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

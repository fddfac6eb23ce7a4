"""The outcome of an operation, and which Kafka errors are definite."""

import enum


class Outcome(enum.StrEnum):
    """ok: it happened. failed: it definitely did not. unknown: the response leaves both possible.

    nothing: of a commit: the client had nothing to commit, as its position awaits validation. A
        plain commit during which the client's position changes is unknown.
    """

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"
    NOTHING = "nothing"


class CommitEpoch(enum.StrEnum):
    """The leader epoch that a group commits with its offset (KAFKA-19902).

    Each is what a client or an application commits with released clients; `position`, `metadata`
    and `max` read out the state that the client has, which is not what a patched client would have.

    record: that of the last record polled: plain `commitSync()`.
    application: offset + 1 and the record's leader epoch, by an application that keeps both
        (`commitSync(records.nextOffsets())` where the client has it).
    position: that of the position's current leader, as it stands in the client.
    metadata: that of the client's own metadata, as it stands.
    max: the larger of record and position.
    forced: the partition's leader epoch, by an application that asks the cluster for it.
    none: no epoch at all, as `new OffsetAndMetadata(offset)`.
    stale: one below the record's (a faulty client).
    """

    RECORD = "record"
    APPLICATION = "application"
    POSITION = "position"
    METADATA = "metadata"
    MAX = "max"
    FORCED = "forced"
    NONE = "none"
    STALE = "stale"


class Manner(enum.StrEnum):
    """How a group commits: sync, auto, periodic and unawaited with any client.

    Message and stored are for librdkafka, the others for a Java client.

    sync: `commitSync`, or `commit()` of a Python client; with style record without arguments, with
        any other with the offsets.
    async: `commitAsync`, and the wait for its response.
    auto: `enable.auto.commit`: the client commits by itself, Java's only when it is closed.
    periodic: `enable.auto.commit` with the client's `auto.commit.interval.ms`, or that of the
        group's settings.
    unawaited: `commitAsync` after each poll that returned records, without a wait for its response;
        when the story orders a commit, as before a close, `commitSync`.
    revoked: `commitSync` in `onPartitionsRevoked`, when the consumer is closed.
    auto-revoked: `enable.auto.commit`, and a commit in `onPartitionsRevoked` as well.
    external: the application stores offset and epoch itself, commits nothing to Kafka, and seeks
        when partitions are assigned.
    transactional: `sendOffsetsToTransaction`, in a transaction that is committed.
    message: `commit(message=...)` of confluent-kafka, with the last message of each partition.
    stored: `store_offsets(message=...)` of confluent-kafka (`enable.auto.offset.store=false`), and
        `commit()` without arguments.
    """

    SYNC = "sync"
    ASYNC = "async"
    AUTO = "auto"
    PERIODIC = "periodic"
    UNAWAITED = "unawaited"
    REVOKED = "revoked"
    AUTO_REVOKED = "auto-revoked"
    EXTERNAL = "external"
    TRANSACTIONAL = "transactional"
    MESSAGE = "message"
    STORED = "stored"


BY_THE_CLIENT = (str(Manner.AUTO), str(Manner.PERIODIC), str(Manner.AUTO_REVOKED))
"""Manners of which the client commits by itself, and reports nothing."""


class ResetPolicy(enum.StrEnum):
    """`auto.offset.reset` of a consumer."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class GroupChange(enum.StrEnum):
    """An event of a member of a group.

    stalled: it did not reach the log ends in time. An exception of its client is `ConsumerFailed`.
    sought: the application set its position (`KafkaConsumer.seek`).
    paused, resumed: in between its application fetched nothing (`KafkaConsumer.pause`, or no poll).
    """

    OPENED = "opened"
    ASSIGNED = "assigned"
    REVOKED = "revoked"
    CAUGHT_UP = "caught_up"
    STALLED = "stalled"
    SOUGHT = "sought"
    PAUSED = "paused"
    RESUMED = "resumed"
    CLOSED = "closed"


class TransactionStep(enum.StrEnum):
    """A step of a transactional producer; describe: a request to the coordinator."""

    INITIALIZE = "initialize"
    BEGIN = "begin"
    SEND_OFFSETS = "send_offsets"
    COMMIT = "commit"
    ABORT = "abort"
    DESCRIBE = "describe"


class TransactionChange(enum.StrEnum):
    """The outcome of a step; fenced: refused because of a newer producer epoch."""

    INITIALIZED = "initialized"
    BEGUN = "begun"
    OFFSETS_SENT = "offsets_sent"
    COMMITTED = "committed"
    ABORTED = "aborted"
    DESCRIBED = "described"
    FENCED = "fenced"
    FAILED = "failed"


class Isolation(enum.StrEnum):
    """`isolation.level` of a consumer."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


_FENCED_PRODUCER = frozenset({"ProducerFencedException", "InvalidProducerEpochException"})
_FENCED_ELSEWHERE = frozenset(
    {
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_EPOCH",
        "_FENCED",
        "ProducerFencedError",
        "InvalidProducerEpochError",
    }
)
"""The same of librdkafka and kafka-python."""
REFUSED_SENDS = frozenset(
    {
        "RecordTooLargeException",
        "InvalidTopicException",
        "TopicAuthorizationException",
        "ClusterAuthorizationException",
        "UnsupportedVersionException",
        "InvalidRequiredAcksException",
        "SerializationException",
        "InvalidTxnStateException",
    }
)
"""Definite failures without retries: no attempt of the send was appended.

For other errors one attempt was refused, but an earlier attempt whose response was lost may have
been appended (`Partition.appendRecordsToLeader` checks the ISR before it looks for a duplicate).
"""
DEFINITE_SEND_FAILURES = frozenset(
    {
        *REFUSED_SENDS,
        "UnknownTopicOrPartitionException",
        "UnknownTopicIdException",
        "NotEnoughReplicasException",
        "CorruptRecordException",
        "TransactionAbortedException",
        *_FENCED_PRODUCER,
    }
)
NO_OFFSET = "_NO_OFFSET"
"""The error of a commit for which the client had no offset; as librdkafka names it."""
DEFINITE_COMMIT_FAILURES = frozenset(
    {
        "CommitFailedException",
        "FencedInstanceIdException",
        "IllegalGenerationException",
        "UnknownMemberIdException",
        "RebalanceInProgressException",
        "GroupAuthorizationException",
        "TopicAuthorizationException",
        "OffsetMetadataTooLarge",
        "StaleMemberEpochException",
    }
)
"""Errors of the Java client. Other clients have theirs in `GroupMember.definite_failures`."""
NOT_A_MEMBER = (
    "CommitFailed",
    "UnknownMemberId",
    "IllegalGeneration",
    "FencedInstanceId",
    "FencedMemberEpoch",
    "StaleMemberEpoch",
)
"""Errors of a commit of whom the group has no more, without `Exception`, `Error` or underscores."""
DEFINITE_TRANSACTION_FAILURES = frozenset(
    {
        "InvalidTxnStateException",
        "InvalidPidMappingException",
        "TransactionAbortableException",
        "TransactionAbortedException",
        "TransactionalIdAuthorizationException",
        "UnsupportedVersionException",
        *_FENCED_PRODUCER,
        *DEFINITE_SEND_FAILURES,
        *DEFINITE_COMMIT_FAILURES,
    }
)


def send_outcome(error: str | None, definite: frozenset[str]) -> Outcome:
    """The outcome of a send from the name of the client's exception or error; as below."""
    return _outcome(error, definite)


def commit_outcome(error: str | None, definite: frozenset[str]) -> Outcome:
    """The outcome of an offset commit from the name of the client's exception or error.

    Args:
        error: the name; None: acknowledged.
        definite: the names that the client has for commits which surely did not happen.
    """
    if error == NO_OFFSET:
        return Outcome.NOTHING
    return _outcome(error, definite)


def transaction_outcome(error: str | None, definite: frozenset[str]) -> Outcome:
    """The outcome of a step of a transaction from the name of the client's exception or error.

    A step that timed out is unknown: the coordinator may have carried it out.
    """
    return _outcome(error, definite)


def is_fencing(error: str | None) -> bool:
    """Whether a producer was refused since a newer producer epoch is in force."""
    return error in _FENCED_PRODUCER | _FENCED_ELSEWHERE


def _outcome(error: str | None, definite: frozenset[str]) -> Outcome:
    if error is None:
        return Outcome.OK
    return Outcome.FAILED if error in definite else Outcome.UNKNOWN

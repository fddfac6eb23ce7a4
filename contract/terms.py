"""The terms that histories, plans, tables and verdicts share: outcomes, stages, checks, targets."""

import enum
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from contract.errors import lacking

# The outcome of an operation, how a group commits, and which Kafka errors are definite.


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


# The stages of a run, in their order, and how long a phase of each may take.


class Stage(enum.StrEnum):
    """The stages that all scenarios share.

    starting: nodes, servers, clients and topics come up.
    warm up: prepares what the scenario needs.
    steady: the workload runs without a fault.
    held: at least one fault is being injected or holds.
    healed: no fault holds any more; its consequences may last.
    settling: waits until every replica is in sync again.
    final read: groups read to the log ends.
    collecting: ends clients and servers, and collects what they left.
    """

    STARTING = "starting"
    WARM_UP = "warm up"
    STEADY = "steady"
    HELD = "held"
    HEALED = "healed"
    SETTLING = "settling"
    FINAL_READ = "final read"
    COLLECTING = "collecting"


PHASE_LIMIT_SECONDS = {
    Stage.STARTING: 120,
    Stage.WARM_UP: 120,
    Stage.STEADY: 120,
    Stage.HELD: 180,
    Stage.HEALED: 120,
    Stage.SETTLING: 120,
    Stage.FINAL_READ: 120,
    Stage.COLLECTING: 300,
}
"""Many times what a phase takes on two cores. A longer phase is a property of the machine, not of
Kafka."""
BY_HAND = "orders by hand"
"""What a playground does between its orders, which takes as long as a person likes."""
HUNG_AFTER = 2
"""A run whose phase takes this many times its limit hangs, and is stopped."""


# The names of the checks: of the statements in `analysis/checks`, and of two that are none.


_STATEMENTS = Path(__file__).resolve().parents[1] / "analysis" / "checks"
_NAMES = sorted([*(path.stem for path in _STATEMENTS.glob("*.sql")), "resumption", "vacuous_check"])


class _OfFiles(enum.EnumMeta):
    """The class of an enum whose members are files: a type checker takes any name for one."""

    def __getattr__(cls, name: str) -> "Check":
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(lacking(cls.__name__, name, cls.__members__))


class Check(enum.StrEnum, metaclass=_OfFiles):
    """A finding that the analysis looks for."""

    vars().update({name.upper(): name for name in _NAMES})


# What a fault is in a history and in the trace: its verb, and the target that it acts on.


_Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class TargetKind(enum.StrEnum):
    """How a fault names what it acts on.

    leader, follower, followers: the brokers that have this role for a partition.
    broker: a broker, by its id.
    controller: the active controller.
    voter, other-voters: a voter of the metadata quorum, by its id; all voters except that one.
    coordinator: the broker that coordinates a group.
    transaction-coordinator: the broker that coordinates a transactional.id.
    all: all brokers.
    minority: the largest number of brokers, or controllers, whose absence leaves a majority.
    client: the node of a worker with clients under test.
    topic, partition, group: a topic, a partition, a consumer group.
    replicas: all replicas of a partition.
    transactional.id: the producers of one or several transactional.ids.
    """

    LEADER = "leader"
    FOLLOWER = "follower"
    FOLLOWERS = "followers"
    BROKER = "broker"
    CONTROLLER = "controller"
    VOTER = "voter"
    OTHER_VOTERS = "other-voters"
    COORDINATOR = "coordinator"
    TRANSACTION_COORDINATOR = "transaction-coordinator"
    ALL = "all"
    MINORITY_OF_BROKERS = "minority:brokers"
    MINORITY_OF_CONTROLLERS = "minority:controllers"
    CLIENT = "client"
    TOPIC = "topic"
    PARTITION = "partition"
    GROUP = "group"
    REPLICAS = "replicas"
    TRANSACTIONAL_ID = "transactional.id"


class FaultTarget(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The target of a fault; what does not name targets of its kind is None or empty.

    Attributes:
        brokers: the servers that it named when the fault was injected.
    """

    target_kind: TargetKind
    brokers: tuple[_Number, ...] = ()
    topic: str | None = None
    partition: _Number | None = None
    group: str | None = None
    worker: str | None = None
    transactional_ids: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called where it is given, e.g. `leader:orders-0` or `broker:2`."""
        if self.transactional_ids:
            own = ",".join(self.transactional_ids)
        elif self.partition is not None:
            own = f"{self.topic}-{self.partition}"
        elif self.target_kind in (TargetKind.BROKER, TargetKind.VOTER) and self.brokers:
            own = str(self.brokers[0])
        else:
            own = self.topic or self.group or self.worker or ""
        return f"{self.target_kind}:{own}" if own else str(self.target_kind)

    def __str__(self) -> str:
        """Return its name, and the servers that it named, e.g. `leader:orders-0 (broker 1)`."""
        if not self.brokers:
            return self.name
        noun = "broker" if len(self.brokers) == 1 else "brokers"
        return f"{self.name} ({noun} {', '.join(map(str, self.brokers))})"


def target_of(row: Mapping[str, Any]) -> FaultTarget:
    """Return the target of a row of the table `faults`."""
    return FaultTarget(
        target_kind=TargetKind(row["target_kind"]),
        brokers=_all(row["brokers"]),
        topic=row["topic"],
        partition=row["partition"],
        group=row["group"],
        worker=row["worker"],
        transactional_ids=_all(row["transactional_ids"]),
    )


def _all(values: Iterable[Any] | None) -> tuple[Any, ...]:
    """Return the elements of a list; of a damaged table it may be missing."""
    return () if values is None else tuple(values)

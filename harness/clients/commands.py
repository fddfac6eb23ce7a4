"""What the driver tells a worker: its plan file, then one JSON command a line on standard input."""

import msgspec

from contract.clients import Client
from contract.outcomes import Isolation, Outcome
from harness.clients.command import Command
from harness.clients.observer_commands import (
    AlterTopic,
    CreateTopics,
    Decode,
    DeleteRecords,
    DeleteTopic,
    DescribeGroup,
    DescribeTopic,
    DescribeTransactions,
    ElectLeader,
    FenceProducers,
    FindController,
    FindCoordinator,
    FindTopicId,
    Inspect,
    JoinAndLeave,
    ListBrokers,
    ListCommitted,
    Reassign,
    TruncateTail,
    Watch,
)


class WorkerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker starts: written to a file on its node, whose path is its only argument.

    bootstrap: `address:port` of each broker, joined by commas.
    jars: those of the Kafka version whose classes it uses.
    """

    worker: str
    role: str
    node: str
    history: str
    log: str
    bootstrap: str
    jars: list[str]
    kafka: str


class Produce(Command, frozen=True, kw_only=True):
    """Send `count` values with a producer of its own and wait until each has its outcome.

    bootstrap: `bootstrap.servers`; None: the worker's own.
    """

    producer: str
    topic: str
    partition: int
    acks: str
    sequence_first: int
    count: int
    bootstrap: str | None = None


class StartProducer(Command, frozen=True, kw_only=True):
    """Send values at a steady rate, to each partition in turn, until `StopProducer`.

    acks: 0, 1 or all. A value that has no outcome after `delivery_timeout_ms` is unknown.
    """

    producer: str
    topic: str
    partitions: list[int]
    acks: str
    records_per_second: int
    delivery_timeout_ms: int = 20_000


class CountProduced(Command, frozen=True, kw_only=True):
    """Answers, by partition, how many values of a started producer came to each outcome so far."""

    producer: str


class StopProducer(Command, frozen=True, kw_only=True):
    """Send no more, wait for all outcomes, close the producer; answers as `CountProduced`."""

    producer: str


class OpenTransactional(Command, frozen=True, kw_only=True):
    """Open a producer with a transactional.id and initialize it; answers a `StepAnswer`.

    transaction_timeout_ms: after so long, the coordinator aborts an open transaction.
    """

    producer: str
    transactional_id: str
    transaction_timeout_ms: int


class BeginTransaction(Command, frozen=True, kw_only=True):
    """Let an open transactional producer begin a transaction; answers a `StepAnswer`."""

    producer: str


class SendInTransaction(Command, frozen=True, kw_only=True):
    """Send `count` values to each partition; answers how many came to each outcome."""

    producer: str
    topic: str
    partitions: list[int]
    count: int


class CopyInTransaction(Command, frozen=True, kw_only=True):
    """Write a value to `partition` for each record that an open Java member polls.

    It polls until it has at least `records`, and hands the member's positions to the transaction;
    with 0 records it only does the latter. Answers a `StepAnswer` of that.

    Raises:
        WorkerError: the member got fewer records in time.
    """

    producer: str
    member: str
    topic: str
    partition: int
    records: int
    timeout_seconds: float = 30


class EndTransaction(Command, frozen=True, kw_only=True):
    """Commit or abort the transaction; answers a `StepAnswer`."""

    producer: str
    is_commit: bool


TransactionCommand = (
    OpenTransactional | BeginTransaction | SendInTransaction | CopyInTransaction | EndTransaction
)


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer to open: a member of `group`, subscribed to `topic`; `client` is which.

    bootstrap: `bootstrap.servers`; None: the worker's own.
    settings: further ones, by the client's own names.
    """

    group: str
    member: str
    topic: str
    reset: str
    client: str = Client.JAVA
    isolation: str = Isolation.READ_UNCOMMITTED
    bootstrap: str | None = None
    settings: dict[str, str | int] = {}


class OpenMembers(Command, frozen=True, kw_only=True):
    """Open consumers; they join their groups at their first `Consume`."""

    members: list[Member]


class LogEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Where a topic's partition ends."""

    topic: str
    partition: int
    offset: int


class Consume(Command, frozen=True, kw_only=True):
    """Poll each member until its position is exactly the log end of every partition it has.

    With `may_pass` a position beyond counts too: for logs that grow meanwhile.

    A member whose poll raises stops there; one that does not come to its end in time is recorded
    as `stalled`. The answer counts the members by how they ended.
    """

    members: list[str]
    ends: list[LogEnd]
    timeout_seconds: float
    may_pass: bool = False


class MemberCommit(msgspec.Struct, frozen=True, kw_only=True):
    """How one member commits its position.

    cluster_epochs: by partition, the leader epoch as the cluster reports it, for style `forced`.
    """

    member: str
    commit_epoch: str
    cluster_epochs: dict[int, int] = {}


class CommitPositions(Command, frozen=True, kw_only=True):
    """Let each member commit its position, with the leader epoch that `commit_epoch` chooses."""

    commits: list[MemberCommit]


class StartConsuming(Command, frozen=True, kw_only=True):
    """Let members poll, each in a thread of its own, until `StopConsuming`.

    commit_epoch: any but `forced`; each member commits its positions so at this interval.
    """

    members: list[str]
    commit_epoch: str
    commit_interval_ms: int


class CountCommits(Command, frozen=True, kw_only=True):
    """Answers, by member, how many of its commits were acknowledged so far."""

    members: list[str]


class StopConsuming(Command, frozen=True, kw_only=True):
    """Let members stop polling; they stay open, and in their groups."""

    members: list[str]


class CloseMembers(Command, frozen=True, kw_only=True):
    """Close consumers: they leave their groups and commit nothing more."""

    members: list[str]


class Ping(Command, frozen=True, kw_only=True):
    """Answers nothing, by which the driver learns that the worker is there."""


class Finish(Command, frozen=True, kw_only=True):
    """Close everything and end."""


AnyCommand = (
    Produce
    | StartProducer
    | CountProduced
    | StopProducer
    | OpenTransactional
    | BeginTransaction
    | SendInTransaction
    | CopyInTransaction
    | EndTransaction
    | OpenMembers
    | Consume
    | CommitPositions
    | StartConsuming
    | CountCommits
    | StopConsuming
    | CloseMembers
    | CreateTopics
    | DeleteTopic
    | DescribeTopic
    | FindTopicId
    | JoinAndLeave
    | DescribeGroup
    | ListCommitted
    | Inspect
    | Watch
    | ListBrokers
    | FindController
    | FindCoordinator
    | ElectLeader
    | DeleteRecords
    | AlterTopic
    | Reassign
    | FenceProducers
    | DescribeTransactions
    | TruncateTail
    | Decode
    | Ping
    | Finish
)


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a step of a transaction; `error` is the simple name of the exception."""

    change: str
    outcome: Outcome
    error: str | None


class TransactionState(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator of a transactional id knows; `state` in Kafka's words (Ongoing, ...).

    expires_ms: when an open transaction reaches its `transaction.timeout.ms`, since 1970; None
        where none is open.
    """

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    expires_ms: int | None = None


Counts = dict[str, dict[str, int]]
"""Of a producer's values: by partition (as text), then by outcome."""

ENCODER = msgspec.json.Encoder()
DECODER: msgspec.json.Decoder[AnyCommand] = msgspec.json.Decoder(AnyCommand)

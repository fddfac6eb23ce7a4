"""The input of a worker: a plan file, then one JSON command per line on standard input."""

import msgspec

from contract.clients import Client
from contract.outcomes import Isolation, Manner, Outcome, TransactionChange
from contract.tagged import decoder_of
from harness.clients import (  # the decoder reads these too
    observer_commands,  # noqa: F401
    quorum_commands,  # noqa: F401
)
from harness.clients.command import Command


class WorkerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's settings, in a file on its node whose path is the worker's only argument.

    bootstrap: `address:port` of each broker, joined by commas.
    jars: the class path of the Kafka whose classes it uses.
    """

    worker: str
    role: str
    node: str
    history: str
    log: str
    bootstrap: str
    jars: list[str]


class Produce(Command, frozen=True, kw_only=True):
    """Send `count` values with a new producer and wait until each has an outcome.

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
    """Send values at a fixed rate, to each partition in turn, until `StopProducer`.

    acks: 0, 1 or all. A value that has no outcome after `delivery_timeout_ms` is unknown.
    """

    producer: str
    topic: str
    partitions: list[int]
    acks: str
    records_per_second: int
    delivery_timeout_ms: int = 20_000


class CountProduced(Command, frozen=True, kw_only=True):
    """Result: a started producer's values so far, by partition and outcome (`Counts`)."""

    producer: str


class StopProducer(Command, frozen=True, kw_only=True):
    """Stop sending, wait for all outcomes, close the producer. Result: as `CountProduced`."""

    producer: str


class OpenTransactional(Command, frozen=True, kw_only=True):
    """Open a producer with a transactional.id and initialize it. Result: a `StepAnswer`.

    transaction_timeout_ms: after this time the coordinator aborts an open transaction.
    """

    producer: str
    transactional_id: str
    transaction_timeout_ms: int


class BeginTransaction(Command, frozen=True, kw_only=True):
    """Begin a transaction of an open transactional producer. Result: a `StepAnswer`."""

    producer: str


class SendInTransaction(Command, frozen=True, kw_only=True):
    """Send `count` values to each partition. Result: their number by outcome."""

    producer: str
    topic: str
    partitions: list[int]
    count: int


class CopyInTransaction(Command, frozen=True, kw_only=True):
    """Write a value to `partition` for each record that an open Java member polls.

    It polls until it has at least `records`, and sends the member's positions to the transaction.
    With 0 records it only sends the positions. Result: a `StepAnswer` of that.

    Raises:
        WorkerError: the member received fewer records in time.
    """

    producer: str
    member: str
    topic: str
    partition: int
    records: int
    timeout_seconds: float = 30


class EndTransaction(Command, frozen=True, kw_only=True):
    """Commit or abort the transaction. Result: a `StepAnswer`."""

    producer: str
    is_commit: bool


TransactionCommand = (
    OpenTransactional | BeginTransaction | SendInTransaction | CopyInTransaction | EndTransaction
)


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer to open: a member of `group`, subscribed to `topic`, of a `client`.

    bootstrap: `bootstrap.servers`; None: the worker's own.
    settings: further ones, by the client's own names.
    manner: how it commits.
    """

    group: str
    member: str
    topic: str
    reset: str
    client: str = Client.JAVA
    isolation: str = Isolation.READ_UNCOMMITTED
    bootstrap: str | None = None
    settings: dict[str, str | int] = {}
    manner: str = Manner.SYNC


class OpenMembers(Command, frozen=True, kw_only=True):
    """Open consumers; they join their groups at their first `Consume`."""

    members: list[Member]


class LogEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The log end of a partition."""

    topic: str
    partition: int
    offset: int


class Consume(Command, frozen=True, kw_only=True):
    """Poll each member until its position is exactly the log end of each of its partitions.

    With `may_pass` a position beyond it suffices: for logs that still grow.

    A member whose poll raises an exception stops there. One that does not reach the log ends
    before the timeout is recorded as `stalled`. Result: how each member ended.
    """

    members: list[str]
    ends: list[LogEnd]
    timeout_seconds: float
    may_pass: bool = False


class MemberCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The commit of one member's position.

    cluster_epochs: by partition, the leader epoch as the cluster reports it, for style `forced`.
    """

    member: str
    commit_epoch: str
    cluster_epochs: dict[int, int] = {}


class CommitPositions(Command, frozen=True, kw_only=True):
    """Let each member commit its position, with the leader epoch that `commit_epoch` selects."""

    commits: list[MemberCommit]


class StartConsuming(Command, frozen=True, kw_only=True):
    """Let members poll, each in its own thread, until `StopConsuming`.

    commit_epoch: any but `forced`; each member commits its positions in this style at the interval.
    processing_ms: how long the application takes for what a poll returned.
    """

    members: list[str]
    commit_epoch: str
    commit_interval_ms: int
    processing_ms: int = 0


class CountCommits(Command, frozen=True, kw_only=True):
    """Result: by member, the number of its commits acknowledged so far."""

    members: list[str]


class CountReceived(Command, frozen=True, kw_only=True):
    """Result: by member of a Java client, the bytes that it received from each broker so far.

    They are those of the connection on which it fetches; its group's coordinator has another one.
    """

    members: list[str]
    brokers: list[int]


class StopConsuming(Command, frozen=True, kw_only=True):
    """Let members stop polling; they stay open and in their groups."""

    members: list[str]


class CloseMembers(Command, frozen=True, kw_only=True):
    """Close consumers: they leave their groups without a commit."""

    members: list[str]


class Ping(Command, frozen=True, kw_only=True):
    """No result; it shows the driver that the worker responds."""


class Finish(Command, frozen=True, kw_only=True):
    """Close everything and end."""


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a step of a transaction; `error` is the simple name of the exception."""

    change: TransactionChange
    outcome: Outcome
    error: str | None


class TransactionState(msgspec.Struct, frozen=True, kw_only=True):
    """A transactional id as its coordinator reports it; `state` is Kafka's (Ongoing, ...).

    expires_ms: when an open transaction reaches its `transaction.timeout.ms`, in ms since 1970;
        None without an open transaction.
    """

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    expires_ms: int | None = None


Counts = dict[str, dict[str, int]]
"""The number of a producer's values by partition (as text), then by outcome."""

ASK_SETTINGS = "settings"
"""The argument of a member's program with which it says which settings its client refuses."""

ENCODER = msgspec.json.Encoder()
DECODER = decoder_of(Command)

"""What the driver tells a worker: its plan file, then one JSON command a line on standard input."""

import msgspec

from harness.contract.clients import Client
from harness.contract.outcomes import Isolation, Outcome


class WorkerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker starts: written to a file on its node, whose path is its only argument.

    bootstrap: `address:port` of each broker, joined by commas.
    jars: folder of the Kafka version whose classes it uses.
    """

    worker: str
    role: str
    node: str
    history: str
    log: str
    bootstrap: str
    jars: str
    kafka: str


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag=True):
    """A command; the worker answers it in its history with an `Answered` of the same request."""

    request: int = -1


class Produce(Command, frozen=True, kw_only=True):
    """Send `count` values with a producer of its own and wait until each has its outcome."""

    producer: str
    topic: str
    partition: int
    acks: str
    sequence_first: int
    count: int


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
    """A consumer to open: a member of `group`, subscribed to `topic`; `client` is which."""

    group: str
    member: str
    topic: str
    reset: str
    client: str = Client.JAVA
    isolation: str = Isolation.READ_UNCOMMITTED


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
    """How one member commits its position: `current_epoch` is the leader epoch of its partition."""

    member: str
    commit_epoch: str
    current_epoch: int


class CommitPositions(Command, frozen=True, kw_only=True):
    """Let each member commit its position, with the leader epoch that `commit_epoch` chooses."""

    commits: list[MemberCommit]


class StartConsuming(Command, frozen=True, kw_only=True):
    """Let members poll, each in a thread of its own, until `StopConsuming`.

    commit_epoch: `record` or `none`; each member commits its positions so at this interval.
    """

    members: list[str]
    commit_epoch: str
    commit_interval_ms: int


class StopConsuming(Command, frozen=True, kw_only=True):
    """Let members stop polling; they stay open, and in their groups."""

    members: list[str]


class CloseMembers(Command, frozen=True, kw_only=True):
    """Close consumers: they leave their groups and commit nothing more."""

    members: list[str]


class NewTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic to create: the brokers of each partition's replicas, the preferred leader first."""

    topic: str
    assignment: list[list[int]]
    config: dict[str, str]


class CreateTopics(Command, frozen=True, kw_only=True):
    """Create topics."""

    topics: list[NewTopic]


class Inspect(Command, frozen=True, kw_only=True):
    """Ask one broker what it knows of partitions and, of those it leads, where the log lies.

    The answer is a list of `PartitionState`; each goes to the history as a `Sampled` too.
    """

    broker: int
    address: str
    port: int
    topics: list[str]


class Watch(Command, frozen=True, kw_only=True):
    """Sample brokers from now on, each by itself: what each leads, and what changed otherwise.

    brokers: (id, address, port) of each.
    """

    brokers: list[tuple[int, str, int]]
    topics: list[str]
    interval_ms: int


class ElectLeader(Command, frozen=True, kw_only=True):
    """Elect a partition's leader: the preferred one, or (unclean) any replica that lives."""

    topic: str
    partition: int
    unclean: bool


class DeleteRecords(Command, frozen=True, kw_only=True):
    """Delete a partition's records below an offset; answers the log start after it."""

    topic: str
    partition: int
    before_offset: int


class AlterTopic(Command, frozen=True, kw_only=True):
    """Set configurations of a topic."""

    topic: str
    config: dict[str, str]


class Reassign(Command, frozen=True, kw_only=True):
    """Give a partition these replicas, of which the first is preferred."""

    topic: str
    partition: int
    replicas: list[int]


class FenceProducers(Command, frozen=True, kw_only=True):
    """Fence the producers of transactional ids (`Admin.fenceProducers`)."""

    transactional_ids: list[str]


class DescribeTransactions(Command, frozen=True, kw_only=True):
    """Ask the coordinators of transactional ids; answers a `TransactionState` each, in order.

    Each goes to the history as a `TransactionChanged` too.
    """

    transactional_ids: list[str]


class FindController(Command, frozen=True, kw_only=True):
    """Ask a broker which controller leads the metadata quorum; answers its id."""

    address: str
    port: int


class FindCoordinator(Command, frozen=True, kw_only=True):
    """Ask a broker who coordinates a consumer group; answers the broker's id, -1 if nobody."""

    address: str
    port: int
    group: str


class ListBrokers(Command, frozen=True, kw_only=True):
    """Ask one broker which brokers are registered and not fenced; answers their sorted ids."""

    address: str
    port: int


class CutTail(Command, frozen=True, kw_only=True):
    """Cut the last `records` records off a replica's newest segment, at a batch boundary.

    The broker must be down. Answers a `CutTailResult`.
    """

    folder: str
    records: int


class Decode(Command, frozen=True, kw_only=True):
    """Decode the replica folders below `segments` (`<broker>/<topic>-<partition>/`) to Parquet.

    Writes the tables that come from replicas into the folder `tables`.
    """

    segments: str
    tables: str


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
    | StopConsuming
    | CloseMembers
    | CreateTopics
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
    | CutTail
    | Decode
    | Finish
)


class PartitionState(msgspec.Struct, frozen=True, kw_only=True):
    """One broker's view of one partition; log bounds are -1 unless that broker leads it."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: list[int]
    log_start_offset: int
    log_end_offset: int


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a step of a transaction; `error` is the simple name of the exception."""

    change: str
    outcome: Outcome
    error: str | None


class TransactionState(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator of a transactional id knows; `state` in Kafka's words (Ongoing, ...)."""

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str


class CutTailResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `CutTail` removed, and where the log ended before and after."""

    removed: int
    log_end_before: int
    log_end_after: int


Counts = dict[str, dict[str, int]]
"""Of a producer's values: by partition (as text), then by outcome."""

ENCODER = msgspec.json.Encoder()
DECODER: msgspec.json.Decoder[AnyCommand] = msgspec.json.Decoder(AnyCommand)

"""What the driver tells a worker: its plan file, then one JSON command a line on standard input."""

import msgspec

from harness.contract.clients import Client


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


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer to open: a member of `group`, subscribed to `topic`; `client` is which."""

    group: str
    member: str
    topic: str
    reset: str
    client: str = Client.JAVA


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

    A member whose poll raises stops there; one that does not come to its end in time is recorded
    as `stalled`. The answer counts the members by how they ended.
    """

    members: list[str]
    ends: list[LogEnd]
    timeout_seconds: float


class MemberCommit(msgspec.Struct, frozen=True, kw_only=True):
    """How one member commits its position: `current_epoch` is the leader epoch of its partition."""

    member: str
    commit_epoch: str
    current_epoch: int


class CommitPositions(Command, frozen=True, kw_only=True):
    """Let each member commit its position, with the leader epoch that `commit_epoch` chooses."""

    commits: list[MemberCommit]


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
    | OpenMembers
    | Consume
    | CommitPositions
    | CloseMembers
    | CreateTopics
    | Inspect
    | ListBrokers
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


class CutTailResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `CutTail` removed, and where the log ended before and after."""

    removed: int
    log_end_before: int
    log_end_after: int


ENCODER = msgspec.json.Encoder()
DECODER: msgspec.json.Decoder[AnyCommand] = msgspec.json.Decoder(AnyCommand)

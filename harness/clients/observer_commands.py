"""What the driver tells the observer, and what it answers."""

import msgspec

from harness.clients.command import Command


class NewTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic to create: the brokers of each partition's replicas, the preferred leader first."""

    topic: str
    assignment: list[list[int]]
    config: dict[str, str]


class CreateTopics(Command, frozen=True, kw_only=True):
    """Create topics."""

    topics: list[NewTopic]


class DeleteTopic(Command, frozen=True, kw_only=True):
    """Delete a topic."""

    topic: str


class DescribeTopic(Command, frozen=True, kw_only=True):
    """Answers a topic as the `NewTopic` that would create it again."""

    topic: str


class FindTopicId(Command, frozen=True, kw_only=True):
    """Ask one broker under which id it knows a topic; answers an empty text if under none."""

    address: str
    port: int
    topic: str


class JoinAndLeave(Command, frozen=True, kw_only=True):
    """Join a consumer group as a further member until it is stable, and leave; answers a `JoinedAndLeft`.

    The guest speaks the group's own protocol, subscribes to the topics that the group has
    partitions of, and commits nothing. The members must poll.

    Raises:
        WorkerError: the group is not stable, or has no partitions.
    """

    group: str
    timeout_seconds: float


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
    """Elect a partition's leader: the preferred one, or (unclean) any replica that lives.

    bootstrap: `bootstrap.servers` of those that know which brokers reach the controllers. Admin
        sends the request to any broker that its metadata names; metadata of before a broker was
        partitioned from the controllers may name that one, which does not answer.
    """

    topic: str
    partition: int
    unclean: bool
    bootstrap: str


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
    """Ask a broker who coordinates a group, or a transactional.id; answers an id, -1 if nobody."""

    address: str
    port: int
    key: str
    of_transactions: bool


class DescribeGroup(Command, frozen=True, kw_only=True):
    """Ask a group's coordinator for its state and members; answers a `GroupView`, or None.

    None: it does not know the group (yet).
    """

    group: str


class ListCommitted(Command, frozen=True, kw_only=True):
    """Ask a group's coordinator for its committed offsets; answers them by `topic-partition`."""

    group: str


class ListBrokers(Command, frozen=True, kw_only=True):
    """Ask one broker which brokers are registered and not fenced; answers their sorted ids."""

    address: str
    port: int


class TruncateTail(Command, frozen=True, kw_only=True):
    """Cut the last `records` records off a replica's newest segment, at a batch boundary.

    The broker must be down. Answers a `TruncateTailResult`.
    """

    folder: str
    records: int


class Decode(Command, frozen=True, kw_only=True):
    """Decode the replica folders below `segments` (`<broker>/<topic>-<partition>/`) to Parquet.

    Writes the tables that come from replicas into the folder `tables`. Below `kept` there may be
    such folders from before the end, each in one that is named by its time.
    """

    segments: str
    kept: str
    tables: str


class PartitionState(msgspec.Struct, frozen=True, kw_only=True):
    """One broker's view of one partition; log bounds are -1 unless that broker leads it."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: list[int]
    log_start_offset: int
    log_end_offset: int


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a group: its id, its client.id, and `topic-partition` of each that it has."""

    member: str
    client: str
    partitions: list[str]


class GroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group as its coordinator tells it; type and state in Kafka's words."""

    type: str
    state: str
    members: list[MemberView]


class JoinedAndLeft(msgspec.Struct, frozen=True, kw_only=True):
    """A group before, with and after a guest; `generation` is what the guest was given.

    With the consumer protocol, that is its member epoch.
    """

    generation: int
    before: GroupView
    meanwhile: GroupView
    after: GroupView


class TruncateTailResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `TruncateTail` removed, and where the log ended before and after."""

    removed: int
    log_end_before: int
    log_end_after: int

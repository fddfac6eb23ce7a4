"""The commands of the driver to the observer, and their results."""

from typing import Any

import msgspec

from contract.clients import Client
from harness.clients.command import Command
from harness.wire.requests import Login, WireRequest


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
    """Result: a topic as the `NewTopic` that would create it again."""

    topic: str


class FindTopicId(Command, frozen=True, kw_only=True):
    """Query one broker for a topic's id. Result: the id, empty if it does not know the topic."""

    address: str
    port: int
    topic: str


class JoinAndLeave(Command, frozen=True, kw_only=True):
    """Join a consumer group until it is stable, and leave. Result: a `JoinedAndLeft`.

    The extra member uses the group's own protocol, subscribes to the topics that the group has
    partitions of, and commits nothing. The members must poll.

    Raises:
        WorkerError: the group is not stable, or has no partitions.
    """

    group: str
    timeout_seconds: float


class Inspect(Command, frozen=True, kw_only=True):
    """Query one broker for partitions and, if it leads them, the bounds of their logs.

    Result: a list of `PartitionState`. Each is also written to the history as a `Sampled`, unless
    its topic is internal: samples are of the topics of the plan.
    """

    broker: int
    address: str
    port: int
    topics: list[str]


class Watch(Command, frozen=True, kw_only=True):
    """Sample each broker from now on: the partitions that it leads, and changes of others.

    brokers: (id, address, port) of each.
    """

    brokers: list[tuple[int, str, int]]
    topics: list[str]
    interval_ms: int


class ElectLeader(Command, frozen=True, kw_only=True):
    """Elect a partition's leader: the preferred one, or (unclean) any live replica.

    bootstrap: `bootstrap.servers` of brokers whose metadata is current. Admin sends the request to
        any broker that its metadata names. Metadata from before a broker was partitioned from the
        controllers may name that broker, which does not respond.
    """

    topic: str
    partition: int
    unclean: bool
    bootstrap: str


class DeleteRecords(Command, frozen=True, kw_only=True):
    """Delete the records of partitions of a topic below an offset of each."""

    topic: str
    before_offsets: dict[int, int]


class AlterTopic(Command, frozen=True, kw_only=True):
    """Set configurations of a topic."""

    topic: str
    config: dict[str, str]


class Reassign(Command, frozen=True, kw_only=True):
    """Assign replicas to a partition, the preferred leader first."""

    topic: str
    partition: int
    replicas: list[int]


class FenceProducers(Command, frozen=True, kw_only=True):
    """Fence the producers of transactional ids (`Admin.fenceProducers`)."""

    transactional_ids: list[str]


class DescribeTransactions(Command, frozen=True, kw_only=True):
    """Query the coordinators of transactional ids. Result: a `TransactionState` each, in order.

    Each is also written to the history as a `TransactionChanged`.
    """

    transactional_ids: list[str]


class FindController(Command, frozen=True, kw_only=True):
    """Query a broker for the leader of the metadata quorum. Result: its id, -1 if there is none."""

    address: str
    port: int


class FindCoordinator(Command, frozen=True, kw_only=True):
    """Query a broker for the coordinator of a group or transactional.id. Result: its id or -1."""

    address: str
    port: int
    key: str
    of_transactions: bool


class DescribeGroup(Command, frozen=True, kw_only=True):
    """Query a group's coordinator for its state and members. Result: a `GroupView`, or None.

    None: the coordinator does not know the group (yet).
    """

    group: str


class ListCommitted(Command, frozen=True, kw_only=True):
    """Query a group's committed offsets. Result: the offsets by `topic-partition`."""

    group: str


class ListBrokers(Command, frozen=True, kw_only=True):
    """Query one broker for the registered, unfenced brokers. Result: their sorted ids."""

    address: str
    port: int


class CallBroker(Command, frozen=True, kw_only=True):
    """Send requests to one broker, one after the other. Result: a `WireResult` of each.

    Each is also written to the history as a `WireCalled`.

    topic_names: by topic id, of the topics that requests name by id.
    timeout_seconds: for the connection and for each read of a response.
    login: with which each connection begins; None on a listener without one.
    """

    broker: int
    address: str
    port: int
    requests: list[WireRequest]
    topic_names: dict[str, str]
    timeout_seconds: float = 10.0
    login: Login | None = None


class OffsetsForTimes(Command, frozen=True, kw_only=True):
    """Call `offsetsForTimes` of a client once for each time. Result: how many offsets it found.

    Each call is also written to the history as a `WireCalled`.
    """

    client: Client
    topic: str
    partition: int
    timestamps_ms: list[int]


class TruncateTail(Command, frozen=True, kw_only=True):
    """Truncate the last `records` records of a replica's newest segment, at a batch boundary.

    The broker must be down. Result: a `TruncateTailResult`.
    """

    folder: str
    records: int


class Decode(Command, frozen=True, kw_only=True):
    """Decode the replica folders below `segments` (`<broker>/<topic>-<partition>/`) to Parquet.

    Writes the tables that come from replicas into the folder `tables`; they name the run of the
    identity `run`. `kept` may have such folders from before the end of the run, each below a folder
    named by its time.
    """

    segments: str
    kept: str
    tables: str
    run: str


class PartitionState(msgspec.Struct, frozen=True, kw_only=True):
    """One broker's view of one partition; log bounds are -1 unless that broker leads it."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: list[int]
    log_start_offset: int
    log_end_offset: int


class WireResult(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a response, in the names of Kafka's schema, or why there is none."""

    response: dict[str, Any] | None
    failure: str | None


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a group: its id, its client.id, and `topic-partition` of each that it has."""

    member: str
    client: str
    partitions: list[str]


class GroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group as its coordinator reports it; type and state are Kafka's."""

    type: str
    state: str
    members: list[MemberView]


class JoinedAndLeft(msgspec.Struct, frozen=True, kw_only=True):
    """A group before, with and after an extra member; `generation` is that member's.

    With the consumer protocol it is the member epoch.
    """

    generation: int
    before: GroupView
    meanwhile: GroupView
    after: GroupView


class TruncateTailResult(msgspec.Struct, frozen=True, kw_only=True):
    """The number of removed records, and the log end before and after."""

    removed: int
    log_end_before: int
    log_end_after: int

"""A worker's history: its actions and observations in order, one JSON object per line.

Every event carries `seq` (from 0, without gaps, per history file), `wall_micros` (the node's wall
clock, microseconds since 1970) and `mono_micros` (the node's monotonic clock). Leader epochs are -1
where Kafka has none. The reader counts an incomplete last line, as SIGKILL leaves it, and
continues.
"""

import zlib
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from contract.terms import (
    CommitEpoch,
    FaultTarget,
    GroupChange,
    Manner,
    Outcome,
    Stage,
    TransactionChange,
    TransactionStep,
)

# JSON of classes that derive from one tagged base: the tag says which of them it is.


_T = TypeVar("_T", bound=msgspec.Struct)


def decoder_of(base: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return a decoder of every class that derives from `base` directly, and is defined by now."""
    union: Any = reduce(or_, base.__subclasses__())
    return msgspec.json.Decoder(union)


# Texts of a scenario in UTF-8: what can't be encoded, such as half of a pair, is escaped.


_ENCODER = msgspec.json.Encoder()


def encodable(text: str) -> str:
    """The text, with each character that UTF-8 has no code for as its escape in Python."""
    return text.encode(errors="backslashreplace").decode()


def as_json(value: Any) -> bytes:
    """A value as JSON, whatever its texts have."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_escape(msgspec.to_builtins(value)))


def _escape(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_escape(key): _escape(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_escape(element) for element in value]
    return value


# Unique values with their producer, their number and a checksum.
#
# A value reads `producer:sequence:crc32`, e.g. `writer-1:42:7d9c2a10`.


_DIGITS = 18
"""Of a sequence number at most, so that it is an int64."""


def make_value(producer: str, sequence: int) -> str:
    """Make the value that a producer writes under a sequence number."""
    body = f"{producer}:{sequence}"
    return f"{body}:{zlib.crc32(body.encode()):08x}"


def parse_value(value: str | None) -> tuple[str, int] | None:
    """Return the producer and the sequence number of an intact value; None of any other."""
    if value is None:
        return None
    body, _, checksum = value.rpartition(":")
    producer, separator, sequence = body.rpartition(":")
    if not separator or f"{zlib.crc32(body.encode()):08x}" != checksum:
        return None
    is_number = sequence.isascii() and sequence.isdigit() and len(sequence) <= _DIGITS
    return (producer, int(sequence)) if is_number and str(int(sequence)) == sequence else None


def is_intact(value: str) -> bool:
    """Return whether a value is an unchanged value of `make_value`."""
    return parse_value(value) is not None


NO_EPOCH = -1
"""Kafka's own mark of an absent leader epoch (`RecordBatch.NO_PARTITION_LEADER_EPOCH`)."""
INTENDED_MAX = 1_000_000
"""The maximum number of values in one event."""
NESTED_MAX = 32
"""The maximum nesting of a fault's evidence."""
_YEAR_10000_MICROS = 253_402_300_800_000_000

# The ranges keep what is read within the columns of the trace tables, and sums of two within int64.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
Micros = Annotated[int, msgspec.Meta(ge=-_YEAR_10000_MICROS, lt=_YEAR_10000_MICROS)]
WallMicros = Annotated[int, msgspec.Meta(ge=0, lt=_YEAR_10000_MICROS)]


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="event",
    tag=True,
    forbid_unknown_fields=True,
):
    """The fields of every event."""

    seq: Annotated[int, msgspec.Meta(ge=0, le=2**62)]
    wall_micros: WallMicros
    mono_micros: Micros


class WorkerStarted(Event, frozen=True, kw_only=True):
    """A worker runs: the first line of each history."""

    worker: str
    role: str
    node: str
    client: str
    client_version: str
    pid: Int32


class ClientNamed(Event, frozen=True, kw_only=True):
    """A guest has opened its consumer, and named its client: the library and the version of it."""

    client: str
    version: str


class WorkerSuspended(Event, frozen=True, kw_only=True):
    """A worker's process did not run for 2 s or more, until now: it was stopped, or its machine.

    began_micros: by the wall clock of the event, at most half a second too early.
    """

    began_micros: Micros


class WorkerStopped(Event, frozen=True, kw_only=True):
    """A worker ended by itself. The last line of a complete history."""


class Answered(Event, frozen=True, kw_only=True):
    """A command of the driver was carried out (or failed: `error` says why)."""

    request: Int32
    error: str | None = None
    result: Any = None


class SendsIntended(Event, frozen=True, kw_only=True):
    """About to send the values `sequence_first` to `sequence_last` (inclusive) of a producer.

    transaction: the producer's running number of the transaction that they belong to, from 0.
    idempotent, in_flight_max: the producer's `enable.idempotence` and
        `max.in.flight.requests.per.connection`; None where not known.
    """

    producer: str
    topic: str
    partition: Int32
    acks: str
    sequence_first: Int64
    sequence_last: Int64
    transaction: Int32 | None = None
    idempotent: bool | None = None
    in_flight_max: Int32 | None = None

    def __post_init__(self) -> None:
        """Refuse a range that is too long to be read."""
        if self.sequence_last - self.sequence_first >= INTENDED_MAX:
            raise ValueError(f"more than {INTENDED_MAX} sequence numbers in one event")


class Sent(Event, frozen=True, kw_only=True):
    """The outcome of sends, as parallel lists. `offsets` is -1 where the broker returned none."""

    producer: str
    topic: str
    partition: Int32
    acks: str
    outcome: Outcome
    sequences: list[Int64]
    offsets: list[Int64]
    error: str | None = None
    transaction: Int32 | None = None

    def __post_init__(self) -> None:
        """Refuse lists that are not parallel."""
        if len(self.sequences) != len(self.offsets):
            raise ValueError("sequences and offsets differ in length")


class TransactionChanged(Event, frozen=True, kw_only=True):
    """The outcome of one step of a transactional producer, or its coordinator's description.

    producer: whose step; empty for describe.
    transaction: the producer's running number of its transaction, from 0; None before the first.
    producer_id, producer_epoch: in force after the step; -1 where the client does not expose them.
    state: the transaction's, as the coordinator reports it; empty otherwise.
    began_micros: the node's wall clock when the step began; `wall_micros` is its end.
    """

    producer: str
    transactional_id: str
    step: TransactionStep
    change: TransactionChange
    transaction: Int32 | None
    producer_id: Int64
    producer_epoch: Int32
    began_micros: WallMicros
    outcome: Outcome
    error: str | None = None
    state: str = ""


class GroupChanged(Event, frozen=True, kw_only=True):
    """Something happened to a member of a group.

    `position` and `position_epoch` are the member's position on the partition at that time (None:
    it had none); for opened and closed the partition is -1. `generation` is the group's generation,
    or the member epoch with the consumer protocol; -1 where the client does not expose it. With the
    classic protocol each generation assigns all partitions again, also those that a member keeps.
    """

    group: str
    member: str
    change: GroupChange
    topic: str = ""
    partition: Int32 = -1
    position: Int64 | None = None
    position_epoch: Int32 = NO_EPOCH
    generation: Int32 = -1


class PollsMade(Event, frozen=True, kw_only=True):
    """The application polled a member, each time at most a second after the poll before had ended.

    began_micros, ended_micros: the node's wall clock when the first poll began and the last ended.
    """

    group: str
    member: str
    began_micros: WallMicros
    ended_micros: WallMicros


class Polled(Event, frozen=True, kw_only=True):
    """Records that one poll returned for one partition, as parallel lists in order."""

    group: str
    member: str
    topic: str
    partition: Int32
    offsets: list[Int64]
    epochs: list[Int32]
    values: list[str]

    def __post_init__(self) -> None:
        """Refuse lists that are not parallel."""
        if not len(self.offsets) == len(self.epochs) == len(self.values):
            raise ValueError("offsets, epochs and values differ in length")


class Committed(Event, frozen=True, kw_only=True):
    """A commit's outcome, with every leader epoch that could have been committed.

    offset: the position; None where the client had none that is valid (outcome `nothing`), or is a
        guest that does not show it.
    epoch: the one that was committed, chosen by `commit_epoch` (`CommitEpoch`).
    record_epoch: of the last record that the member had polled before `offset`.
    position_epoch: of the position's current leader, read out of the client when the commit began.
    metadata_epoch: of the partition in the client's metadata, read at the same time.
    position_epoch_after, metadata_epoch_after: the same two, read when the commit ended.
    cluster_epoch: the partition's leader epoch as the cluster reported it to the driver.
    began_micros: the node's wall clock when the commit began (None in older histories).
    generation: as in `GroupChanged`.
    manner: by which of the client's calls (None in older histories).
    """

    group: str
    member: str
    topic: str
    partition: Int32
    offset: Int64 | None
    epoch: Int32
    commit_epoch: CommitEpoch
    record_epoch: Int32
    position_epoch: Int32 = NO_EPOCH
    metadata_epoch: Int32 = NO_EPOCH
    cluster_epoch: Int32 = NO_EPOCH
    position_epoch_after: Int32 = NO_EPOCH
    metadata_epoch_after: Int32 = NO_EPOCH
    outcome: Outcome
    error: str | None = None
    began_micros: WallMicros | None = None
    generation: Int32 = -1
    manner: Manner | None = None


class OffsetRead(Event, frozen=True, kw_only=True):
    """A committed offset that a client returned to its application, or to an administrator.

    member: that asked; empty of an administrator.
    topic, partition: empty and -1 where the whole read failed and named no partitions.
    offset: None where there is no commit, or the read failed.
    epoch: the leader epoch committed with it; -1 without one, or where the client returns none.
    error: the client's name of it; None without one.
    is_stable: whether the client asks the coordinator for stable offsets (KIP-447); None where that
        is not known.
    """

    group: str
    member: str = ""
    topic: str = ""
    partition: Int32 = -1
    offset: Int64 | None = None
    epoch: Int32 = NO_EPOCH
    error: str | None = None
    is_stable: bool | None = None
    by: Literal["consumer", "admin"]
    began_micros: WallMicros


class ConsumerFailed(Event, frozen=True, kw_only=True):
    """A consumer's poll raised an exception. A LogTruncationException has the divergent offset.

    `position` and `position_epoch`: the position that the exception is about, where it names one.
    """

    group: str
    member: str
    exception: str
    message: str
    topic: str = ""
    partition: Int32 = -1
    position: Int64 | None = None
    position_epoch: Int32 = NO_EPOCH
    divergent_offset: Int64 | None = None
    divergent_epoch: Int32 = NO_EPOCH


class FaultChanged(Event, frozen=True, kw_only=True):
    """A fault changed state: injected, proved, heal_began or healed.

    number: of the fault, in the order of injection, by which its events belong together.
    target: resolved between `injected` and `proved`; the value of `proved` is the final one.
    landed: of `proved`: whether the evidence shows its effect. An effect that ends before the heal
        has a second `proved`, which says that it did not land.
    forced_ms: Kafka's timeouts that had to pass before its effect could show, by setting.
    """

    number: Int32
    fault: Annotated[str, msgspec.Meta(pattern="^[a-z][a-z ]*$")]
    target: FaultTarget
    change: Literal["injected", "proved", "heal_began", "healed"]
    landed: bool = False
    evidence: dict[str, Any] = {}
    forced_ms: dict[str, Int32] = {}

    def __post_init__(self) -> None:
        """Refuse evidence that is nested too deeply to be written again."""
        level: list[Any] = [self.evidence]
        for _ in range(NESTED_MAX):
            inner = [
                element.values() if isinstance(element, dict) else element for element in level
            ]
            level = [
                value for values in inner for value in values if isinstance(value, dict | list)
            ]
        if level:
            raise ValueError(f"evidence has more than {NESTED_MAX} levels")


class PhaseEntered(Event, frozen=True, kw_only=True):
    """A phase of the run began and the previous one ended."""

    stage: Stage
    doing: str


class NoteTaken(Event, frozen=True, kw_only=True):
    """The scenario noted something for its report."""

    text: str


class StateAwaited(Event, frozen=True, kw_only=True):
    """The driver had waited for a state of the cluster, since `began_micros` on its wall clock."""

    what: str
    began_micros: WallMicros


class ClockRead(Event, frozen=True, kw_only=True):
    """The offset of a node's wall clock from the driver's: at most `ahead_micros` ahead.

    It is at least `behind_micros` ahead. Both are negative where it lags.
    """

    node: str
    ahead_micros: Micros
    behind_micros: Micros


class Sampled(Event, frozen=True, kw_only=True):
    """One broker's response about one partition.

    asked_micros: the observer's wall clock when it sent the request; None in older histories.
    """

    broker: Int32
    topic: str
    partition: Int32
    leader: Int32
    leader_epoch: Int32
    isr: list[Int32]
    log_start_offset: Int64
    log_end_offset: Int64
    asked_micros: WallMicros | None = None


class GroupSampled(Event, frozen=True, kw_only=True):
    """A group whose state, by the broker that coordinates it, is another one than before.

    state: in Kafka's words; empty: the broker does not report the group any more, or anything.
    """

    broker: Int32
    group: str
    state: str
    asked_micros: WallMicros


class QuorumSampled(Event, frozen=True, kw_only=True):
    """The response of the metadata quorum's leader to a DescribeQuorum; other servers refuse it.

    server: the controller that responded, by which it leads.
    high_watermark: -1 until it has committed an entry of its epoch.
    voters, log_ends: parallel: each voter's log end, as far as it has fetched; -1: not yet.
    observers: the other servers that fetch from it.
    """

    server: Int32
    leader: Int32
    leader_epoch: Int32
    high_watermark: Int64
    voters: list[Int32]
    log_ends: list[Int64]
    observers: list[Int32]
    asked_micros: WallMicros

    def __post_init__(self) -> None:
        """Refuse lists that are not parallel."""
        if len(self.voters) != len(self.log_ends):
            raise ValueError("voters and log_ends differ in length")


class WireAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What one request asked about one partition, and what the response says of it.

    None: the request or the response has no such field at its version, or there is no response.
    A response about no partition has no topic.

    asked_replica: the broker that the request says it is from; -1: a consumer.
    current_leader_epoch: of the request; -1 where the client gives none. The candidate's epoch of a
        Vote.
    asked_epoch: the epoch of an OffsetForLeaderEpoch, the last fetched epoch of a Fetch, or the
        committed epoch.
    asked_offset: the fetch offset of a Fetch, or the offset that is committed.
    asked_timestamp: of a ListOffsets, -1: latest, -2: earliest; or of a client's offsetsForTimes.
    is_retriable: whether the exception of the response's error is a `RetriableException` of the
        client library; None without an error.
    epoch, offset: of the response: an epoch with its end offset (OffsetForLeaderEpoch), an offset
        with its epoch (ListOffsets), or a partition's leader epoch (Metadata).
    diverging_epoch, diverging_offset: of a Fetch; -1 where the response reports no divergence.
    record_bytes: the size of the records of a Fetch.
    group, member, generation: of the request; a member and its generation, or member epoch, of the
        response to a JoinGroup or ConsumerGroupHeartbeat.
    producer_id, producer_epoch: of the request, or granted by an InitProducerId.
    topic_id: of the request, where it has ids instead of names.
    metadata: of a commit, or of the response to an OffsetFetch.
    is_stable: whether an OffsetFetch asks for stable offsets only.
    """

    topic: str | None = None
    partition: Int32 | None = None
    asked_replica: Int32 | None = None
    current_leader_epoch: Int32 | None = None
    asked_epoch: Int32 | None = None
    asked_offset: Int64 | None = None
    asked_timestamp: Int64 | None = None
    error_code: Int32 | None = None
    is_retriable: bool | None = None
    leader: Int32 | None = None
    epoch: Int32 | None = None
    offset: Int64 | None = None
    diverging_epoch: Int32 | None = None
    diverging_offset: Int64 | None = None
    record_bytes: Int64 | None = None
    group: str | None = None
    member: str | None = None
    generation: Int32 | None = None
    producer_id: Int64 | None = None
    producer_epoch: Int32 | None = None
    topic_id: str | None = None
    metadata: str | None = None
    is_stable: bool | None = None


class WireCalled(Event, frozen=True, kw_only=True):
    """One request to one broker, at one version of its API, and the response; or a client's call.

    client: of a client's call, as contract.software names it; None: a single request. A call has
        the name of the client's method as `api`, version 0, and broker -1: the client chose one.
    request, response: as JSON, by Kafka's own converters of that version.
    failure: why there is no response that could be decoded.
    throttle_ms: of the response; None where that version has none.
    principal: as which the worker logged in, e.g. `User:reader`; None: without a login.
    began_micros: the worker's wall clock when it sent the request.
    """

    broker: Int32
    principal: str | None = None
    api: str
    api_key: Int32
    version: Int32
    request: str
    response: str | None = None
    failure: str | None = None
    throttle_ms: Int32 | None = None
    began_micros: WallMicros
    answers: list[WireAnswer] = []
    client: str | None = None


DECODER = decoder_of(Event)

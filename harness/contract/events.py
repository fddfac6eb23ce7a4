"""A worker's history: what it did and saw, one JSON object a line, in the order it happened.

Every event carries `seq` (from 0, without gaps, per history file), `wall_micros` (the node's wall
clock, microseconds since 1970) and `mono_micros` (the node's monotonic clock). Leader epochs are -1
where Kafka has none to tell. A last line torn by SIGKILL is counted by the reader, never fatal.
"""

from typing import Any

import msgspec

from harness.contract.outcomes import Outcome
from harness.contract.stages import Stage

NO_EPOCH = -1
"""Kafka's own mark of an absent leader epoch (`RecordBatch.NO_PARTITION_LEADER_EPOCH`)."""


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="event",
    tag=True,
    forbid_unknown_fields=True,
):
    """What every event carries."""

    seq: int
    wall_micros: int
    mono_micros: int


class WorkerStarted(Event, frozen=True, kw_only=True):
    """A worker runs: the first line of each history."""

    worker: str
    role: str
    node: str
    client: str
    client_version: str
    pid: int


class WorkerStopped(Event, frozen=True, kw_only=True):
    """A worker ended by itself: the last line of a whole history."""


class Answered(Event, frozen=True, kw_only=True):
    """A command of the driver was carried out (or failed: `error` says why)."""

    request: int
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
    partition: int
    acks: str
    sequence_first: int
    sequence_last: int
    transaction: int | None = None
    idempotent: bool | None = None
    in_flight_max: int | None = None


class Sent(Event, frozen=True, kw_only=True):
    """The outcome of sends, as parallel lists. `offsets` is -1 where the broker told none."""

    producer: str
    topic: str
    partition: int
    acks: str
    outcome: Outcome
    sequences: list[int]
    offsets: list[int]
    error: str | None = None
    transaction: int | None = None

    def __post_init__(self) -> None:
        """Refuse lists that are not parallel."""
        if len(self.sequences) != len(self.offsets):
            raise ValueError("sequences and offsets differ in length")


class TransactionChanged(Event, frozen=True, kw_only=True):
    """What became of one step of a transactional producer, or what the coordinator told of it.

    step: what was asked: initialize, begin, send_offsets, commit, abort, or describe.
    change: initialized, begun, offsets_sent, committed, aborted, described; fenced where a newer
        producer epoch was the reason of a refusal; failed otherwise.
    producer: whose step; empty where the coordinator was asked (describe).
    transaction: the producer's running number of its transaction, from 0; None before the first.
    producer_id, producer_epoch: in force after the step; -1 where the client does not tell.
    state: the transaction's, as the coordinator tells it; empty otherwise.
    began_micros: the node's wall clock when the step began; `wall_micros` is when it was over.
    """

    producer: str
    transactional_id: str
    step: str
    change: str
    transaction: int | None
    producer_id: int
    producer_epoch: int
    began_micros: int
    outcome: Outcome
    error: str | None = None
    state: str = ""


class GroupChanged(Event, frozen=True, kw_only=True):
    """A member of a group: opened, assigned, revoked, lost, caught_up or closed.

    `position` and `position_epoch` are the member's position on the partition at that time
    (None: it had none); for opened and closed the partition is -1. `generation` is the group's
    generation, or the member epoch with the consumer protocol; -1 where the client does not tell.
    With the classic protocol each generation assigns all partitions anew, also those that a member
    keeps.
    """

    group: str
    member: str
    change: str
    topic: str = ""
    partition: int = -1
    position: int | None = None
    position_epoch: int = NO_EPOCH
    generation: int = -1


class Polled(Event, frozen=True, kw_only=True):
    """Records that one poll returned for one partition, as parallel lists in order."""

    group: str
    member: str
    topic: str
    partition: int
    offsets: list[int]
    epochs: list[int]
    values: list[str]

    def __post_init__(self) -> None:
        """Refuse lists that are not parallel."""
        if not len(self.offsets) == len(self.epochs) == len(self.values):
            raise ValueError("offsets, epochs and values differ in length")


class Committed(Event, frozen=True, kw_only=True):
    """A commit's outcome, with every epoch that could have been committed.

    offset: the position; None where the client had none that is valid (outcome `nothing`).
    epoch: what was committed, chosen by `commit_epoch` (`CommitEpoch`).
    record_epoch: of the last record that the member had polled before `offset`.
    position_epoch, metadata_epoch: the client's own, when the commit began: that of the position's
        current leader, and that of its metadata; `*_after` when it was over.
    cluster_epoch: the partition's leader epoch as the cluster reported it to the driver.
    began_micros: the node's wall clock when the commit began (None in older histories).
    generation: as in `GroupChanged`.
    """

    group: str
    member: str
    topic: str
    partition: int
    offset: int | None
    epoch: int
    commit_epoch: str
    record_epoch: int
    position_epoch: int = NO_EPOCH
    metadata_epoch: int = NO_EPOCH
    cluster_epoch: int = NO_EPOCH
    position_epoch_after: int = NO_EPOCH
    metadata_epoch_after: int = NO_EPOCH
    outcome: Outcome
    error: str | None = None
    began_micros: int | None = None
    generation: int = -1


class ConsumerFailed(Event, frozen=True, kw_only=True):
    """A consumer's poll raised: with the divergent offset where it is a LogTruncationException.

    `position` and `position_epoch`: the position that the exception is about, where it names one.
    """

    group: str
    member: str
    exception: str
    message: str
    topic: str = ""
    partition: int = -1
    position: int | None = None
    position_epoch: int = NO_EPOCH
    divergent_offset: int | None = None
    divergent_epoch: int = NO_EPOCH


class FaultChanged(Event, frozen=True, kw_only=True):
    """A step in the life of a fault: injected, proved, heal_began or healed.

    number: of the fault, in the order of injection, by which its events belong together.
    target: named anew once it is resolved: the one of `proved` counts.
    landed: of `proved`: whether the evidence shows its effect.
    forced_ms: Kafka's timeouts that had to pass before it could show, by their settings.
    """

    number: int
    fault: str
    target: str
    change: str
    landed: bool = False
    evidence: dict[str, Any] = {}
    forced_ms: dict[str, int] = {}


class PhaseEntered(Event, frozen=True, kw_only=True):
    """A phase of the run began, and the one before it ended."""

    stage: Stage
    doing: str


class StateAwaited(Event, frozen=True, kw_only=True):
    """The driver had waited for a state of the cluster, since `began_micros` on its wall clock."""

    what: str
    began_micros: int


class ClockRead(Event, frozen=True, kw_only=True):
    """A node's wall clock against the driver's: ahead by `ahead_micros` at most.

    And by `behind_micros` at least; both are negative where it lags.
    """

    node: str
    ahead_micros: int
    behind_micros: int


class Sampled(Event, frozen=True, kw_only=True):
    """What one broker answered about one partition.

    asked_micros: the observer's wall clock when it began to ask; None in older histories.
    """

    broker: int
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: list[int]
    log_start_offset: int
    log_end_offset: int
    asked_micros: int | None = None


AnyEvent = (
    WorkerStarted
    | WorkerStopped
    | Answered
    | SendsIntended
    | Sent
    | TransactionChanged
    | GroupChanged
    | Polled
    | Committed
    | ConsumerFailed
    | FaultChanged
    | PhaseEntered
    | StateAwaited
    | ClockRead
    | Sampled
)

ENCODER = msgspec.json.Encoder()
DECODER: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)

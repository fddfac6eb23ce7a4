"""A tiny history written by hand: what happened, row by row, and what each check must say of it.

Histories are written from the KIP, the Javadoc, Kafka's source and the contract
(`harness/contract/`, docs/results.md), never from a check. Each asks one question and names the
source of its answer. The exam (tests/spark/test_exam.py) lays all of them into one trace, each with
topics, groups, brokers and a time of its own, judges it, and compares.

Times are seconds since the history began (0 to 90); offsets are inclusive unless said otherwise.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from harness.contract.run_folder import GroupPlan, TopicPlan
from harness.contract.tables import MICROS_PER_SECOND, TABLES
from harness.contract.values import make_value

Row = dict[str, Any]
Epochs = Mapping[int, int]
"""By leader epoch: the offset at which it starts."""

NONE = "none"
"""Expected of a check: it finds nothing here."""
VIOLATION, PERMITTED, UNDECIDED = "violation", "permitted", "undecided"
NOT_VIOLATION = "not violation"
"""Expected of a check: it may find this permitted or undecided, or nothing; it accuses nobody."""
NOT_EVALUABLE = "not_evaluable"
"""Expected of a check's verdict, in a history that is judged alone."""
BEGINNING_MICROS = 1_767_225_600 * MICROS_PER_SECOND
HISTORY_SECONDS = 100
BROKERS = 10
"""Ids that a history may use: 1 to 9."""


@dataclass
class History:
    """The rows of one history, and its plan.

    Names of topics, groups, producers and workers are made its own by a prefix, broker ids by an
    offset, and times by where it begins; so write `t`, `g`, `p`, `w`, broker 1 and second 3.
    """

    name: str
    index: int
    alone: bool = False
    topics: list[TopicPlan] = field(default_factory=list)
    groups: list[GroupPlan] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    missing: set[str] = field(default_factory=set)
    error: str | None = None
    _metadata_offset: int = 0
    _seq: int = 0

    def own(self, name: str) -> str:
        """A name as it stands in the tables; Kafka's own topics (`__...`) keep theirs."""
        return name if name.startswith("__") or not name else f"{self.name}.{name}"

    def broker(self, number: int) -> int:
        """A broker's id as it stands in the tables; -1 (none) stays."""
        return number if number < 0 else self.index * BROKERS + number

    def at(self, seconds: float) -> int:
        """A moment in microseconds since 1970."""
        return (
            BEGINNING_MICROS
            + self.index * HISTORY_SECONDS * MICROS_PER_SECOND
            + round(seconds * MICROS_PER_SECOND)
        )

    def add(self, table: str, **columns: Any) -> None:
        """One row as it is to stand in the table (see docs/results.md); a column not given is null.

        Use this for whatever the verbs below do not write, with `own`, `broker` and `at`.
        """
        if unknown := columns.keys() - set(TABLES[table].names):
            raise KeyError(f"table {table} has no columns {sorted(unknown)}")
        self.rows[table].append(columns)

    # The plan.

    def topic(
        self,
        topic: str = "t",
        *,
        partitions: int = 1,
        replication: int = 2,
        min_insync: int = 1,
        unclean_election: bool = False,
        retention_ms: int | None = None,
        deletes: bool = False,
    ) -> None:
        """A topic under test. `deletes`: the scenario deletes by size or by DeleteRecords."""
        self.topics.append(
            TopicPlan(
                topic=self.own(topic),
                partitions=partitions,
                replication=replication,
                min_insync=min_insync,
                unclean_election=unclean_election,
                retention_ms=retention_ms,
                deletes=deletes,
            )
        )

    def group(
        self,
        group: str = "g",
        topic: str = "t",
        *,
        commit_epoch: str = "record",
        reset: str = "earliest",
        isolation: str = "read_uncommitted",
        client: str = "java",
    ) -> None:
        """A group under test; `commit_epoch` is the style by which it chooses the epoch."""
        self.groups.append(
            GroupPlan(
                group=self.own(group),
                client=client,
                topic=self.own(topic),
                commit_epoch=commit_epoch,
                reset=reset,
                isolation=isolation,
            )
        )

    # Clients.

    def sent(
        self,
        first: int | None,
        last: int | None = None,
        *,
        at: float,
        producer: str = "p",
        sequence: int | None = None,
        acks: str = "all",
        outcome: str = "ok",
        error: str | None = None,
        count: int | None = None,
        topic: str = "t",
        partition: int = 0,
        intended_at: float | None = None,
        transaction: int | None = None,
        is_idempotent: bool | None = None,
        in_flight_max: int | None = None,
    ) -> None:
        """Values that a producer set out to send, with their outcome.

        first, last: the offsets that were told (outcome ok); None where none was, with `count`.
        sequence: the first value's; else the first offset.
        """
        offsets: list[int | None] = (
            [None] * (count or 1)
            if first is None
            else list(range(first, (first if last is None else last) + 1))
        )
        start = sequence if sequence is not None else (first or 0)
        for index, offset in enumerate(offsets):
            self.add(
                "sends",
                worker=self.own("w"),
                producer=self.own(producer),
                sequence=start + index,
                value=self.value(start + index, producer),
                topic=self.own(topic),
                partition=partition,
                offset=offset,
                acks=acks,
                outcome=outcome,
                error=error,
                intended_micros=self.at(at - 0.01 if intended_at is None else intended_at),
                answered_micros=self.at(at),
                transaction=transaction,
                is_idempotent=is_idempotent,
                in_flight_max=in_flight_max,
            )

    def value(self, sequence: int, producer: str = "p") -> str:
        """The value that a producer writes under a sequence number."""
        return make_value(self.own(producer), sequence)

    def polled(
        self,
        first: int,
        last: int | None = None,
        *,
        at: float,
        epoch: int = 0,
        member: str = "1",
        producer: str = "p",
        sequence: int | None = None,
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        is_intact: bool = True,
    ) -> None:
        """Records delivered by one poll. sequence: of the first value; else the first offset."""
        start = first if sequence is None else sequence
        seq = self._next_seq()
        for index, offset in enumerate(range(first, (first if last is None else last) + 1)):
            self.add(
                "polls",
                worker=self.own("w"),
                group=self.own(group),
                member=self.member(member, group),
                topic=self.own(topic),
                partition=partition,
                offset=offset,
                leader_epoch=epoch,
                value=self.value(start + index, producer),
                is_intact=is_intact,
                seq=seq,
                position_in_poll=index,
                polled_micros=self.at(at),
            )

    def member(self, member: str, group: str = "g") -> str:
        """A member's name, `<group>#<number>`."""
        return f"{self.own(group)}#{member}"

    def changed(
        self,
        change: str,
        *,
        at: float,
        position: int | None = None,
        member: str = "1",
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        generation: int = -1,
        **columns: Any,
    ) -> None:
        """A change of a member: opened, assigned, revoked, lost, caught_up, closed, failed, ...

        Of opened and closed the partition is -1 and the topic empty. `failed` takes exception,
        message, divergent_offset and divergent_epoch; topic="" where the exception names none.
        """
        if change in ("opened", "closed"):
            topic, partition = "", -1
        self.add(
            "group_events",
            worker=self.own("w"),
            group=self.own(group),
            member=self.member(member, group),
            change=change,
            topic=self.own(topic),
            partition=partition if topic else -1,
            position=position,
            generation=generation,
            seq=self._next_seq(),
            at_micros=self.at(at),
            **columns,
        )

    def commit(
        self,
        offset: int | None,
        epoch: int,
        *,
        at: float,
        style: str = "record",
        stored: bool = True,
        brokers: Sequence[int] | None = None,
        outcome: str = "ok",
        error: str | None = None,
        member: str = "1",
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        record_epoch: int | None = None,
        cluster_epoch: int = -1,
        generation: int = -1,
    ) -> None:
        """A commit as the client reports it, and, if `stored`, as `__consumer_offsets` holds it."""
        self.add(
            "commits",
            worker=self.own("w"),
            group=self.own(group),
            member=self.member(member, group),
            topic=self.own(topic),
            partition=partition,
            offset=offset,
            committed_epoch=epoch,
            commit_epoch=style,
            record_epoch=epoch if record_epoch is None else record_epoch,
            position_epoch=-1,
            metadata_epoch=-1,
            cluster_epoch=cluster_epoch,
            position_epoch_after=-1,
            metadata_epoch_after=-1,
            generation=generation,
            outcome=outcome,
            error=error,
            seq=self._next_seq(),
            began_micros=self.at(at - 0.01),
            committed_micros=self.at(at),
        )
        if stored:
            self.stored(
                offset, epoch, at=at, group=group, topic=topic, partition=partition, brokers=brokers
            )

    def stored(
        self,
        offset: int | None,
        epoch: int,
        *,
        at: float,
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        offsets_partition: int | None = None,
        brokers: Sequence[int] | None = None,
        is_tombstone: bool = False,
    ) -> None:
        """A record of `__consumer_offsets`; brokers: whose replicas hold it at the end.

        offsets_partition: of `__consumer_offsets`; else one that is this history's own.
        """
        self.add(
            "committed_offsets",
            group=self.own(group),
            topic=self.own(topic),
            partition=partition,
            offset=offset,
            committed_epoch=epoch,
            metadata="",
            is_tombstone=is_tombstone,
            offsets_partition=self.index if offsets_partition is None else offsets_partition,
            offsets_offset=self.at(at) // 1000 % 10**9,
            committed_micros=self.at(at) // 1000 * 1000,
            producer_id=-1,
            producer_epoch=-1,
            brokers=None if brokers is None else [self.broker(one) for one in brokers],
        )

    def reset(
        self,
        cause: str,
        start: int,
        to: int | None,
        *,
        at: float,
        epoch: int = -1,
        policy: str = "earliest",
        member: str = "2",
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
    ) -> None:
        """A reset that a client logged: truncation, out_of_range or no_commit; from `start`.

        epoch: that the position had, -1 if none. to: None where the client raised instead.
        """
        self.add(
            "resets",
            worker=self.own("w"),
            group=self.own(group),
            member=self.member(member, group),
            topic=self.own(topic),
            partition=partition,
            cause=cause,
            policy=policy,
            from_offset=start,
            from_epoch=epoch,
            to_offset=to,
            to_epoch=-1,
            log_line=f"{cause} from {start} to {to}",
            at_micros=self.at(at),
        )

    # The cluster.

    def led(
        self,
        leader: int,
        epoch: int,
        *,
        at: float,
        isr: Sequence[int],
        elr: Sequence[int] = (),
        replicas: Sequence[int] = (1, 2),
        partition_epoch: int | None = None,
        topic: str = "t",
        partition: int = 0,
        topic_id: str = "id",
        starts: int | None = None,
    ) -> None:
        """A change of a partition in the metadata log: the state after it.

        partition_epoch: grows with each change; else one more than that of the change before.
        starts: the offset at which the new leader's epoch starts, as its server logged it.
        """
        before = [
            row
            for row in self.rows["leaderships"]
            if (row["topic"], row["partition"]) == (self.own(topic), partition)
        ]
        if partition_epoch is None:
            same = [row for row in before if row["topic_id"] == self.own(topic_id)]
            partition_epoch = same[-1]["partition_epoch"] + 1 if same else 0
        self._metadata_offset += 1
        self.add(
            "leaderships",
            topic=self.own(topic),
            partition=partition,
            leader=self.broker(leader),
            leader_epoch=epoch,
            partition_epoch=partition_epoch,
            replicas=[self.broker(one) for one in replicas],
            isr=[self.broker(one) for one in isr],
            elr=[self.broker(one) for one in elr],
            metadata_offset=self.index * 1000 + self._metadata_offset,
            metadata_epoch=1,
            at_micros=self.at(at),
            topic_id=self.own(topic_id),
        )
        if starts is not None:
            self.epoch_started(leader, epoch, starts, at=at, topic=topic, partition=partition)

    def epoch_started(
        self,
        broker: int,
        epoch: int,
        start: int,
        *,
        at: float,
        topic: str = "t",
        partition: int = 0,
    ) -> None:
        """A server logged that it leads under an epoch, which starts at this offset."""
        self.add(
            "leader_epoch_starts",
            broker=self.broker(broker),
            topic=self.own(topic),
            partition=partition,
            leader_epoch=epoch,
            start_offset=start,
            at_micros=self.at(at),
            log_line=f"starts at leader epoch {epoch} from offset {start}",
        )

    def registered(self, broker: int, *, at: float, is_fenced: bool, broker_epoch: int = 1) -> None:
        """A change of a broker's registration in the metadata log."""
        self._metadata_offset += 1
        self.add(
            "broker_states",
            broker=self.broker(broker),
            broker_epoch=broker_epoch,
            is_fenced=is_fenced,
            in_controlled_shutdown=False,
            metadata_offset=self.index * 1000 + self._metadata_offset,
            at_micros=self.at(at),
        )

    def log(
        self,
        broker: int,
        *spans: tuple[int, int, int],
        start: int = 0,
        end: int | None = None,
        high_watermark: int | None = None,
        checkpoints: Epochs | None = None,
        producers: Mapping[int, str] | None = None,
        sequences: Mapping[int, int] | None = None,
        topic: str = "t",
        partition: int = 0,
        at: float = 1.0,
    ) -> None:
        """What a replica holds at the end: one batch a span (first offset, last offset, epoch).

        Writes replica_records, replica_batches, log_starts and epoch_checkpoints.

        start, end: its log start, and its log end (exclusive); else after the last span.
        checkpoints: lines of its leader-epoch-checkpoint; else what follows from the spans.
        producers: by a span's first offset, who wrote it; else `p`.
        sequences: by a span's first offset, the first value's sequence; else the offset.
        at: the records' timestamp.
        """
        where = {
            "broker": self.broker(broker),
            "topic": self.own(topic),
            "partition": partition,
        }
        producers, sequences = producers or {}, sequences or {}
        known: dict[int, int] = {}
        for first, last, epoch in spans:
            known.setdefault(epoch, first)
            producer, sequence = producers.get(first, "p"), sequences.get(first, first)
            for index, offset in enumerate(range(first, last + 1)):
                value = self.value(sequence + index, producer)
                row = {**where, "offset": offset, "leader_epoch": epoch, "value": value}
                self.rows["replica_records"].append(row)
            self.rows["replica_batches"].append(
                {
                    **where,
                    "base_offset": first,
                    "last_offset": last,
                    "leader_epoch": epoch,
                    "producer_id": -1,
                    "producer_epoch": -1,
                    "base_sequence": -1,
                    "is_control": False,
                    "is_transactional": False,
                    "record_count": last - first + 1,
                    "size_bytes": 100 * (last - first + 1),
                    "max_timestamp_micros": self.at(at),
                    "checksum": crc32(f"{producer}:{sequence}:{first}:{last}:{epoch}".encode()),
                }
            )
        self.add(
            "log_starts",
            **where,
            log_start_offset=start,
            log_end_offset=end
            if end is not None
            else max((s[1] + 1 for s in spans), default=start),
            high_watermark_checkpoint=high_watermark,
        )
        for epoch, first in (known if checkpoints is None else checkpoints).items():
            self.add("epoch_checkpoints", **where, leader_epoch=epoch, start_offset=first)

    def sampled(
        self,
        broker: int,
        *,
        at: float,
        end: int,
        start: int = 0,
        epoch: int = 0,
        leader: int | None = None,
        isr: Sequence[int] | None = None,
        topic: str = "t",
        partition: int = 0,
    ) -> None:
        """What a broker answered the observer; `end` is its high watermark as clients see it."""
        leads = broker if leader is None else leader
        self.add(
            "samples",
            broker=self.broker(broker),
            topic=self.own(topic),
            partition=partition,
            leader=self.broker(leads),
            leader_epoch=epoch,
            isr=[self.broker(one) for one in (isr or [leads])],
            log_start_offset=start,
            log_end_offset=end,
            at_micros=self.at(at),
            asked_micros=self.at(at - 0.005),
        )

    def log_started(
        self,
        broker: int,
        offset: int,
        *,
        at: float,
        reason: str = "segment deletion",
        topic: str = "t",
        partition: int = 0,
    ) -> None:
        """A server logged that a replica's log start advanced.

        reason: as Kafka words it: `segment deletion` (retention), `client delete records request`
        (DeleteRecords), `leader offset increment` (a follower after its leader).
        """
        self.add(
            "log_start_changes",
            broker=self.broker(broker),
            topic=self.own(topic),
            partition=partition,
            log_start_offset=offset,
            reason=reason,
            at_micros=self.at(at),
            log_line=f"Incremented log start offset to {offset} due to {reason}",
        )

    def truncated(
        self, broker: int, to: int, *, at: float, topic: str = "t", partition: int = 0
    ) -> None:
        """A server logged that a replica was truncated to an offset (exclusive end)."""
        self.add(
            "truncations",
            broker=self.broker(broker),
            topic=self.own(topic),
            partition=partition,
            to_offset=to,
            at_micros=self.at(at),
            log_line=f"Truncating to offset {to}",
        )

    def fault(
        self,
        fault: str,
        target: str,
        *,
        injected: float,
        proved: float | None = None,
        heal_began: float | None = None,
        healed: float | None = None,
        landed: bool = True,
        evidence: str = "{}",
    ) -> None:
        """A fault: `kill`, `pause`, `elect unclean`, `recreate`, `expire by time`, ...

        target: of `elect unclean` `partition:<own topic>-<number>`, of `recreate` and `expire by
        ...` `topic:<own topic>`, of others `broker:<id> (broker <id>)`; with `own` and `broker`.
        proved: else at once.
        """
        self.add(
            "faults",
            fault=fault,
            target=target,
            landed=landed,
            injected_micros=self.at(injected),
            proved_micros=self.at(injected if proved is None else proved),
            heal_began_micros=None if heal_began is None else self.at(heal_began),
            healed_micros=None if healed is None else self.at(healed),
            evidence=evidence,
            forced_ms=0,
            forced_by="",
        )

    def worker(self, worker: str = "w", *, ended_by_itself: bool = True, **columns: Any) -> None:
        """What the reader found in a history file; the exam adds that of `w` unless given."""
        counts = dict.fromkeys(
            ("missing_seqs", "torn_lines", "malformed_lines", "duplicate_lines", "unknown_fields"),
            0,
        )
        self.add(
            "histories",
            worker=self.own(worker),
            role="clients",
            client="java",
            client_version="4.4.0",
            events=100,
            ended_by_itself=ended_by_itself,
            clock_jump_micros=0,
            **{**counts, **columns},
        )

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq


Story = Callable[[History], None]


@dataclass(frozen=True)
class Question:
    """One history of the exam.

    Attributes:
        name: of the function that writes it.
        question: what it asks.
        source: what decides it: the KIP, the class of Kafka, the JIRA issue, the contract.
        expects: by the name of a check: NONE, VIOLATION, PERMITTED, UNDECIDED, NOT_VIOLATION (the
            worst finding that it makes in this history), or NOT_EVALUABLE (alone only).
        alone: judged in a trace of its own: what it asks depends on a table that others fill, or on
            the whole run. Each costs seconds.
    """

    name: str
    question: str
    source: str
    expects: Mapping[str, str]
    alone: bool
    tell: Story

    def history(self, index: int) -> History:
        """Its rows, at its place in the trace."""
        made = History(self.name, index, self.alone)
        self.tell(made)
        if not made.rows["histories"]:
            made.worker()
        return made


QUESTIONS: list[Question] = []


def asks(
    question: str, *, source: str, expects: Mapping[str, str], alone: bool = False
) -> Callable[[Story], Story]:
    """Take a function that writes a history into the exam."""

    def register(tell: Story) -> Story:
        name = tell.__name__.replace("_", "-")
        QUESTIONS.append(Question(name, question, source, expects, alone, tell))
        return tell

    return register


def expectations(questions: Iterable[Question]) -> int:
    """How many verdicts are asked for."""
    return sum(len(question.expects) for question in questions)

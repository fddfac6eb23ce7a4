"""What the cluster and the harness did, as rows of a history."""

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import msgspec

from contract.terms import FaultTarget, TargetKind
from tests.exam.rows import HistoryRows

Epochs = Mapping[int, int]
"""By leader epoch: the offset at which it starts."""


class ClusterRows(HistoryRows):
    """Leaders, brokers, replicas at the end, servers' logs, faults and history files."""

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
        self.add(
            "leaderships",
            topic=self.own(topic),
            partition=partition,
            leader=self.broker(leader),
            leader_epoch=epoch,
            partition_epoch=partition_epoch,
            replicas=[self.broker(replica) for replica in replicas],
            isr=[self.broker(replica) for replica in isr],
            elr=[self.broker(replica) for replica in elr],
            metadata_offset=self._next_metadata_offset(),
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
        self.add(
            "broker_states",
            broker=self.broker(broker),
            broker_epoch=broker_epoch,
            is_fenced=is_fenced,
            in_controlled_shutdown=False,
            metadata_offset=self._next_metadata_offset(),
            at_micros=self.at(at),
        )

    def permitted(
        self,
        principal: str,
        operation: str,
        *,
        at: float,
        topic: str | None = "t",
        permission: str = "ALLOW",
        pattern_type: str = "LITERAL",
        removed: float | None = None,
    ) -> None:
        """An access control entry in the metadata log; without a topic it is of the cluster."""
        self.add(
            "acls",
            resource_type="CLUSTER" if topic is None else "TOPIC",
            resource_name="kafka-cluster" if topic is None else self.own(topic),
            pattern_type=pattern_type,
            principal=self.own(principal),
            operation=operation,
            permission=permission,
            metadata_offset=self._next_metadata_offset(),
            at_micros=self.at(at),
            removed_micros=None if removed is None else self.at(removed),
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
            isr=[self.broker(replica) for replica in (isr or [leads])],
            log_start_offset=start,
            log_end_offset=end,
            at_micros=self.at(at),
            asked_micros=self.at(at - 0.005),
        )

    def called(
        self,
        broker: int,
        api: str,
        version: int,
        *,
        at: float,
        topic: str = "t",
        partition: int = 0,
        error: int | None = 0,
        leader: int | None = None,
        failure: str | None = None,
        principal: str | None = None,
        **columns: Any,
    ) -> None:
        """What a broker answered one request about one partition, at one version of its API.

        Columns are those of `wire_calls`; one that is not given is null, as where the version has
        no such field.
        """
        self.add(
            "wire_calls",
            worker=self.own("w"),
            seq=self._next_seq(),
            broker=self.broker(broker),
            principal=None if principal is None else self.own(principal),
            api=api,
            api_key=0,
            version=version,
            topic=self.own(topic),
            partition=partition,
            error_code=error,
            leader=None if leader is None else self.broker(leader),
            failure=failure,
            response=None if failure else "{}",
            began_micros=self.at(at - 0.005),
            at_micros=self.at(at),
            **{"request": "{}", **columns},
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

    def on_broker(self, number: int) -> FaultTarget:
        """A broker as the target of a fault."""
        return FaultTarget(target_kind=TargetKind.BROKER, brokers=(self.broker(number),))

    def on_brokers(self, *numbers: int) -> FaultTarget:
        """All brokers."""
        brokers = tuple(map(self.broker, numbers))
        return FaultTarget(target_kind=TargetKind.ALL, brokers=brokers)

    def on_client(self, worker: str) -> FaultTarget:
        """The node of a worker."""
        return FaultTarget(target_kind=TargetKind.CLIENT, worker=self.own(worker))

    def on_topic(self, topic: str) -> FaultTarget:
        """A topic."""
        return FaultTarget(target_kind=TargetKind.TOPIC, topic=self.own(topic))

    def on_partition(self, topic: str, partition: int) -> FaultTarget:
        """A partition."""
        kind = TargetKind.PARTITION
        return FaultTarget(target_kind=kind, topic=self.own(topic), partition=partition)

    def on_replicas(self, topic: str, partition: int) -> FaultTarget:
        """All replicas of a partition."""
        kind = TargetKind.REPLICAS
        return FaultTarget(target_kind=kind, topic=self.own(topic), partition=partition)

    def on_group(self, group: str) -> FaultTarget:
        """A group."""
        return FaultTarget(target_kind=TargetKind.GROUP, group=self.own(group))

    def on_transactions(self, *names: str) -> FaultTarget:
        """Transactional ids."""
        ids = tuple(map(self.own, names))
        return FaultTarget(target_kind=TargetKind.TRANSACTIONAL_ID, transactional_ids=ids)

    def cut(
        self,
        broker: int,
        first: int,
        last: int,
        epoch: int,
        *,
        at: float,
        producer: str = "p",
        sequence: int | None = None,
        is_control: bool = False,
        topic: str = "t",
        partition: int = 0,
    ) -> None:
        """What a replica held just before the fault on it was healed, and no longer has.

        producer, sequence: who wrote the first value, under which number; else the offset.
        """
        where = {"broker": self.broker(broker), "topic": self.own(topic), "partition": partition}
        taken = {"leader_epoch": epoch, "taken_micros": self.at(at)}
        self.add(
            "cut_batches",
            **where,
            **taken,
            base_offset=first,
            last_offset=last,
            record_count=last - first + 1,
            size_bytes=100 * (last - first + 1),
        )
        start = first if sequence is None else sequence
        for index, offset in enumerate(range(first, 0 if is_control else last + 1)):
            value = self.value(start + index, producer)
            self.add("cut_records", **where, **taken, offset=offset, value=value)

    def phase(
        self, stage: str, *, began: float, ended: float, limit: int = 120, doing: str = ""
    ) -> None:
        """A phase of the story, which may take `limit` seconds."""
        self.add(
            "phases",
            stage=stage,
            doing=doing or stage,
            began_micros=self.at(began),
            ended_micros=self.at(ended),
            limit_seconds=limit,
        )

    def clock(self, node: str, *, ahead_micros: int, behind_micros: int, at: float = 0.5) -> None:
        """A reading of a node's clock: the driver's is at most so far behind and ahead of it."""
        self.add(
            "clocks",
            node=self.own(node),
            ahead_micros=ahead_micros,
            behind_micros=behind_micros,
            at_micros=self.at(at),
        )

    def fault(
        self,
        fault: str,
        target: FaultTarget,
        *,
        injected: float,
        proved: float | None = None,
        heal_began: float | None = None,
        healed: float | None = None,
        landed: bool = True,
        evidence: str = "{}",
    ) -> None:
        """A fault: `kill`, `pause`, `elect unclean`, `recreate`, `expire by time`, ...

        target: by `on_broker`, `on_partition`, ...
        proved: else at once.
        """
        self.add(
            "faults",
            fault=fault,
            **msgspec.structs.asdict(target),
            landed=landed,
            injected_micros=self.at(injected),
            proved_micros=self.at(injected if proved is None else proved),
            heal_began_micros=None if heal_began is None else self.at(heal_began),
            healed_micros=None if healed is None else self.at(healed),
            evidence=evidence,
            forced_ms=0,
            forced_by="",
        )

    def server(self, broker: int, **columns: Any) -> None:
        """What was collected of a server."""
        self.add("servers", name=str(self.broker(broker)), server=self.broker(broker), **columns)

    def worker(self, worker: str = "w", *, ended_by_itself: bool = True, **columns: Any) -> None:
        """What the reader found in a history file; the exam adds that of `w` unless given."""
        counts = dict.fromkeys(
            ("missing_seqs", "torn_lines", "malformed_lines", "duplicate_lines", "unknown_fields"),
            0,
        )
        self.add(
            "histories",
            worker=self.own(worker),
            client_version="4.4.0",
            events=100,
            ended_by_itself=ended_by_itself,
            **{**counts, "role": "clients", "client": "java", "clock_jump_micros": 0, **columns},
        )

"""Truncate every replica of a partition while all brokers are down: a planted loss."""

from pathlib import Path

import msgspec

from contract.terms import FaultTarget, TargetKind
from harness.clients.observer_worker import ObserverRole, TruncateTailResult
from harness.faults.fault import Evidence, Fault, Field


class CutTails(Fault):
    """SIGKILL to all brokers, then truncation of each replica by the same number of records."""

    verb = "cut tails"

    def __init__(self, topic: str, partition: int, *, records: int) -> None:
        """The tail must begin at a batch boundary `records` before the end."""
        self.target = FaultTarget(target_kind=TargetKind.REPLICAS, topic=topic, partition=partition)
        self._topic, self._partition, self._records = topic, partition, records
        self._results: dict[str, TruncateTailResult] = {}
        self._segments: dict[int, tuple[Path, Path]] = {}

    def inject(self, field: Field) -> None:
        """Kill the brokers, and truncate their replicas."""
        field.kafka.kill_all()
        for broker in field.kafka.topology.broker_ids:
            field.keep(broker)
        self._results = {str(i): self._truncate(field, i) for i in field.kafka.topology.broker_ids}

    def prove(self, field: Field) -> Evidence:
        """Landed when each replica on its node is shorter by the requested number of records."""
        is_shorter = all(
            result.log_end_before - result.log_end_after == self._records
            for result in self._results.values()
        )
        is_there = [
            field.kafka.host(i).read(replica) == field.observer.worker.host.read(copy)
            for i, (replica, copy) in self._segments.items()
        ]
        return Evidence(
            landed=is_shorter and all(is_there), facts=msgspec.to_builtins(self._results)
        )

    def heal(self, field: Field) -> None:
        """Start the brokers again. The truncation is not undone."""
        for server_id in field.kafka.topology.server_ids:
            if not field.kafka.is_running(server_id):
                field.kafka.start_server(server_id)

    def _truncate(self, field: Field, broker_id: int) -> TruncateTailResult:
        """Copy the replica to the observer's node, truncate it by Kafka's classes, copy back."""
        observer, node = field.observer.worker, field.kafka.host(broker_id)
        replica = field.kafka.data(broker_id) / f"{self._topic}-{self._partition}"
        local = observer.folder / "truncated" / str(broker_id)
        segments = node.run(
            ["find", str(replica), "-name", "*.log", "-size", "+0"], timeout_seconds=10
        ).output.splitlines()
        for segment in segments:
            name = segment.rpartition("/")[2]
            observer.host.write(local / name, node.read(replica / name))
        result = observer.call(ObserverRole.truncate_tail(str(local), records=self._records))
        newest = max(segment.rpartition("/")[2] for segment in segments)
        node.write(replica / newest, observer.host.read(local / newest))
        self._segments[broker_id] = (replica / newest, local / newest)
        return result

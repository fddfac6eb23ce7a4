"""Delete the records of a partition before an offset, by the DeleteRecords request (KIP-107)."""

from contract.terms import FaultTarget, TargetKind
from harness.clients.observer_worker import ObserverRole
from harness.faults.fault import Evidence, Fault, Field


class DeleteBefore(Fault):
    """The log start moves up to an offset within the log; deleted records stay deleted."""

    verb = "delete records"
    is_instant = True

    def __init__(self, topic: str, partition: int, *, offset: int) -> None:
        """The offset must not lie beyond the high watermark."""
        self.target = FaultTarget(
            target_kind=TargetKind.PARTITION, topic=topic, partition=partition
        )
        self._topic, self._partition, self._offset = topic, partition, offset
        self._before = -1

    def prepare(self, field: Field) -> None:
        """Note the log start."""
        self._before = field.observer.await_state(
            self._topic,
            self._partition,
            lambda state: state.log_start_offset >= 0,
            what=f"{self._topic}-{self._partition} to report its log start",
        ).log_start_offset

    def inject(self, field: Field) -> None:
        """Send the request."""
        field.observer.worker.call(
            ObserverRole.delete_records(self._topic, {self._partition: self._offset})
        )

    def prove(self, field: Field) -> Evidence:
        """Landed when the log start, which was lower, is this offset."""
        after = field.observer.await_state(
            self._topic,
            self._partition,
            lambda state: state.log_start_offset >= self._offset,
            what=f"the log of {self._topic}-{self._partition} to start at {self._offset}",
        ).log_start_offset
        return Evidence(
            landed=self._before < self._offset == after,
            facts={"log_start_before": self._before, "log_start": after},
        )

    def heal(self, field: Field) -> None:
        """Do nothing: a deletion is not undone."""

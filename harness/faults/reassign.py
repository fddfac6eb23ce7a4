"""Move a partition to other replicas; healed by moving it back."""

from contract.terms import FaultTarget, TargetKind
from harness.clients.observer_worker import ObserverRole
from harness.clients.views import PartitionState
from harness.faults.fault import Evidence, Fault, Field

_ASSIGNED_SECONDS = 20


class Reassign(Fault):
    """A partition's replicas are replaced, with the leader if it is not among the new ones."""

    verb = "reassign"

    def __init__(self, topic: str, partition: int, *, replicas: list[int]) -> None:
        """`replicas`: brokers, the preferred leader first."""
        self.target = FaultTarget(
            target_kind=TargetKind.PARTITION, topic=topic, partition=partition
        )
        self._topic, self._partition, self._replicas = topic, partition, replicas
        self._before: PartitionState | None = None
        self._assigned_before: list[int] = []

    def prepare(self, field: Field) -> None:
        """Note the current replicas, in sync and assigned, in order."""
        self._assigned_before = self._replicas_now(field)
        self._before = field.observer.partition(self._topic, self._partition)

    def inject(self, field: Field) -> None:
        """Request the reassignment."""
        self._request(field, self._replicas)

    def prove(self, field: Field) -> Evidence:
        """Landed when exactly the new replicas are assigned and in sync, and were not before.

        The order matters: the first replica is the preferred leader.
        """
        after = self._await(field, self._replicas)
        field.observer.await_that(
            lambda: self._replicas_now(field) == self._replicas,
            what=f"{self.target} to be assigned to {self._replicas}",
            timeout_seconds=_ASSIGNED_SECONDS,
        )
        facts = {
            "assigned_before": self._assigned_before,
            "assigned": self._replicas,
            "isr_before": None if self._before is None else self._before.isr,
            "isr": after.isr,
            "leader": after.leader,
            "leader_epoch": after.leader_epoch,
        }
        return Evidence(landed=self._assigned_before != self._replicas, facts=facts)

    def heal(self, field: Field) -> None:
        """Move it back to the replicas that it was assigned to, in their order.

        Those that were in sync before must be so again.
        """
        if self._before is not None:
            self._request(field, self._assigned_before)
            self._await(field, self._before.isr)

    def _replicas_now(self, field: Field) -> list[int]:
        return field.observer.replicas(self._topic, self._partition)

    def _request(self, field: Field, replicas: list[int]) -> None:
        field.observer.worker.call(ObserverRole.reassign(self._topic, self._partition, replicas))

    def _await(self, field: Field, replicas: list[int]) -> PartitionState:
        return field.observer.await_state(
            self._topic,
            self._partition,
            lambda state: state.isr == sorted(replicas),
            what=f"{self._topic}-{self._partition} to be on brokers {sorted(replicas)}",
        )

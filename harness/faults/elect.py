"""Elect a partition's leader by an administrator's request."""

from contract.errors import FaultError
from contract.events import NO_EPOCH
from contract.terms import FaultTarget, TargetKind
from harness.clients.observer_worker import ObserverRole
from harness.faults.fault import ByHand, Evidence, Fault, Field
from harness.faults.targets import existing_partition


class Elect(Fault):
    """An election of the preferred replica or, unclean, of any live one. It can't be healed."""

    on = TargetKind.PARTITION
    by_hand = (
        ByHand(verb="elect", arguments={"unclean": False}, place=10, weight=3),
        ByHand(verb="elect-unclean", arguments={"unclean": True}),
    )
    is_instant = True

    def __init__(self, topic: str, partition: int, *, unclean: bool) -> None:
        """`unclean` does not depend on `unclean.leader.election.enable` (KIP-460)."""
        self.verb = "elect unclean" if unclean else "elect preferred"
        self.target = FaultTarget(
            target_kind=TargetKind.PARTITION, topic=topic, partition=partition
        )
        self._topic, self._partition, self._unclean = topic, partition, unclean
        self._epoch = NO_EPOCH
        self._leader: int | None = None
        self._isr: list[int] = []
        self._preferred: int | None = None

    def prepare(self, field: Field) -> None:
        """Note the current leader, epoch and ISR, and the preferred replica."""
        before = existing_partition(field.observer, self._topic, self._partition)
        self._epoch = before.leader_epoch
        self._leader = before.leader if before.leader >= 0 else None
        self._isr = before.isr
        self._preferred = field.observer.replicas(self._topic, self._partition)[0]

    def inject(self, field: Field) -> None:
        """Request the election, through the current leader if there is one.

        Raises:
            FaultError: the cluster says that none is needed, as is known of its leader. A request
                that was repeated is answered so, too, once the first one had its effect.
        """
        is_needed = field.observer.worker.call(
            ObserverRole.elect(
                self._topic,
                self._partition,
                unclean=self._unclean,
                bootstrap=field.kafka.bootstrap_through(self._leader),
            )
        )

        had_nothing_to_do = (
            self._leader is not None if self._unclean else self._leader == self._preferred
        )
        if is_needed is False and had_nothing_to_do:
            what = "a leader" if self._unclean else "its preferred leader"
            raise FaultError(
                f"{self.verb} of {self._topic}-{self._partition} has nothing to do: it has {what} "
                f"already, broker {self._leader}"
            )

    def prove(self, field: Field) -> Evidence:
        """Landed when the requested replica leads, under a newer epoch.

        That is the preferred one or, after an unclean election, one that was not in sync. A leader
        that changed for another reason is no evidence.
        """
        epoch = self._epoch
        after = field.observer.await_state(
            self._topic,
            self._partition,
            lambda state: state.leader >= 0 and state.leader_epoch > epoch,
            what=f"{self._topic}-{self._partition} to be led under an epoch above {epoch}",
        )
        is_asked_for = (
            after.leader not in self._isr if self._unclean else after.leader == self._preferred
        )
        return Evidence(
            landed=is_asked_for,
            facts={
                "epoch_before": epoch,
                "epoch": after.leader_epoch,
                "leader": after.leader,
                "isr_before": self._isr,
                "preferred": self._preferred,
            },
        )

    def heal(self, field: Field) -> None:
        """Do nothing: an election is not undone."""

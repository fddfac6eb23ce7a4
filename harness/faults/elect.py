"""Elect a partition's leader by order of the administrator."""

from harness.clients.observer_commands import ElectLeader
from harness.contract.events import NO_EPOCH
from harness.faults.fault import Evidence, Fault, Field


class Elect(Fault):
    """An election: of the preferred replica, or, unclean, of any that lives. It can't be healed."""

    def __init__(self, topic: str, partition: int, *, unclean: bool) -> None:
        """`unclean` works whatever `unclean.leader.election.enable` says (KIP-460)."""
        self._topic, self._partition, self._unclean = topic, partition, unclean
        self._epoch = NO_EPOCH
        self._leader: int | None = None

    @property
    def verb(self) -> str:
        """How it reads in the history."""
        return "elect unclean" if self._unclean else "elect preferred"

    @property
    def target(self) -> str:
        """The partition."""
        return f"partition:{self._topic}-{self._partition}"

    def prepare(self, field: Field) -> None:
        """Note the leader and the epoch of before."""
        before = field.observer.partition(self._topic, self._partition)
        self._epoch = NO_EPOCH if before is None else before.leader_epoch
        self._leader = before.leader if before is not None and before.leader >= 0 else None

    def inject(self, field: Field) -> None:
        """Request the election, through the leader of before where there is one."""
        field.observer.worker.call(
            ElectLeader(
                topic=self._topic,
                partition=self._partition,
                unclean=self._unclean,
                bootstrap=field.kafka.bootstrap_through(self._leader),
            )
        )

    def prove(self, field: Field) -> Evidence:
        """Landed when the partition is led under a newer epoch than before."""
        epoch = self._epoch
        after = field.observer.await_state(
            self._topic,
            self._partition,
            lambda state: state.leader >= 0 and state.leader_epoch > epoch,
            what=f"{self._topic}-{self._partition} to be led under an epoch above {epoch}",
        )
        facts = {"epoch_before": epoch, "epoch": after.leader_epoch, "leader": after.leader}
        return Evidence(landed=after.leader_epoch > epoch, facts=facts)

    def heal(self, field: Field) -> None:
        """What was elected stays elected."""

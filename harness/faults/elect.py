"""Elect a partition's leader by order of the administrator."""

import msgspec

from contract.events import NO_EPOCH
from harness.clients.observer_commands import DescribeTopic, ElectLeader, NewTopic
from harness.faults.fault import Evidence, Fault, Field


class Elect(Fault):
    """An election: of the preferred replica, or, unclean, of any that lives. It can't be healed."""

    def __init__(self, topic: str, partition: int, *, unclean: bool) -> None:
        """`unclean` works whatever `unclean.leader.election.enable` says (KIP-460)."""
        self._topic, self._partition, self._unclean = topic, partition, unclean
        self._epoch = NO_EPOCH
        self._leader: int | None = None
        self._isr: list[int] = []
        self._preferred: int | None = None

    @property
    def verb(self) -> str:
        """How it reads in the history."""
        return "elect unclean" if self._unclean else "elect preferred"

    @property
    def target(self) -> str:
        """The partition."""
        return f"partition:{self._topic}-{self._partition}"

    def prepare(self, field: Field) -> None:
        """Note the leader, the epoch and the ISR of before, and the preferred replica."""
        before = field.observer.partition(self._topic, self._partition)
        self._epoch = NO_EPOCH if before is None else before.leader_epoch
        self._leader = before.leader if before is not None and before.leader >= 0 else None
        self._isr = [] if before is None else before.isr
        description = field.observer.worker.call(DescribeTopic(topic=self._topic))
        described = msgspec.convert(description, NewTopic)
        self._preferred = described.assignment[self._partition][0]

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
        """Landed when the replica that was asked for leads, under a newer epoch than before.

        That is the preferred one or, after an unclean election, one that was not in sync: a leader
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
        """What was elected stays elected."""

"""Carries out a plan on a run's cluster."""

from collections.abc import Sequence

from contract.errors import FaultError
from contract.run_folder import GroupPlan
from contract.terms import Stage
from extras.plans.plan import TOPIC, Do, RandomPlan, Step, When, fault_of, is_over
from harness.faults.fault import Fault, HeldFault
from harness.faults.overlap import require_compatible
from harness.story.consumers import members_of
from harness.story.run import Run

_RECORDS_PER_SECOND = 500
_READ_SECONDS = 75
"""Longer than `session.timeout.ms` and `group.consumer.session.timeout.ms`, 45 s: a member that was
closed while its coordinator could not be reached keeps its partitions for so long."""
_OFFSETS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"


class Story:
    """Carries out a plan. A server has one fault at a time: a second one is left out."""

    def __init__(self, run: Run, plan: RandomPlan) -> None:
        """Nothing is started."""
        self._run, self._plan = run, plan
        self._incarnations = dict.fromkeys((group.group for group in plan.groups), 0)
        self._open_groups = set[str]()
        self._faults: list[HeldFault | None] = []
        self._epochs: dict[int, int] = {}
        """By partition, when the last fault was injected; empty if it was left out."""

    def carry_out(self) -> None:
        """Take all steps, heal what holds, and let groups read to the log ends."""
        run, plan = self._run, self._plan
        run.phases.enter(Stage.WARM_UP, "clients begin to write and to read")
        run.workload.start_producer(plan.producer, records_per_second=_RECORDS_PER_SECOND)
        for group in plan.groups:
            self._open(group)
        run.workload.await_acknowledged([plan.producer.producer], 1)
        run.workload.await_commits(self._members())
        run.phases.enter(Stage.STEADY, "writing and reading")
        for step in plan.steps:
            self._await(step)
            self._take(step)
        run.settle(
            internal_topics=[_OFFSETS, *([_TRANSACTIONS] if plan.producer.transactions else [])]
        )
        run.workload.stop_producers()
        for group in plan.groups:
            if group.group not in self._open_groups:
                self._open(group)
        for incarnation in sorted(set(self._incarnations.values())):
            run.read_to_end(
                [group for group in plan.groups if self._incarnations[group.group] == incarnation],
                incarnation=incarnation,
                timeout_seconds=_READ_SECONDS,
            )

    def _members(self) -> dict[str, list[str]]:
        return {
            group.group: list(members_of([group], incarnation=self._incarnations[group.group]))
            for group in self._plan.groups
            if group.group in self._open_groups
        }

    def _open(self, group: GroupPlan, *, is_rolling: bool = False) -> None:
        incarnation = self._incarnations[group.group] = self._incarnations[group.group] + 1
        self._open_groups.add(group.group)
        if not is_rolling:
            self._run.open([group], incarnation=incarnation)
        for number in range(1, group.members + 1):
            if is_rolling:
                self._run.open([group], incarnation=incarnation, number=number)
            members = list(members_of([group], incarnation=incarnation, number=number))
            self._run.workload.start_reading(
                members,
                commit_epoch=group.member(number).commit_epoch,
                processing_ms=self._plan.processing_ms,
            )
            if is_rolling:
                self._run.workload.await_commits({group.group: members})

    def _close(self, name: str) -> None:
        """Close the members of a group, if they are open."""
        members = self._members().get(name, [])
        self._open_groups.discard(name)
        if members:
            self._run.workload.stop_reading(members)
            self._run.close(members)

    def _await(self, step: Step) -> None:
        run, partition = self._run, step.partition
        match step.when:
            case When.ACKNOWLEDGED:
                run.workload.await_acknowledged([self._plan.producer.producer], step.values)
            case When.COMMITTED:
                run.workload.await_commits(self._members(), are_new=True)
            case When.EPOCH if self._epochs:
                run.await_epoch_above(self._plan.topic, [partition], self._epochs[partition])
            case When.ISR if self._epochs:
                for broker in self._brokers_of_last():
                    run.await_out_of_isr(TOPIC, partition, broker)
            case When.IN_SYNC:
                run.await_in_sync()
            case When.COORDINATOR if self._epochs:
                run.groups.await_coordinator(step.awaited, other_than=self._brokers_of_last())
            case When.ASSIGNED:
                run.groups.await_members(step.awaited, len(self._members()[step.awaited]))
            case When.TRANSACTION:
                run.await_transaction(self._plan.producer.producer)

    def _brokers_of_last(self) -> Sequence[int]:
        """The brokers of the last fault, while it holds."""
        last = self._faults[-1]
        return () if last is None else last.fault.target.brokers

    def _take(self, step: Step) -> None:
        if step.do is Do.INJECT:
            self._inject(step.fault)
        elif step.do is Do.HEAL:
            self._heal(step.number)
        elif step.do is Do.CLOSE:
            self._close(step.group)
        else:
            self._reopen(step.group, is_rolling=step.is_rolling)

    def _inject(self, fault: str) -> None:
        topic = self._plan.topic
        before = {
            partition: self._run.leader_epoch(TOPIC, partition)
            for partition in range(topic.partitions)
        }
        try:
            self._require_needed(fault)
            held = self._run.inject(
                fault_of(self._plan, fault, reopen=self._reopen), require=self._require_alone
            )
        except FaultError as error:
            self._faults.append(None)
            self._epochs = {}
            self._run.phases.enter(Stage.HELD, f"left out: {fault}, since {error}")
            return
        self._faults.append(held)
        self._epochs = before
        if is_over(fault):
            self._heal(len(self._faults) - 1)

    def _require_alone(self, new: Fault) -> None:
        require_compatible(new, self._run.held, is_alone=True)

    def _require_needed(self, fault: str) -> None:
        """Refuse an election of a preferred leader that leads, or can't."""
        verb, _, target = fault.partition(" ")
        if verb != "elect":
            return
        partition = int(target.rpartition("-")[2])
        preferred = self._run.observer.replicas(TOPIC, partition)[0]
        state = self._run.observer.partition(TOPIC, partition)
        if state is None or state.leader == preferred or preferred not in state.isr:
            raise FaultError(f"broker {preferred} leads already, or is not in sync")

    def _heal(self, number: int) -> None:
        if (held := self._faults[number]) is not None:
            held.heal()
        if not self._run.held:
            self._run.phases.enter(Stage.HEALED, "no fault holds")

    def _reopen(self, name: str, *, is_rolling: bool = False) -> None:
        self._close(name)
        group = next(planned for planned in self._plan.groups if planned.group == name)
        self._open(group, is_rolling=is_rolling)

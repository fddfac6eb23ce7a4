"""Carries out a plan on a run's cluster."""

from contract.errors import FaultError
from contract.outcomes import CommitEpoch
from contract.run_folder import GroupPlan
from contract.stages import Stage
from harness.faults.fault import HeldFault
from harness.faults.language import parse_fault
from harness.faults.targets import parse_target
from harness.plans.plan import TOPIC, Do, RandomPlan, Step, When, words_of
from harness.story.consumers import members_of
from harness.story.run import Run

RECORDS_PER_SECOND = 500
OFFSETS = "__consumer_offsets"
_BOUNCE = "bounce"


class Story:
    """Carries out a plan. A server has one fault at a time: a second one is left out."""

    def __init__(self, run: Run, plan: RandomPlan) -> None:
        """Nothing is started."""
        self._run, self._plan = run, plan
        self._incarnations = dict.fromkeys((group.group for group in plan.groups), 0)
        self._faults: list[tuple[HeldFault, frozenset[int]] | None] = []
        self._epochs: dict[int, int] = {}

    def carry_out(self) -> None:
        """Take all steps, heal what holds, and let groups read to the log ends."""
        run, plan = self._run, self._plan
        run.phases.enter(Stage.WARM_UP, "clients begin to write and to read")
        run.workload.start_producer(plan.producer, records_per_second=RECORDS_PER_SECOND)
        for group in plan.groups:
            self._open(group)
        run.workload.await_acknowledged([plan.producer.producer], 1)
        run.workload.await_commits(self._members())
        run.phases.enter(Stage.STEADY, "writing and reading")
        for step in plan.steps:
            self._await(step)
            self._take(step)
        run.settle(internal_topics=[OFFSETS])
        run.workload.stop_producers()
        for group in plan.groups:
            run.read_to_end([group], incarnation=self._incarnations[group.group])

    def _members(self) -> dict[str, list[str]]:
        return {
            group.group: list(members_of([group], incarnation=self._incarnations[group.group]))
            for group in self._plan.groups
        }

    def _open(self, group: GroupPlan) -> None:
        self._incarnations[group.group] += 1
        members = self._run.open([group], incarnation=self._incarnations[group.group])
        self._run.workload.start_reading(members, commit_epoch=CommitEpoch(group.commit_epoch))

    def _await(self, step: Step) -> None:
        workload = self._run.workload
        if step.when is When.ACKNOWLEDGED:
            workload.await_acknowledged([self._plan.producer.producer], step.values)
        elif step.when is When.COMMITTED:
            workload.await_commits(self._members(), are_new=True)
        elif step.when is When.EPOCH and step.partition in self._epochs:
            epoch = self._epochs[step.partition]
            self._run.await_epoch_above(self._plan.topic, [step.partition], epoch)

    def _take(self, step: Step) -> None:
        if step.do is Do.INJECT:
            self._inject(step)
        elif step.do is Do.HEAL:
            self._heal(step.number)
        else:
            self._reopen(next(one for one in self._plan.groups if one.group == step.group))

    def _inject(self, step: Step) -> None:
        verb, target = words_of(step.fault, "a step")
        busy = frozenset[int]().union(*(one[1] for one in self._faults if one))
        try:
            servers = frozenset(parse_target(target).resolve(self._run.observer))
        except FaultError as error:
            self._leave_out(step.fault, str(error))
            return
        if servers & busy:
            self._leave_out(step.fault, f"a fault holds on {sorted(servers & busy)} already")
            return
        self._epochs = {
            partition: self._run.leader_epoch(TOPIC, partition)
            for partition in range(self._plan.topic.partitions)
        }
        held = self._run.inject(parse_fault(verb, target))
        self._faults.append((held, servers))
        if verb == _BOUNCE:
            self._heal(len(self._faults) - 1)

    def _leave_out(self, fault: str, why: str) -> None:
        self._faults.append(None)
        self._epochs = {}
        self._run.phases.enter(Stage.HELD, f"left out: {fault}, since {why}")

    def _heal(self, number: int) -> None:
        if (holds := self._faults[number]) is not None:
            holds[0].heal()
            self._faults[number] = None
        if not any(self._faults):
            self._run.phases.enter(Stage.HEALED, "no fault holds")

    def _reopen(self, group: GroupPlan) -> None:
        members = self._members()[group.group]
        self._run.workload.stop_reading(members)
        self._run.close(members)
        self._open(group)

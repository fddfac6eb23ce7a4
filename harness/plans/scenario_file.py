"""Writes a plan as the file of a scenario, in the verbs of docs/verbs.md."""

from collections.abc import Iterator
from textwrap import fill

import msgspec

from contract.clients import Client
from contract.errors import UsageError
from harness.faults.cut import Links
from harness.faults.targets import Target, parse_target
from harness.plans.plan import (
    BROKERS,
    EXPIRE,
    HOLDS,
    MUST_JUDGE,
    REOPENED,
    TOPIC,
    Do,
    RandomPlan,
    Step,
    When,
    is_over,
    of_openings,
)
from harness.plans.story import READ_SECONDS, RECORDS_PER_SECOND, internal_topics

_WIDTH, _INDENT = 100, 12
_ON_SERVERS = {
    "kill": "Kill",
    "stop": "Stop",
    "pause": "Pause",
    "bounce": "Bounce",
    "wipe": "Wipe",
    "fill": "Fill",
    "cut-bridge": "Bridge",
}
_ON_CLIENTS = {"pause": "PauseClient", "cut": "CutClient"}
_ON_NAMES = {"recreate": "Recreate", "rebalance": "Rebalance"}
_ALWAYS = {
    "Check",
    "CommitEpoch",
    "GroupPlan",
    "ProducerPlan",
    "Run",
    "Scenario",
    "Stage",
    "TopicPlan",
    "Topology",
}
_RUNNING = (
    f"with self.running(topics=[self.{TOPIC}], groups=self.groups, expects=self.expects) as run:"
)
_OPEN = '''
    def open(self, run: Run, group: GroupPlan, *, is_rolling: bool = False) -> None:
        """Let the members of a group read; those that are open are closed first."""
        self.close(run, group)
        incarnation = self.incarnations[group.group] = self.incarnations.get(group.group, 0) + 1
        members = self.members[group.group] = list[str]()
        if not is_rolling:
            members += run.open([group], incarnation=incarnation)
        for number in range(1, group.members + 1):
            if is_rolling:
                members += run.open([group], incarnation=incarnation, number=number)
            name = members[number - 1]
            style = CommitEpoch(group.member(number).commit_epoch)
            run.workload.start_reading([name], commit_epoch=style, processing_ms=%d)
            if is_rolling:
                run.workload.await_commits({group.group: [name]})

    def close(self, run: Run, group: GroupPlan) -> None:
        """Close the members of a group, if they are open."""
        if before := self.members.pop(group.group, []):
            run.workload.stop_reading(before)
            run.close(before)
'''


def scenario_of(plan: RandomPlan, name: str) -> str:
    """Return the file of a scenario of this name, which does what a plan does.

    Where a plan would leave a fault out, as its server has one already, the scenario ends with an
    error.
    """
    return _Writer(plan, name).text()


class _Writer:
    """Writes one file, and notes what it has to import."""

    def __init__(self, plan: RandomPlan, name: str) -> None:
        self._plan, self._name = plan, name
        self._used = {*_ALWAYS}
        self._injected = 0
        self._last = 0
        """The number of the last fault."""

    def text(self) -> str:
        story = [f"            {line}" for line in self._story()]
        declared = list(self._declared())
        words = "".join(word.capitalize() for word in self._name.split("_"))
        return "\n".join(
            [
                self._docstring(),
                "",
                "from fencepost.scenario import (",
                *(f"    {one}," for one in sorted(self._used)),
                ")",
                "",
                "",
                f"class {words}Scenario(Scenario):",
                f'    """The plan of seed {self._plan.seed}, or what is left of it."""',
                "",
                *declared,
                "",
                f"    def test_{self._name}(self) -> None:",
                '        """Take the steps of the plan, each at its state."""',
                "        self.members: dict[str, list[str]] = {}",
                "        self.incarnations: dict[str, int] = {}",
                f"        {_RUNNING}",
                *story,
                (_OPEN % self._plan.processing_ms).rstrip(),
                "",
            ]
        )

    def _docstring(self) -> str:
        plan = self._plan
        faults = [step.fault for step in plan.steps if step.do is Do.INJECT]
        clients = ", ".join(sorted({group.client for group in plan.groups}))
        rows = {
            "Cluster": f"{BROKERS} brokers, 1 controller; one topic of {plan.topic.partitions} "
            f"partitions with {BROKERS} replicas.",
            "Load": f"a producer with acks={plan.producer.acks}, and groups of {clients}.",
            "Fault": f"{', '.join(faults) or 'none'}.",
            "Expect": "no violation.",
            "Source": f"the random plan of seed {plan.seed}.",
        }
        lines = [
            fill(text, _WIDTH, initial_indent=f"{f'{name}:':9}", subsequent_indent=" " * 9)
            for name, text in rows.items()
        ]
        return "\n".join(['"""What do the faults of a random plan do?', "", *lines, '"""'])

    def _declared(self) -> Iterator[str]:
        plan = self._plan
        proxied = ", is_proxied=True" if plan.is_proxied else ""
        yield f"    topology = Topology(brokers={BROKERS}, controllers=1{proxied})"
        yield from _assigned(TOPIC, plan.topic)
        yield from _assigned("writer", plan.producer)
        if plan.producer.transactions:
            self._used.add("TransactionPlan")
        if any(group.others for group in plan.groups):
            self._used.add("MemberPlan")
        yield "    producers = (writer,)"
        yield "    groups = ("
        for group in plan.groups:
            yield from (f"        {line}" for line in _made(group))
        yield "    )"
        yield "    must_judge = ("
        yield from (f"        Check.{check.name}," for check in (*MUST_JUDGE, *of_openings(plan)))
        yield "    )"
        self._used.add("Expectation")
        without = [one.group for one in plan.groups if one.client == Client.KAFKA_PYTHON]
        if without:
            yield "    expects = ("
            yield "        Expectation("
            yield "            check=Check.COMMITTED_EPOCH_MISSING,"
            yield f"            groups={_quoted(without)},"
            yield "            is_optional=True,"
            yield "        ),"
            yield "    )"
        else:
            yield "    expects: tuple[Expectation, ...] = ()"
        yield "    answer = ("
        yield "        \"Of {{ sends.records(outcome='ok') | noun('acknowledged record') }}, \""
        yield "        \"{{ lost_record.records(verdict='violation') }} were lost.\""
        yield "    )"

    def _story(self) -> Iterator[str]:
        plan = self._plan
        writer = f'["{plan.producer.producer}"]'
        yield f"run.create(assignment={list(range(1, BROKERS + 1))}, is_spread=True)"
        yield "run.watch()"
        yield 'run.phases.enter(Stage.WARM_UP, "clients begin to write and to read")'
        yield "load = run.workload"
        yield f"load.start_producer(self.writer, records_per_second={RECORDS_PER_SECOND})"
        yield "for group in self.groups:"
        yield "    self.open(run, group)"
        yield f"load.await_acknowledged({writer}, 1)"
        yield "load.await_commits(self.members)"
        yield 'run.phases.enter(Stage.STEADY, "writing and reading")'
        for at, step in enumerate(plan.steps):
            yield from self._awaited(step, writer)
            yield from self._taken(step, self._epochs_after(at))
        yield f"run.settle(internal_topics={_quoted(internal_topics(plan))})"
        yield "load.stop_producers()"
        if any(step.do is Do.CLOSE for step in plan.steps):
            yield "for group in self.groups:"
            yield "    if group.group not in self.members:"
            yield "        self.open(run, group)"
        yield "for number in sorted(set(self.incarnations.values())):"
        yield "    groups = [one for one in self.groups if self.incarnations[one.group] == number]"
        yield f"    run.read_to_end(groups, incarnation=number, timeout_seconds={READ_SECONDS})"

    def _epochs_after(self, at: int) -> list[int]:
        """The partitions whose epoch is awaited before the next fault is injected."""
        found = list[int]()
        for step in self._plan.steps[at + 1 :]:
            found += [step.partition] if step.when is When.EPOCH else []
            if step.do is Do.INJECT:
                break
        return list(dict.fromkeys(found))

    def _awaited(self, step: Step, writer: str) -> Iterator[str]:
        partition, last = step.partition, f"fault_{self._last}"
        match step.when:
            case When.ACKNOWLEDGED:
                yield f"load.await_acknowledged({writer}, {step.values})"
            case When.COMMITTED:
                yield "load.await_commits(self.members, are_new=True)"
            case When.EPOCH if self._injected:
                yield f"run.await_epoch_above(self.{TOPIC}, [{partition}], epoch_{partition})"
            case When.ISR if self._injected:
                yield f"for broker in {last}.fault.target.brokers:"
                yield f'    run.await_out_of_isr("{TOPIC}", {partition}, broker)'
            case When.IN_SYNC:
                yield "run.await_in_sync()"
            case When.COORDINATOR if self._injected:
                yield f"before = {last}.fault.target.brokers"
                yield f'run.groups.await_coordinator("{step.awaited}", other_than=before)'
            case When.ASSIGNED:
                members = f'len(self.members["{step.awaited}"])'
                yield f'run.groups.await_members("{step.awaited}", {members})'
            case When.TRANSACTION:
                yield f'run.await_transaction("{self._plan.producer.producer}")'

    def _taken(self, step: Step, epochs: list[int]) -> Iterator[str]:
        if step.do is Do.HEAL:
            yield f"fault_{step.number}.heal()"
        elif step.do is Do.REOPEN:
            rolling = ", is_rolling=True" if step.is_rolling else ""
            yield f"self.open(run, {self._group(step.group)}{rolling})"
        elif step.do is Do.CLOSE:
            yield f"self.close(run, {self._group(step.group)})"
        else:
            for partition in epochs:
                yield f'epoch_{partition} = run.leader_epoch("{TOPIC}", {partition})'
            name, self._last = f"fault_{self._injected}", self._injected
            yield from _fitted(f"{name} = run.inject(", self._fault(step.fault), ")")
            if is_over(step.fault):
                yield f"{name}.heal()"
            self._injected += 1

    def _group(self, name: str) -> str:
        names = [group.group for group in self._plan.groups]
        return f"self.groups[{names.index(name)}]"

    def _fault(self, fault: str) -> str:
        verb, _, target = fault.partition(" ")
        kind, _, name = target.partition(":")
        if verb in HOLDS:
            by = f", by=lambda: self.open(run, {self._group(name)})"
            by = by if HOLDS[verb] == REOPENED else ""
            return self._made_of("Hold", f'"{HOLDS[verb]}", "{name}"{by}')
        if verb == EXPIRE:
            self._used.add("By")
            return self._made_of("Expire", f"self.{TOPIC}, By.ORDER")
        if kind == "client":
            return self._made_of(_ON_CLIENTS[verb], f'"{name}"')
        if verb in _ON_SERVERS or verb.startswith("cut"):
            return self._on_servers(verb, self._target(parse_target(target)))
        return self._on_names(verb, name)

    def _on_servers(self, verb: str, target: str) -> str:
        if verb in _ON_SERVERS:
            return self._made_of(_ON_SERVERS[verb], target)
        self._used.add("Links")
        links = Links(verb.partition("-")[2] or Links.BOTH)
        return self._made_of("Cut", f"{target}, Links.{links.name}")

    def _on_names(self, verb: str, name: str) -> str:
        if verb.startswith("elect"):
            topic, _, partition = name.rpartition("-")
            is_unclean = verb == "elect-unclean"
            return self._made_of("Elect", f'"{topic}", {partition}, unclean={is_unclean}')
        if verb == "fence":
            return self._made_of("Fence", f'["{name}"]')
        return self._made_of(_ON_NAMES[verb], f'"{name}"')

    def _target(self, target: Target) -> str:
        """The expression of a target, of which all are dataclasses."""
        if "<" in repr(target):  # A minority, of an enum.
            raise UsageError(f"a scenario's file of {target} is not made: name a single server")
        name = type(target).__name__
        return self._made_of(name, repr(target)[len(name) + 1 : -1].replace("'", '"'))

    def _made_of(self, name: str, arguments: str) -> str:
        self._used.add(name)
        return f"{name}({arguments})"


def _fitted(begin: str, what: str, end: str) -> list[str]:
    """A call of the story, in one line or in three."""
    line = f"{begin}{what}{end}"
    return [line] if len(line) + _INDENT <= _WIDTH else [begin, f"    {what}", end]


def _assigned(name: str, value: msgspec.Struct) -> Iterator[str]:
    first, *others = _made(value)
    yield f"    {name} = {first}"
    yield from (f"    {line}" for line in others[:-1])
    yield f"    {others[-1].rstrip(',')}"


def _made(value: msgspec.Struct) -> Iterator[str]:
    """Lines that make a plan's struct, without what is its default."""
    yield f"{type(value).__name__}("
    yield from (f"    {name}={_literal(one)}," for name, one in _given(value))
    yield "),"


def _given(value: msgspec.Struct) -> Iterator[tuple[str, object]]:
    for field in msgspec.structs.fields(value):
        given = getattr(value, field.name)
        if field.required or (given != field.default and given):
            yield field.name, given


def _literal(value: object) -> str:
    if isinstance(value, msgspec.Struct):
        given = (f"{name}={_literal(one)}" for name, one in _given(value))
        return f"{type(value).__name__}({', '.join(given)})"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_literal(at)}: {_literal(one)}" for at, one in value.items()) + "}"
        )
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value).replace("'", '"')


def _quoted(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"

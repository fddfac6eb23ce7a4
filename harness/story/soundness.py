"""Mistakes of a scenario that are found before its cluster starts, with the line of its file."""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from cluster.kafka.topology import Topology
from contract.answers import (
    COUNTED,
    COUNTING,
    DURING,
    RESUMPTION,
    Figure,
    parts,
    require_asked,
)
from contract.errors import UsageError, lacking
from contract.run_folder import GroupPlan, Plan, ProducerPlan, TopicPlan
from contract.software import (
    INSTALLED,
    Build,
    Client,
    Level,
    about,
    client_of,
    clients_of,
    is_guest,
    is_guest_name,
    version_of,
)
from contract.tables import TABLES
from contract.terms import Check, CommitEpoch, Isolation, Manner, ResetPolicy
from contract.verdicts import FINDINGS, FindingVerdict, Resumption
from harness.clients.member import OF_THE_CLIENTS_STATE
from harness.faults.targets import Broker
from harness.story.run import Run
from harness.story.settings import (
    client_problems,
    codec_problems,
    producer_problems,
    server_problems,
    topic_problems,
    topic_shape_problems,
    topology_problems,
)

_PRODUCING = [client for client in INSTALLED if client.about.has_producer]
_TRANSACTING = [client for client in _PRODUCING if client.about.transacts]
_ALL = "all"
_ACKS = ("0", "1", _ALL)
_OF_ANY_CLIENT = (Manner.SYNC, Manner.AUTO, Manner.PERIODIC, Manner.UNAWAITED)
_OF_GUESTS = (Manner.SYNC, Manner.AUTO, Manner.PERIODIC)
_STYLES: dict[str, CommitEpoch] = {
    Manner.AUTO: CommitEpoch.RECORD,
    Manner.PERIODIC: CommitEpoch.RECORD,
    Manner.UNAWAITED: CommitEpoch.RECORD,
    Manner.MESSAGE: CommitEpoch.APPLICATION,
    Manner.STORED: CommitEpoch.RECORD,
}
"""Of the manners in which the client decides what is committed."""
_OF_FAULTS = "harness.faults"
_OF_GROUPS = ("client", "reset", "commit_epoch")
"""The properties of a row's group that a condition may name, besides its labels."""
_INTERNAL = "__"
_TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
"""By Kafka's class `Topic`."""


def require_declared(
    module: ModuleType,
    *,
    answer: str,
    groups: Sequence[GroupPlan],
    producers: Sequence[ProducerPlan],
    topology: Topology,
    build: Build,
    must_judge: Sequence[Check] = (),
) -> None:
    """Refuse a scenario whose file names something unknown, before any of its nodes is started.

    Args:
        module: of the scenario.
        answer: as the scenario declares it; likewise the other arguments.
        groups: may be others in a test: `require_sound` has all.
        producers: likewise.
        topology: likewise.
        build: what runs.
        must_judge: likewise.

    Raises:
        UsageError: the first mistake, with its file and line.
    """
    _refuse_first(module, _in_shape(topology, module))
    _refuse_first(module, _in_answer(answer, inspect.getdoc(module) or ""))
    _refuse_first(module, _in_declaration(groups, producers, topology, build))
    _refuse_first(module, _in_topics(module, build))
    unknown = [str(check) for check in must_judge if check not in set(Check)]
    _refuse_first(module, ((check, 0, lacking("check", check, Check)) for check in unknown))


def require_sound(plan: Plan, module: ModuleType, *, topology: Topology, build: Build) -> None:
    """Refuse a plan, or a scenario's file, that names something unknown.

    Raises:
        UsageError: the first mistake, with its file and line, or the `--set` that made it.
    """
    changes = build.choice.changes
    _refuse_first(module, _in_shape(topology, module))
    _refuse_first(
        module, (("", 0, problem) for problem in topic_shape_problems(plan.topics, topology))
    )
    _refuse_first(module, _in_names(plan))
    _refuse_first(module, _in_topic_plans(plan.topics, build), changes)
    _refuse_first(module, _in_plan(plan, build), changes)
    _refuse_first(module, _in_servers(topology, build), changes)
    created = [settings for _, settings in _created(module)]
    codecs = ((codec, 0, problem) for codec, problem in codec_problems(plan, topology, created))
    _refuse_first(module, codecs, changes)
    _refuse_first(module, _in_story(plan, module))
    _refuse_first(module, _in_numbers(plan, module, topology))


def _refuse_first(
    module: ModuleType, problems: Iterable["_Problem"], changes: Sequence[str] = ()
) -> None:
    for name, number, problem in problems:
        for change in changes:
            if name and change.partition("=")[0].endswith(f".{name}"):
                raise UsageError(f"--set {change}: {problem}")
        line = number or _line_of(_tree_of(module), name)
        raise UsageError(f"{_file_of(module).name}:{line}: {problem}")


def _file_of(module: ModuleType) -> Path:
    return Path(inspect.getfile(module))


def _tree_of(module: ModuleType) -> ast.Module:
    return ast.parse(_file_of(module).read_bytes())


def require_answer(answer: str, *, labels: Collection[str] | None = None) -> None:
    """Refuse an answer (`contract.answers`) that counts something unknown.

    Args:
        answer: the text.
        labels: of the groups; None where they are not known yet, so that a condition on rows of
            groups is not checked.

    Raises:
        UsageError: the first mistake.
    """
    figures = [part for part in parts(answer) if isinstance(part, Figure)]
    for count in (count for figure in figures for count in (*figure.counts, *figure.of)):
        columns = _columns_of(count.source)
        counting = (
            counted for counted in COUNTING if set(COUNTED.get(counted, ())) <= set(columns)
        )
        measures = (*counting, *columns)
        if count.measure not in measures:
            raise UsageError(f"{count.source}: {lacking('measure', count.measure, measures)}")
        is_of_groups = "group" in columns
        if count.source in set(Check) or (is_of_groups and labels is None):
            continue
        of_groups = {*_OF_GROUPS, *(labels or ())} if is_of_groups else ()
        known = (DURING, *columns, *sorted(of_groups))
        for condition in count.conditions:
            if condition.column not in known:
                raise UsageError(f"{count.source}: {lacking('column', condition.column, known)}")


def _columns_of(source: str) -> Sequence[str]:
    if source == RESUMPTION:
        return Resumption.__struct_fields__
    names: Sequence[str] = TABLES.get(source, FINDINGS).names
    return names


_Problem = tuple[str, int, str]
"""The wrong name, its line (0: where the file has it last), and what is wrong."""


def _in_answer(
    answer: str, docstring: str, *, labels: Collection[str] | None = None
) -> Iterator[_Problem]:
    question = " ".join(docstring.partition("\n\n")[0].split())
    try:
        require_answer(answer, labels=labels)
        require_asked(answer, question)
    except UsageError as mistake:
        yield answer, 0, f"answer: {mistake}"


def _in_declaration(
    groups: Sequence[GroupPlan],
    producers: Sequence[ProducerPlan],
    topology: Topology,
    build: Build,
) -> Iterator[_Problem]:
    for group in groups:
        yield from _in_group(group, build)
    for producer in producers:
        yield from _in_producer(producer, build, None)
    yield from _in_servers(topology, build)


def _in_shape(topology: Topology, module: ModuleType) -> Iterator[_Problem]:
    """With the last line that gives an attribute this value, if there is one."""
    keywords = [node for node in ast.walk(_tree_of(module)) if isinstance(node, ast.keyword)]
    for name, problem in topology_problems(topology).items():
        value = ast.dump(ast.parse(repr(getattr(topology, name)), mode="eval").body)
        lines = [
            keyword.lineno
            for keyword in keywords
            if (keyword.arg, ast.dump(keyword.value)) == (name, value)
        ]
        yield "", max(lines, default=1), f"topology: {problem}"


def _in_servers(topology: Topology, build: Build) -> Iterator[_Problem]:
    problems = server_problems(topology, is_own=bool(build.of_servers.own))
    for name, problem in problems.items():
        yield name, 0, f"topology: {problem}"


def _in_topic_plans(topics: Iterable[TopicPlan], build: Build) -> Iterator[_Problem]:
    for topic in topics:
        problems = topic_problems(topic.settings, is_own=bool(build.of_servers.own))
        for name, problem in problems.items():
            yield name, 0, f"topic {topic.topic}: {problem}"


def _in_topics(module: ModuleType, build: Build) -> Iterator[_Problem]:
    for line, settings in _created(module):
        problems = topic_problems(settings, is_own=bool(build.of_servers.own))
        for problem in problems.values():
            yield "", line, f"topic: {problem}"
    for cls in (found for found in vars(module).values() if isinstance(found, type)):
        topics = [value for value in vars(cls).values() if isinstance(value, TopicPlan)]
        yield from _in_topic_plans(topics, build)


def _created(module: ModuleType) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Settings that `run.create` is given, as far as they are literals or names of the module."""
    for node in ast.walk(_tree_of(module)):
        if isinstance(node, ast.Call) and _callable_of(node, vars(module)) is Run.create:
            for given in (keyword.value for keyword in node.keywords if keyword.arg == "settings"):
                for settings in _values_of(given, vars(module)):
                    yield given.lineno, settings


def _values_of(given: ast.expr, named: dict[str, Any]) -> Iterator[Mapping[str, str]]:
    """The mappings that an expression may be, if they are known without a run."""
    if isinstance(given, ast.IfExp):
        yield from _values_of(given.body, named)
        yield from _values_of(given.orelse, named)
        return
    try:
        value = named.get(given.id) if isinstance(given, ast.Name) else ast.literal_eval(given)
    except ValueError:
        return
    if isinstance(value, Mapping):
        yield value


def _in_figures(plan: Plan) -> Iterator[_Problem]:
    labels = {name for group in plan.groups for name in group.labels}
    yield from _in_answer(plan.answer, plan.question, labels=labels)
    follows = "" if plan.follows is None else plan.follows.sentence
    try:
        require_answer(follows, labels=labels)
    except UsageError as mistake:
        yield follows, 0, f"follows: {mistake}"


def _in_names(plan: Plan) -> Iterator[_Problem]:
    for topic in (planned.topic for planned in plan.topics):
        if not _TOPIC.fullmatch(topic):
            yield topic, 0, f"{topic!r} is no name of a topic: use letters, digits, `.`, _ and -"


def _in_plan(plan: Plan, build: Build) -> Iterator[_Problem]:
    topics, groups = [topic.topic for topic in plan.topics], [group.group for group in plan.groups]
    writers = [producer.producer for producer in plan.producers]
    for kind, names in (("topics", topics), ("groups", groups), ("producers", writers)):
        for name, count in Counter(names).items():
            if count > 1:
                yield name, 0, f"{count} {kind} are named {name}"
    for group in plan.groups:
        if group.topic not in topics:
            yield group.topic, 0, f"group {group.group}: {lacking('topic', group.topic, topics)}"
        yield from _in_group(group, build)
    for producer in plan.producers:
        yield from _in_producer(producer, build, topics)
    yield from _in_figures(plan)
    yield from _in_expectations(plan, groups)


def _in_expectations(plan: Plan, groups: Sequence[str]) -> Iterator[_Problem]:
    expected = [
        (expectation.check, expectation.verdict, expectation.groups) for expectation in plan.expects
    ]
    violated = str(FindingVerdict.VIOLATION)
    for check, verdict, of in (*expected, *((check, violated, []) for check in plan.must_judge)):
        wanted: list[tuple[str, str, Iterable[str]]] = [
            ("check", check, Check),
            ("verdict", verdict, FindingVerdict),
            *(("group", name, groups) for name in of),
        ]
        for kind, name, known in wanted:
            if name not in set(known):
                yield name, 0, lacking(kind, name, known)


def require_sound_load(load: GroupPlan | ProducerPlan, topics: Sequence[str], build: Build) -> None:
    """Refuse a group or a producer that names something unknown, such as another topic than these.

    Raises:
        UsageError: the first mistake.
    """
    known = [str(client) for client in clients_of(build.kafka)]
    if load.client not in known:
        raise UsageError(lacking("client", load.client, known))
    if load.topic not in topics:
        raise UsageError(lacking("topic", load.topic, topics))
    problems = (
        _in_group(load, build) if isinstance(load, GroupPlan) else _in_producer(load, build, topics)
    )
    for _, _, problem in problems:
        raise UsageError(problem)


def _in_group(group: GroupPlan, build: Build) -> Iterator[_Problem]:
    for number in group.others:
        if not 1 <= number <= group.members:
            there = f"there are 1 to {group.members}"
            yield group.group, 0, f"group {group.group} has no member {number}: {there}"
    for alike in (group.member(number) for number in (0, *group.others)):
        yield from _in_alike(alike, build)


def _in_alike(group: GroupPlan, build: Build) -> Iterator[_Problem]:
    """What is wrong with a group whose members are alike."""
    known: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("commit style", group.commit_epoch, CommitEpoch),
        ("reset policy", group.reset, ResetPolicy),
        ("isolation level", group.isolation_level, Isolation),
        ("manner", group.manner, Manner),
        ("level", group.level, Level),
    )
    for kind, name, all_of_them in known:
        if name not in set(all_of_them):
            yield name, 0, f"group {group.group}: {lacking(kind, name, all_of_them)}"
    if is_guest(group.client):
        yield from _in_guest(group)
        return
    client = about(group.client)
    able = [other for other in INSTALLED if group.manner in (*_OF_ANY_CLIENT, *other.about.manners)]
    if group.manner not in (*_OF_ANY_CLIENT, *client.manners):
        needed = f"manner {group.manner} needs {' or '.join(able)}"
        yield group.manner, 0, f"group {group.group}: {needed}"
    if group.commit_epoch in OF_THE_CLIENTS_STATE and not client.is_java:
        problem = f"style {group.commit_epoch} needs a Java client"
        yield group.commit_epoch, 0, f"group {group.group}: {problem}"
    style = _STYLES.get(group.manner, group.commit_epoch)
    if style != group.commit_epoch:
        problem = f"in manner {group.manner} it commits style {style}, not {group.commit_epoch}"
        yield group.commit_epoch, 0, f"group {group.group}: {problem}"
    problems = client_problems(group, is_own=bool(build.of_clients.own))
    for name, problem in problems.items():
        yield name, 0, f"group {group.group}: {problem}"


def _in_guest(group: GroupPlan) -> Iterator[_Problem]:
    """What the protocol of a guest has no word for; its settings are its own."""
    named = f"group {group.group}"
    if not is_guest_name(version_of(group.client)):
        needed = f"{Client.GUEST}@NAME, with a name of lower-case letters, digits, `.` and `-`"
        yield group.client, 0, f"{named}: the client {group.client!r} has to be {needed}"
    if group.manner not in _OF_GUESTS:
        known = ", ".join(_OF_GUESTS)
        problem = f"a guest commits in one of the manners {known}, not {group.manner}"
        yield group.manner, 0, f"{named}: {problem}"
    if group.commit_epoch != CommitEpoch.RECORD:
        problem = f"a guest commits style {CommitEpoch.RECORD}, not {group.commit_epoch}"
        yield group.commit_epoch, 0, f"{named}: {problem}"
    for name, problem in client_problems(group).items():
        yield name, 0, f"{named}: {problem}"


def _in_producer(
    producer: ProducerPlan, build: Build, topics: Sequence[str] | None
) -> Iterator[_Problem]:
    """`topics`: None where they are not known yet."""
    named = f"producer {producer.producer}"
    if topics is not None and producer.topic not in topics:
        yield producer.topic, 0, f"{named}: {lacking('topic', producer.topic, topics)}"
    elif producer.acks not in _ACKS:
        yield producer.acks, 0, f"{named}: {lacking('acks', producer.acks, _ACKS)}"
    elif client_of(producer.client) not in _PRODUCING:
        yield producer.client, 0, f"{named}: {lacking('client', producer.client, _PRODUCING)}"
    elif producer.transactions is not None and producer.acks != _ALL:
        yield producer.acks, 0, f"{named}: transactions need acks={_ALL}, not {producer.acks}"
    elif producer.transactions is not None and client_of(producer.client) not in _TRANSACTING:
        problem = f"transactions need {' or '.join(_TRANSACTING)}"
        yield producer.client, 0, f"{named}: {problem}, not {producer.client}"
    else:
        for name, problem in producer_problems(producer, build).items():
            yield name, 0, f"{named}: {problem}"


def _in_story(plan: Plan, module: ModuleType) -> Iterator[_Problem]:
    """Topics and groups that targets, faults and verbs of `run` are given as literals.

    Another test of the file may have another plan: a name that stands anywhere else in it is known.
    """
    tree = _tree_of(module)
    used = [
        (kind, literal)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (called := _callable_of(node, vars(module))) is not None
        for kind in ("topic", "group")
        for literal in _literals_of(node, called, kind)
    ]
    places = {id(literal) for _, literal in used}
    elsewhere = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in places
    }
    known = {
        "topic": [topic.topic for topic in plan.topics],
        "group": [group.group for group in plan.groups],
    }
    for kind, literal in used:
        name = str(literal.value)
        if name not in elsewhere.union(known[kind]) and not name.startswith(_INTERNAL):
            yield name, literal.lineno, lacking(kind, name, known[kind])


def _in_numbers(plan: Plan, module: ModuleType, topology: Topology) -> Iterator[_Problem]:
    """Brokers and partitions that a story names and the cluster does not have.

    Only where the file has one test, whose plan this is.
    """
    tree = _tree_of(module)
    if sum(isinstance(node, ast.FunctionDef) and _is_test(node) for node in ast.walk(tree)) != 1:
        return
    sizes = {topic.topic: topic.partitions for topic in plan.topics}
    there = f"the brokers are 1 to {topology.brokers}"
    for node in ast.walk(tree):
        called = _callable_of(node, vars(module)) if isinstance(node, ast.Call) else None
        if called is None or not isinstance(node, ast.Call):
            continue
        given = {
            kind: literal
            for kind in ("topic", "partition", "assignment", "id")
            if (literal := _literal(node, called, kind)) is not None
        }
        size, partition = sizes.get(given.get("topic", "")), given.get("partition")
        if size is not None and isinstance(partition, int) and not 0 <= partition < size:
            last = f"the last one is {size - 1}"
            yield "", node.lineno, f"topic {given['topic']} has no partition {partition}: {last}"
        if called is Broker and given.get("id", 1) not in topology.broker_ids:
            yield "", node.lineno, f"there is no broker {given['id']}: {there}"
        if called is Run.create and isinstance(assigned := given.get("assignment"), list):
            if unknown := [broker for broker in assigned if broker not in topology.broker_ids]:
                yield "", node.lineno, f"assignment: there is no broker {unknown[0]}: {there}"
            for topic in plan.topics:
                if len(assigned) != topic.replication:
                    planned = f"topic {topic.topic} is planned with {topic.replication} replicas"
                    yield "", node.lineno, f"assignment={assigned}: {planned}, name that many"


def _is_test(node: ast.FunctionDef) -> bool:
    return node.name.startswith("test_")


def _literal(node: ast.Call, called: Callable[..., Any], parameter: str) -> Any:
    """The literal that a call has for a parameter; None if there is none."""
    place = _place(called, parameter)
    given = [keyword.value for keyword in node.keywords if keyword.arg == parameter]
    given += node.args[place : place + 1] if place is not None else []
    try:
        return ast.literal_eval(given[0]) if given else None
    except ValueError:
        return None


def _callable_of(node: ast.Call, named: dict[str, Any]) -> Callable[..., Any] | None:
    """The target, fault or verb of `run` that a call calls; None if it calls anything else."""
    function = node.func
    if isinstance(function, ast.Name):
        found = named.get(function.id)
        return found if getattr(found, "__module__", "").startswith(_OF_FAULTS) else None
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "run":
        return getattr(Run, function.attr, None)
    return None


def _literals_of(node: ast.Call, called: Callable[..., Any], kind: str) -> Iterator[ast.Constant]:
    """The literals that a call has for a parameter."""
    given = [keyword.value for keyword in node.keywords if keyword.arg == kind]
    place = _place(called, kind)
    if place is not None and place < len(node.args):
        given.append(node.args[place])
    for literal in given:
        if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
            yield literal


def _place(called: Callable[..., Any], parameter: str) -> int | None:
    """Where a parameter stands among those of a call; None if it has none of that name."""
    try:
        names = [name for name in inspect.signature(called).parameters if name != "self"]
    except (TypeError, ValueError):
        return None
    return names.index(parameter) if parameter in names else None


def _line_of(tree: ast.Module, name: str) -> int:
    """The last line that has a name as a literal; the first line if none has it."""
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value == name
    ]
    return max(lines, default=1)

"""Mistakes of a scenario that are found before its cluster starts, with the line of its file."""

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from contract.answers import COUNTING, DURING, RESUMPTION, Figure, parts
from contract.checks import Check
from contract.clients import Client
from contract.errors import UsageError
from contract.findings import FINDINGS
from contract.outcomes import CommitEpoch, Isolation, Manner, ResetPolicy
from contract.run_folder import GroupPlan, Plan
from contract.tables import TABLES
from contract.verdicts import FindingVerdict, Resumption
from harness.clients.commit_styles import OF_THE_CLIENTS_STATE
from harness.story.run import Run

_JAVA = (Client.JAVA, Client.JAVA_CONSUMER)
_OF_ANY_CLIENT = (Manner.SYNC, Manner.AUTO)
_OF_FAULTS = "harness.faults"
_OF_GROUPS = ("client", "reset", "commit_epoch")
"""The properties of a row's group that a condition may name, besides its labels."""
_INTERNAL = "__"


def require_sound(plan: Plan, module: ModuleType) -> None:
    """Refuse a plan, or a scenario's file, that names what there is not.

    Raises:
        UsageError: the first mistake, with its file and line.
    """
    file = Path(inspect.getfile(module))
    tree = ast.parse(file.read_text())
    for name, number, problem in (*_in_plan(plan), *_in_story(plan, module, tree)):
        line = number or _line_of(tree, name)
        raise UsageError(f"{file.name}:{line}: {problem}")


def require_answer(answer: str, *, labels: Collection[str] | None = None) -> None:
    """Refuse an answer (`contract.answers`) that counts what there is not.

    Args:
        answer: the text.
        labels: of the groups; None where they are not known yet, so that no condition is checked.

    Raises:
        UsageError: the first mistake.
    """
    figures = [one for one in parts(answer) if isinstance(one, Figure)]
    for count in (count for figure in figures for count in (*figure.counts, *figure.of)):
        columns = _columns_of(count.source)
        if count.measure not in {*COUNTING, *columns}:
            raise UsageError(
                f"{count.source}: {_lacking('measure', count.measure, (*COUNTING, *columns))}"
            )
        if labels is None or count.source in set(Check):
            continue
        of_groups = {*_OF_GROUPS, *labels} if "group" in columns else ()
        known = (DURING, *columns, *sorted(of_groups))
        for condition in count.conditions:
            if condition.column not in known:
                raise UsageError(f"{count.source}: {_lacking('column', condition.column, known)}")


def _columns_of(source: str) -> Sequence[str]:
    if source == RESUMPTION:
        return Resumption.__struct_fields__
    names: Sequence[str] = TABLES.get(source, FINDINGS).names
    return names


_Problem = tuple[str, int, str]
"""The wrong name, its line (0: where the file has it last), and what is wrong."""


def _in_plan(plan: Plan) -> Iterator[_Problem]:
    topics, groups = [one.topic for one in plan.topics], [one.group for one in plan.groups]
    for kind, names in (("topics", topics), ("groups", groups)):
        for name, count in Counter(names).items():
            if count > 1:
                yield name, 0, f"{count} {kind} are named {name}"
    for group in plan.groups:
        if group.topic not in topics:
            yield group.topic, 0, f"group {group.group}: {_lacking('topic', group.topic, topics)}"
        yield from _in_group(group)
    try:
        require_answer(plan.answer, labels={name for one in plan.groups for name in one.labels})
    except UsageError as mistake:
        yield plan.answer, 0, f"answer: {mistake}"
    expected = [(one.check, one.verdict, one.groups) for one in plan.expects]
    violated = str(FindingVerdict.VIOLATION)
    for check, verdict, of in (*expected, *((check, violated, []) for check in plan.must_judge)):
        wanted: list[tuple[str, str, Iterable[str]]] = [
            ("check", check, Check),
            ("verdict", verdict, FindingVerdict),
            *(("group", name, groups) for name in of),
        ]
        for kind, name, known in wanted:
            if name not in set(known):
                yield name, 0, _lacking(kind, name, known)


def _in_group(group: GroupPlan) -> Iterator[_Problem]:
    known: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("commit style", group.commit_epoch, CommitEpoch),
        ("reset policy", group.reset, ResetPolicy),
        ("isolation level", group.isolation, Isolation),
        ("manner", group.manner, Manner),
    )
    for kind, name, all_of_them in known:
        if name not in set(all_of_them):
            yield name, 0, f"group {group.group}: {_lacking(kind, name, all_of_them)}"
    if group.client not in _JAVA:
        if group.manner not in _OF_ANY_CLIENT:
            yield group.manner, 0, f"group {group.group}: manner {group.manner} needs a Java client"
        if group.commit_epoch in OF_THE_CLIENTS_STATE:
            problem = f"style {group.commit_epoch} needs a Java client"
            yield group.commit_epoch, 0, f"group {group.group}: {problem}"


def _in_story(plan: Plan, module: ModuleType, tree: ast.Module) -> Iterator[_Problem]:
    """Topics and groups that targets, faults and verbs of `run` are given as literals.

    Another test of the file may have another plan: a name that stands anywhere else in it is known.
    """
    used = [
        (kind, one)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (called := _called(node, vars(module))) is not None
        for kind in ("topic", "group")
        for one in _given(node, called, kind)
    ]
    places = {id(one) for _, one in used}
    elsewhere = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in places
    }
    known = {
        "topic": [one.topic for one in plan.topics],
        "group": [one.group for one in plan.groups],
    }
    for kind, one in used:
        name = str(one.value)
        if name not in elsewhere.union(known[kind]) and not name.startswith(_INTERNAL):
            yield name, one.lineno, _lacking(kind, name, known[kind])


def _called(node: ast.Call, named: dict[str, Any]) -> Callable[..., Any] | None:
    """The target, fault or verb of `run` that a call calls; None if it calls anything else."""
    function = node.func
    if isinstance(function, ast.Name):
        found = named.get(function.id)
        return found if getattr(found, "__module__", "").startswith(_OF_FAULTS) else None
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "run":
        return getattr(Run, function.attr, None)
    return None


def _given(node: ast.Call, called: Callable[..., Any], kind: str) -> Iterator[ast.Constant]:
    """The literals that a call has for a parameter."""
    given = [one.value for one in node.keywords if one.arg == kind]
    place = _place(called, kind)
    if place is not None and place < len(node.args):
        given.append(node.args[place])
    for one in given:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one


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


def _lacking(kind: str, name: str, known: Iterable[str]) -> str:
    return f"there is no {kind} {name}; there are: {', '.join(map(str, known)) or 'none'}"

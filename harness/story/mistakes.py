"""Mistakes of a story that its file shows: unknown verbs, names and arguments, and lost faults.

Python would find them while the cluster runs. What is not known without a run is not judged: the
type of a value is known if it is a literal, a value of the module or of the scenario's class, or
what a verb returns by its annotation.
"""

import ast
import builtins
import enum
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Union

from contract.errors import UsageError
from contract.nearest import lacking
from harness.faults.fault import Fault
from harness.faults.targets import Target
from harness.story.calls import Calls
from harness.story.consumers import Groups, Sources
from harness.story.features import Features
from harness.story.phases import Phases
from harness.story.quorum import Quorum
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.transactions import Transactions
from harness.story.wire import Wire
from harness.story.workload import Workload

_BELOW = __name__.rpartition("harness.")[0]
"""Of an installation: `fencepost.`."""
_OURS = tuple(f"{_BELOW}{package}." for package in ("cluster", "contract", "harness"))
_HOLD_FOR_A_BLOCK = {Run.fault: "run.inject(...)", Wire.asking: "run.wire.call(...)"}
"""Verbs that do nothing outside of `with`, and what there is without it."""
_SPEAKERS = (
    Run,
    Workload,
    Calls,
    Groups,
    Sources,
    Transactions,
    Wire,
    Quorum,
    Features,
    Phases,
)
"""The classes whose public attributes are verbs, or declared."""
_USUAL_PRODUCER = "writer"
"""The one of `start_load`, unless it is given others."""
_OF_PRODUCERS = ("acknowledged", "await_acknowledged", "await_refused", "stop_producer")
"""Verbs whose first parameter names producers."""
_OF_DUCKTAPE = ("test_context",)
"""What ducktape gives each test, besides what its class has."""
_UNKNOWN = object()
_Mistake = tuple[int, str]
"""The line, and what is wrong."""


def require_no_mistake(module: ModuleType) -> None:
    """Refuse a scenario whose story has a mistake, before any of its nodes is started.

    Raises:
        UsageError: the first mistake, with its file and line.
    """
    file = Path(inspect.getfile(module))
    for line, problem in Story(ast.parse(file.read_bytes()), vars(module)).mistakes():
        raise UsageError(f"{file.name}:{line}: {problem}")


class Story:
    """The file of a scenario, with the types that are known in it."""

    def __init__(self, tree: ast.Module, named: Mapping[str, Any]) -> None:
        """Learn which classes its variables have.

        Args:
            tree: of the file.
            named: what its module has, by name.
        """
        self._tree = tree
        self._named = named
        self._scenarios = {
            name: one
            for name, one in named.items()
            if isinstance(one, type) and issubclass(one, Scenario) and one is not Scenario
        }
        of_classes = {
            id(node)
            for one in ast.walk(tree)
            if isinstance(one, ast.ClassDef)
            for statement in one.body
            if isinstance(statement, ast.Assign | ast.AnnAssign)
            for node in ast.walk(statement)
        }
        stored = [node for node in ast.walk(tree) if _is_bound(node)]
        self._bound = {
            *(node.id for node in stored if id(node) not in of_classes),
            *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)),
            *(node.name or "" for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)),
            *(node.name or "" for node in ast.walk(tree) if isinstance(node, ast.MatchAs)),
            *(node.name for node in ast.walk(tree) if isinstance(node, _DEFINED)),
        }
        self._imported = {
            (node.asname or node.name).partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.alias)
        }
        self._in_classes = {node.id for node in stored if id(node) in of_classes}
        self._of_methods = {
            id(node)
            for one in ast.walk(tree)
            if isinstance(one, ast.FunctionDef)
            for statement in one.body
            for node in ast.walk(statement)
        }
        self._types: dict[str, type] = {}
        for _ in range(2):  # What is bound to what `run` returns is known once `run` is.
            self._types = self._bound_types()

    def mistakes(self) -> Iterator[_Mistake]:
        """Yield what is wrong, by line."""
        found = {one for node in ast.walk(self._tree) for one in self._in(node)}
        yield from sorted(found or {*self._without_topics(), *self._unknown_producers()})

    def _without_topics(self) -> Iterator[_Mistake]:
        """The story of a test has topics, and nothing in the file creates them."""
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call)]
        names = {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}
        is_handed_on = any(self._type(one) is Run for node in calls for one in node.args)
        if Run.create.__name__ in names or is_handed_on:
            return
        for node in calls:
            topics = [one.value for one in node.keywords if one.arg == "topics"]
            if self._callable(node.func) is Scenario.running and not _is_empty(topics):
                begin = "begin it with run.create(assignment=[1, 2, 3])"
                yield node.lineno, f"the story creates none of its topics: {begin}"

    def _unknown_producers(self) -> Iterator[_Mistake]:
        """Producers whose name stands nowhere else in the file, and is not the usual one."""
        asked = [
            one
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if self._type(node.func.value) is Workload and node.func.attr in _OF_PRODUCERS
            for argument in (*node.args[:1], *(one.value for one in node.keywords))
            for one in (argument, *getattr(argument, "elts", []))
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        places = {id(one) for one in asked}
        known = {_USUAL_PRODUCER} | {
            str(node.value)
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Constant) and id(node) not in places
        }
        names = [plan.producer for one in self._scenarios.values() for plan in one.producers]
        for one in asked:
            if (name := str(one.value)) not in known:
                yield one.lineno, lacking("producer", name, names or [_USUAL_PRODUCER])

    def _in(self, node: ast.AST) -> Iterator[_Mistake]:
        match node:
            case ast.Name(ctx=ast.Load()):
                yield from self._in_name(node)
            case ast.Attribute(ctx=ast.Load()):
                yield from self._in_attribute(node)
            case ast.Call():
                yield from self._in_call(node)
            case ast.ClassDef(name=name) if name in self._scenarios:
                yield from self._in_class(node, self._scenarios[name])
            case ast.Expr():
                yield from self._in_statement(node)

    def _in_name(self, node: ast.Name) -> Iterator[_Mistake]:
        name, known = node.id, {*self._bound, *self._named, *self._imported}
        if name in known or hasattr(builtins, name):
            return
        if name not in self._in_classes:
            yield node.lineno, lacking("name", name, sorted(known - {""}))
        elif id(node) in self._of_methods:
            yield node.lineno, f"{name} is an attribute of the class: write self.{name}"

    def _in_statement(self, node: ast.Expr) -> Iterator[_Mistake]:
        """A verb of which nothing is done: it is not called, or holds for no block."""
        match node.value:
            case ast.Attribute() as named if callable(self._callable(named)):
                verb = ast.unparse(named)
                yield node.lineno, f"{verb} is not called: write {verb}()"
            case ast.Call(func=func) if self._callable(func) in _HOLD_FOR_A_BLOCK:
                verb, instead = ast.unparse(func), _HOLD_FOR_A_BLOCK[self._callable(func)]
                way = f"write `with {verb}(...):`, or {instead}"
                yield node.lineno, f"{verb}(...) does nothing outside of `with`: {way}"

    def _in_attribute(self, node: ast.Attribute) -> Iterator[_Mistake]:
        owner = self._value(node.value)
        if isinstance(owner, enum.EnumType):
            if not hasattr(owner, node.attr):
                members = list(owner.__members__)
                yield node.lineno, lacking(f"{owner.__name__}", node.attr, members)
            return
        of = self._type(node.value)
        if of not in _SPEAKERS or node.attr in {*dir(of), *inspect.get_annotations(of)}:
            return
        verbs = [
            name for name in {*dir(of), *inspect.get_annotations(of)} if not name.startswith("_")
        ]
        of_whom = "" if of is Run else f" of {of.__name__}"
        yield node.lineno, f"{lacking('verb', node.attr, sorted(verbs))}{of_whom} (docs/verbs.md)"

    def _in_class(self, node: ast.ClassDef, scenario: type) -> Iterator[_Mistake]:
        """What a scenario asks itself for."""
        of_self = [
            one
            for one in ast.walk(node)
            if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self"
        ]
        known = {*dir(scenario), *_hints(scenario), *_OF_DUCKTAPE}
        known |= {one.attr for one in of_self if not isinstance(one.ctx, ast.Load)}
        for one in of_self:
            if one.attr not in known:
                there = [name for name in known if not name.startswith("_")]
                yield one.lineno, f"{node.name}: {lacking('attribute', one.attr, sorted(there))}"

    def _in_call(self, node: ast.Call) -> Iterator[_Mistake]:
        called = self._callable(node.func)
        if not _is_ours(called):
            return
        name = ast.unparse(node.func)
        try:
            parameters = list(inspect.signature(called).parameters.values())
        except (TypeError, ValueError):
            return
        if parameters and parameters[0].name == "self":
            parameters = parameters[1:]
        given, problems = _given(node, parameters)
        for problem in problems:
            yield node.lineno, f"{name}: {problem}"
        hints = _hints(called)
        for parameter, value in given.items():
            wanted = hints.get(parameter, Any)
            known = self._value(value)
            if known is not _UNKNOWN and not _fits(known, wanted):
                yield (
                    value.lineno,
                    f"{name}: {parameter}={ast.unparse(value)} has to be {_in_words(wanted)}",
                )

    def _bound_types(self) -> dict[str, type]:
        """The class of each variable, if all that is bound to it has the same."""
        found: dict[str, set[type | None]] = {}
        for node in ast.walk(self._tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found.setdefault(name, set()).add(self._type(value))
                case ast.withitem(
                    context_expr=ast.Call(func=func), optional_vars=ast.Name(id=name)
                ):
                    is_run = self._callable(func) is Scenario.running
                    found.setdefault(name, set()).add(Run if is_run else None)
                case ast.arg(arg=name, annotation=ast.Name(id=of)):
                    one = self._named.get(of)
                    found.setdefault(name, set()).add(one if isinstance(one, type) else None)
                case ast.arg(arg=name):
                    found.setdefault(name, set()).add(None)
                case ast.Name(id=name, ctx=ast.Store()) if name not in found:
                    found[name] = set()
        return {
            name: one
            for name, classes in found.items()
            if len(classes) == 1 and (one := next(iter(classes))) is not None
        }

    def _type(self, node: ast.expr) -> type | None:
        """The class of an expression's value; None if it is not known."""
        match node:
            case ast.Name(id=name):
                return self._types.get(name)
            case ast.Attribute(value=value, attr=attr):
                owner = self._type(value)
                found = None if owner is None else _hints(owner).get(attr)
                return found if isinstance(found, type) else None
            case ast.Call(func=func):
                called = self._callable(func)
                if isinstance(called, type):
                    return called
                returned = _hints(called).get("return") if _is_ours(called) else None
                return returned if isinstance(returned, type) else None
        return None

    def _callable(self, node: ast.expr) -> Any:
        """What a call calls; None if it is not known."""
        match node:
            case ast.Name(id=name) if name not in self._bound or name in self._scenarios:
                return self._named.get(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                return next(
                    (getattr(one, attr) for one in self._scenarios.values() if hasattr(one, attr)),
                    None,
                )
            case ast.Attribute(value=value, attr=attr):
                owner = self._type(value)
                return None if owner is None else getattr(owner, attr, None)
        return None

    def _value(self, node: ast.expr) -> Any:
        """The value of an expression, as far as it is known."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name not in self._types and name in self._named:
                return self._named[name]
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                values = [getattr(one, attr, _UNKNOWN) for one in self._scenarios.values()]
                is_known = len(values) == 1 and not isinstance(values[0], property)
                return values[0] if is_known else _UNKNOWN
        return _UNKNOWN


_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _is_empty(given: list[ast.expr]) -> bool:
    return all(isinstance(one, ast.List | ast.Tuple) and not one.elts for one in given)


def _is_bound(node: ast.AST) -> typing.TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


def _is_ours(called: Any) -> bool:
    return callable(called) and str(getattr(called, "__module__", "")).startswith(_OURS)


@cache
def _hints(of: Any) -> Mapping[str, Any]:
    """The annotations of a function, of a class's attributes and of its parameters."""
    found: dict[str, Any] = {}
    for one in (of, inspect.getattr_static(of, "__init__")) if isinstance(of, type) else (of,):
        try:
            found |= typing.get_type_hints(one)
        except (NameError, TypeError, AttributeError):
            continue
    return found


def _given(
    node: ast.Call, parameters: list[inspect.Parameter]
) -> tuple[dict[str, ast.expr], list[str]]:
    """The arguments of a call by parameter, and what is wrong with their names and number."""
    kinds = inspect.Parameter
    if any(one.kind is kinds.VAR_POSITIONAL for one in parameters) or any(
        isinstance(one, ast.Starred) for one in node.args
    ):
        places: list[str] = []
        is_open = True
    else:
        places = [one.name for one in parameters if one.kind is not kinds.KEYWORD_ONLY]
        is_open = False
    given = dict(zip(places, node.args, strict=False))
    problems = []
    if not is_open and len(node.args) > len(places):
        by_name = [one.name for one in parameters if one.kind is kinds.KEYWORD_ONLY]
        hint = f"; name the others: {', '.join(f'{one}=' for one in by_name)}" if by_name else ""
        problems.append(f"it takes {len(places)} arguments by their places{hint}")
    names = [one.name for one in parameters]
    takes_all = any(one.kind is kinds.VAR_KEYWORD for one in parameters)
    for keyword in node.keywords:
        if keyword.arg is None:
            is_open = True
        elif keyword.arg in names:
            given[keyword.arg] = keyword.value
        elif not takes_all:
            problems.append(lacking("argument", keyword.arg, names))
    if not is_open and not problems:
        required = [
            one.name
            for one in parameters
            if one.default is kinds.empty and one.kind is not kinds.VAR_KEYWORD
        ]
        if missing := [name for name in required if name not in given]:
            problems.append(f"it lacks {', '.join(f'{name}=' for name in missing)}")
    return given, problems


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value may be one of an annotation; what is not known of it may be."""
    origin = typing.get_origin(wanted)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in typing.get_args(wanted))
    of = origin if isinstance(origin, type) else wanted
    if not isinstance(of, type) or of in (object, Any) or getattr(of, "_is_protocol", False):
        return True
    if isinstance(value, str):  # A text is a sequence, but not of names.
        return of is str or (issubclass(of, enum.StrEnum) and value in set(of))
    if isinstance(value, bool):
        return of is bool
    return isinstance(value, of) or (of is float and isinstance(value, int))


def _in_words(wanted: Any) -> str:
    """Return an annotation as a newcomer would say it."""
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return f"one of {', '.join(f'{wanted.__name__}.{one}' for one in wanted.__members__)}"
    if wanted is Target:
        return 'a target, as LeaderOf("orders", 0) or Broker(1)'
    if wanted is Fault:
        return 'a fault, as Kill(LeaderOf("orders", 0))'
    if isinstance(wanted, type) and not typing.get_args(wanted):
        return f"of type {wanted.__name__}"
    return f"of type {re.sub(r'[a-z_.]+[.](?=[A-Z])', '', str(wanted))}"

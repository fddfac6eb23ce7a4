"""Mistakes of a story that its file shows: unknown verbs, names and arguments, and lost faults.

Python would find them while the cluster runs. A type checker, pyrefly, reads the file and what it
imports, and runs none of it. Its errors about this project's classes and functions, and about names
that are nowhere bound, are mistakes; what it reports of other code is the user's own business.
"""

import ast
import builtins
import enum
import inspect
import pkgutil
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from contract.errors import PrerequisiteError, UsageError, lacking
from contract.packages import PACKAGES, environment, python
from harness.faults import Fault, Target
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.wire import Wire
from harness.story.workload import Workload

_BELOW = __name__.rpartition("harness.")[0]
"""Of an installation: `fencepost.`."""
_OURS = tuple(f"{_BELOW}{package}." for package in ("cluster", "contract", "harness"))
_STORY = f"{__package__}."
_HOLD_FOR_A_BLOCK = {
    Run.fault.__name__: "run.inject(...)",
    Wire.asking.__name__: "run.wire.call(...)",
}
"""Verbs that do nothing outside of `with`, and what there is without it."""
_IN_WORDS = {
    Target.__name__: 'a target, as LeaderOf("orders", 0) or Broker(1)',
    Fault.__name__: 'a fault, as Kill(LeaderOf("orders", 0))',
}
_USUAL_PRODUCER = "writer"
"""The one of `start_load`, unless it is given others."""
_OF_PRODUCERS = tuple(
    verb.__name__
    for verb in (
        Workload.acknowledged,
        Workload.await_acknowledged,
        Workload.await_refused,
        Workload.stop_producer,
    )
)
"""Verbs whose first parameter names producers."""
_OF_DUCKTAPE = "test_context"
"""What ducktape gives each test, besides what its class has."""
_FUNCTION = r" in function `(?P<function>[\w.]+)`"
_Mistake = tuple[int, str]
"""The line, and what is wrong."""


class Error(msgspec.Struct, frozen=True):
    """An error of the type checker; lines and columns begin with 1, and `stop_column` is behind it.

    Attributes:
        name: its kind.
    """

    path: str
    line: int
    column: int
    stop_line: int
    stop_column: int
    name: str
    concise_description: str


class _Errors(msgspec.Struct, frozen=True):
    errors: list[Error]


def require_no_mistake(module: ModuleType) -> None:
    """Refuse a scenario whose story has a mistake, before any of its nodes is started.

    Raises:
        UsageError: the first mistake, with its file and line.
        PrerequisiteError: the type checker does not run.
    """
    file = Path(inspect.getfile(module))
    for line, problem in mistakes(file, vars(module)):
        raise UsageError(f"{file.name}:{line}: {problem}")


def mistakes(file: Path, named: Mapping[str, Any]) -> list[_Mistake]:
    """Return what is wrong in a scenario's file, by line.

    Raises:
        PrerequisiteError: the type checker does not run.
    """
    story = _Story(file.read_text(), named)
    wrong = {*story.wrong(errors_of([file])), *story.without_effect(), *story.single_names()}
    return sorted(wrong or {*story.without_topics(), *story.unknown_producers()})


def errors_of(files: Iterable[Path]) -> list[Error]:
    """Return what the type checker finds in files; it reads no configuration of the user's.

    Raises:
        PrerequisiteError: it does not run.
    """
    paths = list(files)
    command = python("pyrefly", "check", "--config=/dev/null", "--output-format=json")
    command += ["--summary=none", "--check-unannotated-defs=true", "--skip-interpreter-query"]
    # By default pyrefly leaves out what lies in a folder `venv`, as an installation may.
    command += ["--disable-project-excludes-heuristics=true"]
    command += [f"--python-version={sys.version_info.major}.{sys.version_info.minor}"]
    command += [f"--site-package-path={sysconfig.get_path('purelib')}"]
    folders = dict.fromkeys([PACKAGES, *(file.parent for file in paths)])
    command += [f"--search-path={folder}" for folder in folders]
    command += map(str, paths)
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    try:
        return msgspec.json.decode(ended.stdout, type=_Errors).errors
    except msgspec.DecodeError as error:
        why = ended.stderr.strip() or ended.stdout.strip()
        raise PrerequisiteError(f"scenarios can't be checked, pyrefly failed: {why}") from error


class _Story:
    """A scenario's file and its module's names, to say what an error of the type checker means."""

    def __init__(self, text: str, named: Mapping[str, Any]) -> None:
        self._lines = text.splitlines()
        self._tree = ast.parse(text)
        self._nodes = list(ast.walk(self._tree))
        self._calls = [node for node in self._nodes if isinstance(node, ast.Call)]
        self._named = named
        self._scenarios = [
            cls
            for cls in named.values()
            if isinstance(cls, type) and issubclass(cls, Scenario) and cls is not Scenario
        ]

    def wrong(self, errors: Iterable[Error]) -> Iterator[_Mistake]:
        """Yield the errors that are mistakes, in words."""
        for error in errors:
            in_words = _KINDS.get(error.name)
            if in_words is not None:
                pattern, method = in_words
                match = re.match(pattern, error.concise_description)
                problem = match and getattr(self, method)(error, **match.groupdict())
                if problem:
                    yield error.line, problem

    def _name(self, _error: Error, name: str) -> str:
        bound = {
            word
            for node in self._nodes
            for word in (getattr(node, "id", None), getattr(node, "arg", None))
            if isinstance(word, str) and word != name
        }
        for node in self._nodes:
            in_class = isinstance(node, ast.ClassDef) and {
                target.id
                for statement in node.body
                for target in ast.walk(statement)
                if isinstance(statement, ast.Assign | ast.AnnAssign)
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
            }
            if in_class and name in in_class:
                return f"{name} is an attribute of the class: write self.{name}"
        known = {other for other in {*bound, *self._named} if not hasattr(builtins, other)}
        return lacking("name", name, sorted(known))

    def _attribute(self, _error: Error, owner: str, name: str) -> str | None:
        of = next((cls for cls in self._classes(owner)), None)
        if of is None:
            return None
        if isinstance(of, enum.EnumType):
            return lacking(owner, name, list(of.__members__))
        there = {*dir(of), *inspect.get_annotations(of)}
        known = sorted(attribute for attribute in there if not attribute.startswith("_"))
        if of in self._scenarios:
            given = {
                node.attr
                for node in self._nodes
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            }
            if name in {*given, _OF_DUCKTAPE}:
                return None
            return f"{owner}: {lacking('attribute', name, known)}"
        if not of.__module__.startswith(_STORY):
            return f"{owner}: {lacking('attribute', name, known)}"
        of_whom = "" if of is Run else f" of {owner}"
        return f"{lacking('verb', name, known)}{of_whom} (fencepost docs verbs)"

    def _classes(self, name: str) -> Iterator[type]:
        """The file's own class of a name, and those of this project."""
        ours = [module for key, module in sorted(sys.modules.items()) if key.startswith(_OURS)]
        for cls in (self._named.get(name), *(vars(module).get(name) for module in ours)):
            if isinstance(cls, type) and (cls in self._scenarios or _is_ours(cls.__module__)):
                yield cls

    def _keyword(self, error: Error, name: str, function: str) -> str | None:
        parameters = _parameters(function)
        if parameters is None:
            return None
        return f"{self._called_name(error)}: {lacking('argument', name, parameters)}"

    def _missing(self, error: Error, name: str, function: str) -> str | None:
        """An argument that is there under a wrong name is that mistake."""
        call, parameters = self._call(error), _parameters(function)
        if parameters is None or call is None:
            return None
        if any(
            keyword.arg is not None and keyword.arg not in parameters for keyword in call.keywords
        ):
            return None
        return f"{self._called_name(error)}: it lacks {name}="

    def _count(self, error: Error, count: str, function: str) -> str | None:
        parameters = _parameters(function)
        if parameters is None:
            return None
        kind = inspect.Parameter.KEYWORD_ONLY
        by_name = [f"{name}=" for name, parameter in parameters.items() if parameter.kind is kind]
        hint = f"; name the others: {', '.join(by_name)}" if by_name else ""
        return f"{self._called_name(error)}: it takes {count} arguments by their places{hint}"

    def _type(self, error: Error, name: str, wanted: str, function: str) -> str | None:
        if not _is_ours(function):
            return None
        enums = [
            cls
            for word in re.findall(r"\w+", wanted)
            for cls in self._classes(word)
            if issubclass(cls, enum.Enum)
        ]
        written = ast.parse(self._text(error), mode="eval").body
        values: set[Any] = {value for cls in enums for value in cls}
        if isinstance(written, ast.Constant) and written.value in values:
            return None
        in_words = _IN_WORDS.get(wanted, f"of type {wanted}")
        if enums and enums[0].__name__ == wanted:
            members = (f"{wanted}.{member}" for member in enums[0].__members__)
            in_words = f"one of {', '.join(members)}"
        return f"{self._called_name(error)}: {name}={ast.unparse(written)} has to be {in_words}"

    def _text(self, error: Error) -> str:
        """What an error is about; in brackets, since it may be of several lines."""
        lines = self._lines[error.line - 1 : error.stop_line]
        lines[-1] = lines[-1][: error.stop_column - 1]
        lines[0] = lines[0][error.column - 1 :]
        return f"({chr(10).join(lines)})"

    def _call(self, error: Error) -> ast.Call | None:
        """The innermost call at an error's place, unless it is an argument of its own."""
        begin, end = (error.line, error.column - 1), (error.stop_line, error.stop_column - 1)
        around = [
            node
            for node in self._calls
            if (node.lineno, node.col_offset) <= begin
            and end <= (node.end_lineno or 0, node.end_col_offset or 0)
            and (error.name != "bad-argument-type" or begin > (node.lineno, node.col_offset))
        ]
        return max(around, key=lambda node: (node.lineno, node.col_offset), default=None)

    def _called_name(self, error: Error) -> str:
        call = self._call(error)
        return "" if call is None else ast.unparse(call.func)

    def without_effect(self) -> Iterator[_Mistake]:
        """Yield verbs of which nothing is done: one is not called, or holds for no block."""
        for node in (
            expression.value for expression in self._nodes if isinstance(expression, ast.Expr)
        ):
            match node:
                case ast.Attribute():
                    verb = ast.unparse(node)
                    yield node.lineno, f"{verb} is not called: write {verb}()"
                case ast.Call(func=ast.Attribute(attr=attr)) if attr in _HOLD_FOR_A_BLOCK:
                    verb, instead = ast.unparse(node.func), _HOLD_FOR_A_BLOCK[attr]
                    way = f"write `with {verb}(...):`, or {instead}"
                    yield node.lineno, f"{verb}(...) does nothing outside of `with`: {way}"

    def single_names(self) -> Iterator[_Mistake]:
        """Yield a name of one producer where a sequence of names is asked for; a text is one."""
        for node in self._calls:
            match node:
                case ast.Call(
                    func=ast.Attribute(attr=attr), args=[ast.Constant(value=str()) as given, *_]
                ) if attr in _OF_PRODUCERS:
                    asked = list(inspect.signature(getattr(Workload, attr)).parameters.values())[1]
                    if asked.annotation is not str:
                        wanted = (
                            f"{asked.name}={ast.unparse(given)} has to be of type Sequence[str]"
                        )
                        yield given.lineno, f"{ast.unparse(node.func)}: {wanted}"

    def without_topics(self) -> Iterator[_Mistake]:
        """Yield the stories that have topics, which nothing in the file creates."""
        verbs = {node.func.attr for node in self._calls if isinstance(node.func, ast.Attribute)}
        for item in (item for item in self._nodes if isinstance(item, ast.withitem)):
            match item:
                case ast.withitem(
                    context_expr=ast.Call(func=ast.Attribute(attr="running")) as begun,
                    optional_vars=ast.Name(id=run),
                ):
                    topics = [
                        keyword.value for keyword in begun.keywords if keyword.arg == "topics"
                    ]
                    is_empty = all(
                        isinstance(topic, ast.List | ast.Tuple) and not topic.elts
                        for topic in topics
                    )
                    is_handed_on = any(
                        isinstance(argument, ast.Name) and argument.id == run
                        for node in self._calls
                        for argument in node.args
                    )
                    if not is_empty and not is_handed_on and Run.create.__name__ not in verbs:
                        begin = "begin it with run.create(assignment=[1, 2, 3])"
                        yield begun.lineno, f"the story creates none of its topics: {begin}"

    def unknown_producers(self) -> Iterator[_Mistake]:
        """Yield producers whose name stands nowhere else in the file, and is not the usual one."""
        asked = [
            literal
            for node in self._calls
            if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_PRODUCERS
            for argument in (*node.args[:1], *(keyword.value for keyword in node.keywords))
            for literal in (argument, *getattr(argument, "elts", []))
            if isinstance(literal, ast.Constant) and isinstance(literal.value, str)
        ]
        places = {id(literal) for literal in asked}
        known = {_USUAL_PRODUCER} | {
            str(node.value)
            for node in self._nodes
            if isinstance(node, ast.Constant) and id(node) not in places
        }
        names = [plan.producer for scenario in self._scenarios for plan in scenario.producers]
        for literal in asked:
            if (name := str(literal.value)) not in known:
                yield literal.lineno, lacking("producer", name, names or [_USUAL_PRODUCER])


_KINDS = {
    "unknown-name": (r"Could not find name `(?P<name>\w+)`", "_name"),
    "missing-attribute": (
        r"(?:Object of class|Class) `(?P<owner>\w+)` has no (?:class )?attribute `(?P<name>\w+)`",
        "_attribute",
    ),
    "unexpected-keyword": (
        rf"Unexpected keyword argument `(?P<name>\w+)`{_FUNCTION}",
        "_keyword",
    ),
    "missing-argument": (rf"Missing argument `(?P<name>\w+)`{_FUNCTION}", "_missing"),
    "bad-argument-count": (
        rf"Expected (?P<count>\d+) positional arguments?, got \d+{_FUNCTION}",
        "_count",
    ),
    "bad-argument-type": (
        r"Argument `.*` is not assignable to parameter `(?P<name>\w+)` with type `(?P<wanted>.*)`"
        + _FUNCTION,
        "_type",
    ),
}
"""By the kind of an error: its text, and the method of `_Story` that says it in our words."""


def _is_ours(name: str) -> bool:
    return name.startswith(_OURS)


def _parameters(function: str) -> dict[str, inspect.Parameter] | None:
    """The parameters of a function of this project by name; None of another one."""
    if not _is_ours(function):
        return None
    called = pkgutil.resolve_name(function.removesuffix(".__init__"))
    parameters = dict(inspect.signature(called).parameters)
    parameters.pop("self", None)
    return parameters

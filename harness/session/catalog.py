"""The scenarios, read from their files without importing them."""

import ast
import json
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from cluster.clients.versions import is_version
from contract.errors import UsageError, lacking
from contract.files import read_file
from contract.packages import folders

_FOLDER = Path(__file__).resolve().parents[2] / "scenarios"
_SUFFIX = "_test"
_FILES = f"*{_SUFFIX}.py"
_OF_A_TEST = "::"
_STARTS_ON = "STARTS_ON"
_FAULTS = Path(__file__).resolve().parents[1] / "faults"
_OF_FAULTS = ("harness.faults", "fencepost.scenario")
"""From which a scenario, and a user's, imports faults, or from a module of the first one."""


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario on disk: its name, its file, and the first line of its question.

    parameters: each declared set of them (`@matrix`, `@parametrize`); a single empty one if none is
        declared; None if they can't be read from its file.
    starts_on: the Kafka version that brokers start on before an upgrade, by the run's version.
    optional: names of parameters of its tests that have a default.
    cuts: values of parameters with which connections are cut; None if they are cut with any.
    clients: the versions of clients that stand in it as literals, as plans name them.
    problem: why the file can't be read, with the line; empty if it can.
    named: how commands name it: by its name, or by its path if it is a user's own.
    tests: the names of its tests.
    test: the only one of them to run; empty: all.
    """

    name: str
    path: Path
    question: str
    parameters: tuple[Mapping[str, Any], ...] | None = ({},)
    starts_on: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    cuts: frozenset[str] | None = frozenset()
    clients: frozenset[str] = frozenset()
    problem: str = ""
    named: str = ""
    tests: tuple[str, ...] = ()
    test: str = ""

    @property
    def symbol(self) -> str:
        """What ducktape loads its tests by; the class of a single one is not named."""
        return f"{self.path}{_OF_A_TEST}.{self.test}" if self.test else str(self.path)

    def only(self, test: str) -> "ScenarioFile":
        """Return it with one of its tests only.

        Raises:
            UsageError: it has no such test; names those that it has.
        """
        if self.problem:
            return self
        if test not in self.tests:
            raise UsageError(f"{self.path}: {lacking('test', test, self.tests)}")
        alone = read_scenario(self.path, test)
        return replace(alone, named=f"{self.named}{_OF_A_TEST}{test}")

    def require(self, parameters: Mapping[str, Any]) -> None:
        """Check that the file can be read, and declares a set of parameters.

        Raises:
            UsageError: it can't, or does not; the message names the line, or the declared sets.
        """
        if self.problem:
            raise UsageError(self.problem)
        needed = {key: value for key, value in parameters.items() if key not in self.optional}
        if not parameters or self.parameters is None or needed in self.parameters:
            return
        given = json.dumps(parameters)
        declared = ", ".join(json.dumps(values) for values in self.parameters if values)
        hint = f"it declares: {declared}" if declared else "it declares none"
        raise UsageError(f"{self.name} does not declare the parameters {given}; {hint}")

    def require_uncut(self, parameters: Mapping[str, Any]) -> None:
        """Check that no connection is cut, for a pool whose nodes have no network of their own.

        Args:
            parameters: of the run; empty: all that it declares.

        Raises:
            UsageError: one is; the message says with which parameters none is.
        """
        every = [parameters] if parameters else list(self.parameters or ({},))
        cut = [
            values
            for values in every
            if self.cuts is None or self.cuts & {*map(str, values.values())}
        ]
        if not cut:
            return
        without = [json.dumps(values) for values in every if values not in cut]
        instead = f", or --parameters {shlex.quote(without[0])}" if without else ""
        raise UsageError(
            f"{self.name} cuts connections{_with(cut)}, and nodes on loopback have no network of "
            f"their own: use --cluster embedded or docker{instead}"
        )


def _with(every: Sequence[Mapping[str, Any]]) -> str:
    given = [json.dumps(parameters) for parameters in every if parameters]
    return f" with {', '.join(given)}" if given else ""


def scenario_folders() -> list[Path]:
    """Return the folder of our scenarios, and those of the extras."""
    return [_FOLDER, *folders("scenarios")]


def scenarios(folder: Path | None = None) -> list[ScenarioFile]:
    """Return all scenarios, by name; of a file that can't be read the name and the problem.

    Args:
        folder: of further ones, a user's own, which follow.

    Raises:
        UsageError: there is no such folder, or no scenario in it.
    """
    files = [path for place in scenario_folders() for path in place.glob(_FILES)]
    ours = [read_scenario(path) for path in sorted(files, key=lambda path: path.name)]
    if folder is None:
        return ours
    own = sorted(folder.glob(_FILES))
    if not own:
        raise UsageError(
            f"--scenarios {folder} has no file {_FILES}: name the folder of your scenarios; to "
            "write one there: fencepost new scenario NAME"
        )
    return [*ours, *(own_scenario(path) for path in own)]


def find_scenarios(names: Sequence[str], folder: Path | None = None) -> list[ScenarioFile]:
    """Return the scenarios of these names or paths, in the given order.

    A path ends with `.py`. `::test_name` behind a name or path chooses one of its tests.

    Args:
        names: names of our scenarios and of those in `folder`, and paths of any others.
        folder: of a user's own scenarios; None: no further names.

    Raises:
        UsageError: a name is unknown, and the nearest one is named, or it is given twice.
    """
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UsageError(
            f"{', '.join(twice)}: named twice, but a session runs a scenario once; several runs of "
            "it are a suite with `repeat` (fencepost docs your-scenario)"
        )
    known: dict[str, list[ScenarioFile]] = {}
    for scenario in scenarios(folder):
        known.setdefault(scenario.name, []).append(scenario)
    found = [_found(name, known) for name in names]
    by_name: dict[str, Path] = {}
    for scenario in found:
        if (other := by_name.setdefault(scenario.name, scenario.path)) != scenario.path:
            raise UsageError(
                f"{other} and {scenario.path} have one name: rename one of them, or run them one "
                "by one"
            )
    return found


def _found(name: str, known: Mapping[str, Sequence[ScenarioFile]]) -> ScenarioFile:
    place, _, test = name.partition(_OF_A_TEST)
    if place.endswith(".py"):
        scenario = own_scenario(Path(place))
    else:
        named = known.get(place, [])
        if not named:
            raise UsageError(
                f"{lacking('scenario', place, known)} (`fencepost list` prints their questions; "
                "your own is named by its path, as in own/lost_test.py)"
            )
        if len(named) > 1:
            paths = " and ".join(str(file.path) for file in named)
            raise UsageError(f"{place} names {paths}: give the path of the one that is meant")
        (scenario,) = named
    return scenario.only(test) if test else scenario


def own_scenario(path: Path) -> ScenarioFile:
    """Read a user's own scenario; commands name it by its path.

    Raises:
        UsageError: ducktape would not take a file of this name.
    """
    if not path.name.endswith(f"{_SUFFIX}.py"):
        raise UsageError(f"{path}: the name of a scenario's file ends with {_SUFFIX}.py: rename it")
    path, here = path.absolute(), Path.cwd()
    path = Path(os.path.normpath(path))
    named = path.relative_to(here) if path.is_relative_to(here) else path
    return replace(read_scenario(path), named=str(named))


def read_scenario(path: Path, test: str = "") -> ScenarioFile:
    """Read a scenario's file; what is wrong with it is the scenario's `problem`.

    Args:
        path: of the file.
        test: the only one of its tests that is meant; empty: all.
    """
    try:
        return _read(path, read_file(path), test)
    except SyntaxError as error:
        problem = f"{path}:{error.lineno or 1}: {error.msg}"
    except OSError as error:
        problem = f"{path} can't be read: {error.strerror or error}"
    except (ValueError, RecursionError, MemoryError) as error:
        problem = f"{path} can't be read: {str(error) or type(error).__name__}"
    name = path.stem.removesuffix(_SUFFIX)
    return ScenarioFile(name, path, "", problem=problem, named=name)


@cache
def _read(path: Path, content: bytes, test: str) -> ScenarioFile:
    """The scenario of a file's content, once: a suite names each many times."""
    name = path.stem.removesuffix(_SUFFIX)
    tree = ast.parse(content)
    tests = [function for function in _tests(tree) if test in ("", function.name)]
    return ScenarioFile(
        name,
        path,
        question=(ast.get_docstring(tree) or "").partition("\n")[0],
        parameters=_parameters(tree, tests),
        starts_on=_starts_on(tree),
        optional=_optional(tests),
        cuts=_cuts(tree),
        clients=_clients(tree),
        named=name,
        tests=tuple(dict.fromkeys(function.name for function in tests)),
        test=test,
    )


def _tests(tree: ast.Module) -> list[ast.FunctionDef]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def _optional(tests: Iterable[ast.FunctionDef]) -> frozenset[str]:
    """Return the names of parameters of a scenario's tests that have a default."""
    given = [test.args for test in tests]
    return frozenset(
        argument.arg for of in given for argument in of.args[len(of.args) - len(of.defaults) :]
    )


def _parameters(
    tree: ast.Module, tests: Iterable[ast.FunctionDef]
) -> tuple[Mapping[str, Any], ...] | None:
    """Return each declared set of parameters of a scenario's tests; None if one is no literal."""
    names = _constants_of(tree)
    declared: list[Mapping[str, Any]] = []
    try:
        for test in tests:
            marks = list(_marks(test, names))
            declared += [{}] if not marks else []
            for mark, values in marks:
                if mark == "parametrize":
                    declared.append(values)
                else:
                    declared += [
                        dict(zip(values, combination, strict=True))
                        for combination in product(*values.values())
                    ]
    except ValueError:
        return None
    return tuple(declared) or ({},)


@cache
def cutting() -> frozenset[str]:
    """Return the classes of faults that drop packets, as they declare or inherit."""
    every = [node for file in _FAULTS.glob("*.py") for node in ast.parse(file.read_text()).body]
    classes = [node for node in every if isinstance(node, ast.ClassDef)]
    found = {cls.name for cls in classes if "needs = Capability.CUT" in map(ast.unparse, cls.body)}
    heirs = {cls.name for cls in classes if found & {*map(ast.unparse, cls.bases)}}
    return frozenset(found | heirs)


def _cuts(tree: ast.Module) -> frozenset[str] | None:
    """Return the keys whose values cut connections, in dictionaries of recipes.

    None if a connection is cut elsewhere, as in a test.
    """
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in cutting() and (node.module or "").startswith(_OF_FAULTS)
    }

    def calls(node: ast.AST) -> list[ast.Call]:
        called = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
        return [
            call for call in called if isinstance(call.func, ast.Name) and call.func.id in names
        ]

    recipes = [
        (key, value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    ]
    of_recipes = {id(call) for _, value in recipes for call in calls(value)}
    if any(id(call) not in of_recipes for call in calls(tree)):
        return None
    return frozenset(str(key.value) for key, value in recipes if calls(value))


def _clients(tree: ast.Module) -> frozenset[str]:
    """Return the literals that name a version of a client."""
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return frozenset(
        literal for literal in literals if isinstance(literal, str) and is_version(literal)
    )


def _starts_on(tree: ast.Module) -> dict[str, str]:
    """Return the constant `STARTS_ON` of a scenario's module; empty without one.

    Raises:
        SyntaxError: it is no literal.
    """
    named = _constants_of(tree).get(_STARTS_ON)
    if named is None:
        return {}
    try:
        return msgspec.convert(ast.literal_eval(named), dict[str, str])
    except (ValueError, msgspec.ValidationError):
        problem = f"{_STARTS_ON} must be a literal of versions by version"
        raise SyntaxError(problem, ("", named.lineno, None, None)) from None


def _constants_of(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the constants of a module, by name."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and node.value is not None
    }


def _marks(
    test: ast.FunctionDef, names: Mapping[str, ast.expr]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the marks `@matrix` and `@parametrize` of a test, with their arguments."""
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name):
            name = mark.func.id
            if name in ("matrix", "parametrize"):
                yield name, {str(k.arg): _value(k.value, names) for k in mark.keywords}


def _value(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    """Return a literal, or `list(NAME)` of a dictionary or sequence of the module.

    Raises:
        ValueError: it is neither.
    """
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    named = node.args[0] if len(node.args) == 1 else None
    if not isinstance(named, ast.Name) or named.id not in names:
        raise ValueError(ast.unparse(node))
    values = names[named.id]
    keys = values.keys if isinstance(values, ast.Dict) else getattr(values, "elts", [])
    return [ast.literal_eval(key) for key in keys if key is not None]

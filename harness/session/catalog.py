"""The scenarios, read from their files without importing them."""

import ast
import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from cluster.clients.versions import is_version
from contract.errors import UsageError
from contract.regular_files import read_file

_FOLDER = Path(__file__).resolve().parents[2] / "scenarios"
_SUFFIX = "_test"
_STARTS_ON = "STARTS_ON"
CUTTING_FAULTS = {
    "harness.faults.bridge": "Bridge",
    "harness.faults.client": "CutClient",
    "harness.faults.cut": "Cut",
    "harness.faults.divide": "Divide",
}
"""The faults that cut connections, by their modules."""


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
        declared = ", ".join(json.dumps(one) for one in self.parameters if one)
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
        cut = [one for one in every if self.cuts is None or self.cuts & {*map(str, one.values())}]
        if not cut:
            return
        without = [json.dumps(one) for one in every if one not in cut]
        instead = f", or --parameters {shlex.quote(without[0])}" if without else ""
        raise UsageError(
            f"{self.name} cuts connections{_with(cut)}, and nodes on loopback have no network of "
            f"their own: use --cluster embedded or docker{instead}"
        )


def _with(every: Sequence[Mapping[str, Any]]) -> str:
    given = [json.dumps(one) for one in every if one]
    return f" with {', '.join(given)}" if given else ""


def scenarios() -> list[ScenarioFile]:
    """Return all scenarios, by name; of a file that can't be read the name and the problem."""
    return [read_scenario(path) for path in sorted(_FOLDER.glob(f"*{_SUFFIX}.py"))]


def find_scenarios(names: list[str]) -> list[ScenarioFile]:
    """Return the scenarios of these names, in the given order.

    Raises:
        UsageError: a name is unknown, and the existing ones are named, or it is given twice.
    """
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UsageError(
            f"{', '.join(twice)}: named twice, but a session runs a scenario once; several runs of "
            "it are a suite with `repeat` (CONTRIBUTING.md)"
        )
    known = {scenario.name: scenario for scenario in scenarios()}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"there is no scenario {', '.join(unknown)}; there are: {', '.join(known)} "
            "(`fencepost list` prints their questions)"
        )
    return [known[name] for name in names]


def read_scenario(path: Path) -> ScenarioFile:
    """Read a scenario's file; what is wrong with it is the scenario's `problem`."""
    name = path.stem.removesuffix(_SUFFIX)
    try:
        tree = ast.parse(read_file(path))
        question = (ast.get_docstring(tree) or "").partition("\n")[0]
        parameters, optional = _parameters(tree), _optional(tree)
        starts_on, cuts = _starts_on(tree), _cuts(tree)
        clients = _clients(tree)
        return ScenarioFile(name, path, question, parameters, starts_on, optional, cuts, clients)
    except SyntaxError as error:
        problem = f"{path}:{error.lineno or 1}: {error.msg}"
    except OSError as error:
        problem = f"{path} can't be read: {error.strerror or error}"
    except (ValueError, RecursionError, MemoryError) as error:
        problem = f"{path} can't be read: {str(error) or type(error).__name__}"
    return ScenarioFile(name, path, "", problem=problem)


def _optional(tree: ast.Module) -> frozenset[str]:
    """Return the names of parameters of a scenario's tests that have a default."""
    tests = [
        node.args
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return frozenset(
        one.arg for test in tests for one in test.args[len(test.args) - len(test.defaults) :]
    )


def _parameters(tree: ast.Module) -> tuple[Mapping[str, Any], ...] | None:
    """Return each declared set of parameters of a scenario's tests; None if one is no literal."""
    names = _named(tree)
    declared: list[Mapping[str, Any]] = []
    try:
        for mark, values in _marks(tree, names):
            if mark == "parametrize":
                declared.append(values)
            else:
                declared += [
                    dict(zip(values, one, strict=True)) for one in product(*values.values())
                ]
    except ValueError:
        return None
    return tuple(declared) or ({},)


def _cuts(tree: ast.Module) -> frozenset[str] | None:
    """Return the keys whose values cut connections, in dictionaries of recipes.

    None if a connection is cut elsewhere, as in a test.
    """
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in CUTTING_FAULTS
        for alias in node.names
        if alias.name == CUTTING_FAULTS[node.module]
    }

    def calls(node: ast.AST) -> list[ast.Call]:
        called = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        return [one for one in called if isinstance(one.func, ast.Name) and one.func.id in names]

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
    return frozenset(one for one in literals if isinstance(one, str) and is_version(one))


def _starts_on(tree: ast.Module) -> dict[str, str]:
    """Return the constant `STARTS_ON` of a scenario's module; empty without one.

    Raises:
        SyntaxError: it is no literal.
    """
    named = _named(tree).get(_STARTS_ON)
    if named is None:
        return {}
    try:
        return msgspec.convert(ast.literal_eval(named), dict[str, str])
    except (ValueError, msgspec.ValidationError):
        problem = f"{_STARTS_ON} must be a literal of versions by version"
        raise SyntaxError(problem, ("", named.lineno, None, None)) from None


def _named(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the constants of a module, by name."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and node.value is not None
    }


def _marks(tree: ast.Module, names: Mapping[str, ast.expr]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the marks `@matrix` and `@parametrize` of a scenario's tests, with their arguments."""
    for node in ast.walk(tree):
        for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else []:
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

"""The scenarios, read from their files without importing them."""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import UsageError
from contract.regular_files import read_file

_FOLDER = Path(__file__).resolve().parents[2] / "scenarios"
_SUFFIX = "_test"
_STARTS_ON = "STARTS_ON"


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario on disk: its name, its file, and the first line of its question.

    parameters: each declared set of them (`@matrix`, `@parametrize`); a single empty one if none is
        declared; None if they can't be read from its file.
    starts_on: the Kafka version that brokers start on before an upgrade, by the run's version.
    optional: names of parameters of its tests that have a default.
    problem: why the file can't be read, with the line; empty if it can.
    """

    name: str
    path: Path
    question: str
    parameters: tuple[Mapping[str, Any], ...] | None = ({},)
    starts_on: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
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
        return ScenarioFile(name, path, question, parameters, _starts_on(tree), optional)
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

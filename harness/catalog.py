"""Which scenarios there are, read from their files without importing them."""

import ast
from dataclasses import dataclass
from pathlib import Path

from harness.contract.errors import UsageError

_FOLDER = Path(__file__).resolve().parent.parent / "scenarios"
_SUFFIX = "_test"


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario on disk: its name, its file, the first line of its question, and its nodes.

    nodes: the most that a test of it asks ducktape for, `@cluster(num_nodes=...)`.
    """

    name: str
    path: Path
    question: str
    nodes: int


def scenarios() -> list[ScenarioFile]:
    """All scenarios, by name."""
    return [read_scenario(path) for path in sorted(_FOLDER.glob(f"*{_SUFFIX}.py"))]


def find_scenarios(names: list[str]) -> list[ScenarioFile]:
    """The scenarios of these names, in the order given.

    Raises:
        UsageError: a name that there is not; names those that there are.
    """
    known = {scenario.name: scenario for scenario in scenarios()}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"there is no scenario {', '.join(unknown)}; there are: {', '.join(known)} "
            "(`fencepost list` tells what each asks)"
        )
    return [known[name] for name in names]


def read_scenario(path: Path) -> ScenarioFile:
    """What a scenario's file tells of itself."""
    tree = ast.parse(path.read_text())
    question = (ast.get_docstring(tree) or "").partition("\n")[0]
    return ScenarioFile(path.stem.removesuffix(_SUFFIX), path, question, _nodes(tree))


def _nodes(tree: ast.Module) -> int:
    """The largest `num_nodes` that is written as a number."""
    asked = [
        keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
        if keyword.arg == "num_nodes" and isinstance(keyword.value, ast.Constant)
    ]
    return max((nodes for nodes in asked if isinstance(nodes, int)), default=0)

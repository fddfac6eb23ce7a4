"""Which scenarios there are, read from their files without importing them."""

import ast
from dataclasses import dataclass
from pathlib import Path

from harness.contract.errors import UsageError

_FOLDER = Path(__file__).resolve().parent.parent / "scenarios"
_SUFFIX = "_test"


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario on disk: its name, its file and the first line of its question."""

    name: str
    path: Path
    question: str


def scenarios() -> list[ScenarioFile]:
    """All scenarios, by name."""
    return [_read(path) for path in sorted(_FOLDER.glob(f"*{_SUFFIX}.py"))]


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


def _read(path: Path) -> ScenarioFile:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    question = docstring.partition("\n")[0]
    return ScenarioFile(path.stem.removesuffix(_SUFFIX), path, question)

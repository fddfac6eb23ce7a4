"""The number of nodes that a session's scenarios need; imports their files."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from contract.errors import UsageError
from harness.story.scenario import Scenario


def pool_size(files: Iterable[Path]) -> int:
    """Return the largest number of nodes that a scenario of these files needs.

    Raises:
        UsageError: a file does not import, or holds no scenario.
    """
    return max(node_count(file) for file in files)


def node_count(file: Path) -> int:
    """Return the largest number of nodes that a scenario of this file needs.

    Raises:
        UsageError: it does not import, or holds no scenario.
    """
    module = _imported(file)
    counts = [
        found.node_count()
        for found in vars(module).values()
        if isinstance(found, type)
        and issubclass(found, Scenario)
        and found.__module__ == module.__name__
    ]
    if not counts:
        raise UsageError(f"{file} holds no subclass of Scenario: add one, see CONTRIBUTING.md")
    return max(counts)


def _imported(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"node_count_of_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        with _neighbours_of(file):
            spec.loader.exec_module(module)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{file} does not import: {problem}") from error
    return module


@contextmanager
def _neighbours_of(file: Path) -> Iterator[None]:
    """Modules beside a file can be imported, as ducktape lets them be."""
    before = sys.path[:]
    sys.path.insert(0, str(file.parent))
    try:
        yield
    finally:
        sys.path[:] = before

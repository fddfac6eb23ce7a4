"""The number of nodes that a session's scenarios need; imports and checks their files."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from cluster.nodes.node import NODES_MAX
from contract.builds import Build
from contract.errors import UsageError
from harness.story.scenario import Scenario
from harness.story.soundness import require_declared


def pool_size(files: Iterable[Path], build: Build) -> int:
    """Return the largest number of nodes that a scenario of these files needs.

    Args:
        files: of scenarios.
        build: what runs.

    Raises:
        UsageError: a file does not import, holds no scenario, or declares what there is not.
    """
    return max(_node_count(file, build) for file in files)


def _node_count(file: Path, build: Build) -> int:
    module = _imported(file)
    found = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Scenario) and one.__module__ == module.__name__
    ]
    if not found:
        raise UsageError(f"{file} holds no subclass of Scenario: add one, see CONTRIBUTING.md")
    for one in found:
        require_declared(
            module, answer=one.answer, groups=one.groups, topology=one.topology, build=build
        )
    needed = max(one.node_count() for one in found)
    if needed > NODES_MAX:
        raise UsageError(
            f"{file} needs {needed} nodes for its servers, workers and observer, and a pool has at "
            f"most {NODES_MAX}"
        )
    return needed


def _imported(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"node_count_of_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        with _neighbours_of(file):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        lines = [at.lineno for at in extract_tb(error.__traceback__) if at.filename == str(file)]
        where = f"{file}:{lines[-1]}" if lines else str(file)
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{where} does not import: {problem}") from error
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

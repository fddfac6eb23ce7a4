"""The runs of a study: collected on a cluster one by one, and judged together in one Spark."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import typer

import analysis
import contract
from cluster.nodes.pool import PoolKind
from contract.errors import AnalysisError
from contract.program import say
from contract.run_folder import RunFolder
from contract.verdicts import Verdict
from harness.commands.judging import analyse_in_own_process
from harness.commands.options import choice_of, fetched
from harness.commands.requirements import require_runs
from harness.invocation import session_of
from harness.session.catalog import find_scenarios
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root

_CODE = (".py", ".sql")
"""What can change a verdict."""


def collect(
    scenario: str,
    results: Path,
    *,
    kafka: str,
    seed: int,
    parameters: Mapping[str, Any],
    client_jars: Sequence[Path] = (),
) -> None:
    """Run a scenario below a folder of results of its own, on the embedded pool.

    Args:
        scenario: its name.
        results: the folder.
        kafka: version of brokers and clients.
        seed: of the run.
        parameters: of the scenario.
        client_jars: first on the class path of the Java clients.

    Raises:
        PrerequisiteError: the embedded pool does not work here.
        NodeError: no run was collected.
    """
    folder = require_runs(results, PoolKind.EMBEDDED)
    chosen = find_scenarios([scenario])
    choice = choice_of(kafka, None, None, list(client_jars) or None)
    build = fetched(choice, PoolKind.EMBEDDED, chosen)
    session = session_of(seed=seed, kafka=build.kafka, cluster=PoolKind.EMBEDDED.value, build=build)
    with node_root(folder) as root:
        ended = run_ducktape(
            chosen,
            session,
            results=folder,
            root=root,
            on_phase=lambda phase: typer.echo(f"  {phase}", err=True),
            parameters=parameters,
        )
    for problem in ended.dropped:
        say(problem)


def verdicts_of(runs: Iterable[RunFolder], *, engine: str = "auto") -> list[Verdict]:
    """Return the verdicts of runs; those that the present code has not judged are judged now.

    Args:
        runs: that were collected.
        engine: of `fencepost analyze`; with another one than `auto`, all are judged.

    Raises:
        AnalysisError: one can't be judged.
    """
    of_all = list(runs)
    due = [run for run in of_all if engine != "auto" or not _is_current(_file(run))]
    if due:
        paths = [run.path for run in due]
        status = analyse_in_own_process(paths, options=["--json", "--engine", engine], quiet=True)
        missing = [str(run.path) for run in of_all if not _file(run).is_file()]
        if missing:
            raise AnalysisError(f"the analysis ended with {status}, without {', '.join(missing)}")
    return [msgspec.json.decode(_file(run).read_bytes(), type=Verdict) for run in of_all]


def _file(run: RunFolder) -> Path:
    return run.report / "verdict.json"


def _is_current(file: Path) -> bool:
    """Whether a verdict is newer than the code that judges."""
    return file.is_file() and file.stat().st_mtime > _changed()


@cache
def _changed() -> float:
    roots = (Path(package.__path__[0]) for package in (analysis, contract))
    code = (file for root in roots for file in root.rglob("*") if file.suffix in _CODE)
    return max(file.stat().st_mtime for file in code)

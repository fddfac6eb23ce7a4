"""Run one story on a cluster, without judging it: for benches that judge their runs together."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from cluster.nodes.pool import PoolKind
from contract.program import say
from harness.commands.builds import choice_of, fetched
from harness.commands.requirements import require_runs
from harness.session.catalog import find_scenarios
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root
from harness.session.provenance import session_of


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
    build = fetched(choice_of(kafka, None, None, list(client_jars) or None))
    session = session_of(seed=seed, kafka=build.kafka, cluster=PoolKind.EMBEDDED.value, build=build)
    with node_root(folder) as root:
        ended = run_ducktape(
            find_scenarios([scenario]),
            session,
            results=folder,
            root=root,
            on_phase=lambda phase: typer.echo(f"  {phase}", err=True),
            parameters=parameters,
        )
    for problem in ended.dropped:
        say(problem)

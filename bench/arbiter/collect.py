"""Run one cell on a cluster, without Spark: the arbiter judges runs by DuckDB."""

from pathlib import Path

import typer

from bench.arbiter.cells import Cell
from cluster.nodes.pool import PoolKind
from harness.commands.builds import choice_of, fetched
from harness.commands.requirements import require_pool, require_results
from harness.session.catalog import find_scenarios
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root
from harness.session.provenance import session_of


def collect(cell: Cell, results: Path, client_jars: list[Path]) -> None:
    """Run a cell below a folder of results of its own.

    Raises:
        PrerequisiteError: the embedded pool does not work here.
        NodeError: no run was collected.
    """
    require_pool(PoolKind.EMBEDDED)
    folder = require_results(results / cell.name)
    build = fetched(choice_of(cell.kafka, None, None, client_jars or None))
    session = session_of(
        seed=cell.seed, kafka=build.kafka, cluster=PoolKind.EMBEDDED.value, build=build
    )
    with node_root(folder) as root:
        run_ducktape(
            find_scenarios([cell.scenario]),
            session,
            results=folder,
            root=root,
            on_phase=lambda phase: typer.echo(f"  {phase}", err=True),
            parameters=cell.parameters,
        )

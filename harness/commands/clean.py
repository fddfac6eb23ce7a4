"""`fencepost clean`: removes the leftovers of killed runs."""

from contextlib import suppress
from pathlib import Path

import psutil
import typer

from cluster.nodes.docker_client import docker_problem
from cluster.nodes.docker_pool import remove_orphans
from harness.commands.options import RESULTS, Results
from harness.playground.state import forget, keeper
from harness.session.node_root import sweep

_END_SECONDS = 60


def clean(results: Results = RESULTS) -> None:
    """End a playground, and remove folders of dead sessions and containers of dead runs."""
    end_playground(results)
    typer.echo(f"removed the folders of {sweep(results)} dead sessions")
    if docker_problem() is None:
        typer.echo(f"removed {remove_orphans()} containers of dead runs")


def end_playground(results: Path) -> None:
    """End the playground below a results folder and wait for its end; does nothing without one.

    The state file of a killed one is removed, also if it is damaged.
    """
    with suppress(psutil.NoSuchProcess):
        if (process := keeper(results)) is not None:
            process.terminate()
            process.wait(_END_SECONDS)
            typer.echo("ended the playground")
    forget(results)

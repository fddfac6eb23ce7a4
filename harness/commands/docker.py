"""`fencepost docker`: images, and the Compose file of a pool that is kept."""

from typing import Annotated

import typer

from cluster.image.build import build
from cluster.kafka import distribution
from cluster.nodes.docker_pool import COMPOSE_FILE
from contract.program import PhaseProgress, Terminal
from harness.commands.requirements import DEFAULT_KAFKA

app = typer.Typer(
    help="The images of nodes and of the tool; the Compose file of a pool that is kept."
)


@app.command()
def image(
    *,
    base: Annotated[
        str | None,
        typer.Option(help="An image with Python 3.11 to build from, instead of the public one."),
    ] = None,
    is_tool: Annotated[
        bool, typer.Option("--tool", help="The image of the tool, with the default Kafka version.")
    ] = False,
) -> None:
    """Build the image of nodes, and print its name."""
    tool_with = distribution.ensure(DEFAULT_KAFKA) if is_tool else None
    with PhaseProgress(Terminal(stderr=True)) as progress:
        name = build(base=base, tool_with=tool_with, on_phase=progress.phase)
    typer.echo(name)


@app.command()
def compose() -> None:
    """Print the path of the Compose file: docker compose --file "$(fencepost docker compose)"."""
    typer.echo(str(COMPOSE_FILE))

"""`fencepost docker`: the nodes' image, and the Compose file of a pool that is kept."""

from typing import Annotated

import typer

from cluster.image.build import build
from cluster.nodes.docker_pool import COMPOSE_FILE
from contract.terminal import Terminal

app = typer.Typer(help="The image of Docker nodes, and the Compose file of a pool that is kept.")


@app.command()
def image(
    *,
    base: Annotated[
        str | None,
        typer.Option(help="An image with Python 3.11 to build from, instead of the public one."),
    ] = None,
) -> None:
    """Build the image of nodes, and print its name."""
    with Terminal(stderr=True).status("building the nodes' image"):
        typer.echo(build(base=base))


@app.command()
def compose() -> None:
    """Print the path of the Compose file: docker compose --file "$(fencepost docker compose)"."""
    typer.echo(str(COMPOSE_FILE))

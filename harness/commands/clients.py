"""`fencepost clients`: versions of Python's clients, locked by hash, installed into a cache."""

import os
from typing import Annotated

import typer
from rich.table import Table

from cluster.clients import versions
from contract.errors import DistributionError
from contract.regular_files import replace_text
from contract.terminal import Terminal

app = typer.Typer(help="Versions of Python's clients: locked by hash, installed into a cache.")


@app.command(name="list")
def list_clients() -> None:
    """List the versions that have a lock file, as groups and `run --clients` name them."""
    table = Table("client", "package", "fetched", box=None, pad_edge=False)
    for client, package in versions.PACKAGES.items():
        for version in versions.locked(client):
            named = f"{client}@{version}"
            fetched = "yes" if versions.is_fetched(named) else "no"
            table.add_row(named, f"{package} {version}", fetched)
    Terminal().print(table)


@app.command()
def fetch(
    clients: Annotated[list[str], typer.Argument(help="Versions, such as kafka-python@3.0.8.")],
) -> None:
    """Install versions into the cache, where they are not there yet, for runs without a network."""
    for named in clients:
        versions.require_locked(named)
    for named in clients:
        typer.echo(f"{named}: {versions.ensure(named)}")


@app.command()
def lock(
    client: Annotated[str, typer.Argument(help=f"{' or '.join(versions.PACKAGES)}.")],
    version: Annotated[str, typer.Argument(help="A release; librdkafka's is confluent-kafka's.")],
    *,
    is_update: Annotated[
        bool, typer.Option("--update", help="Replace a lock file that has other hashes.")
    ] = False,
) -> None:
    """Write a lock file for a version: its package, and what it needs, with their hashes."""
    named = f"{client}@{version}"
    with Terminal(stderr=True).status(f"resolving {named}"):
        text = versions.make_lock(named)
    path = versions.lock_file(named)
    if os.path.lexists(path) and not is_update and path.read_text() != text:
        raise DistributionError(
            f"{path} has other packages or hashes than the package index now. It is kept; replace "
            f"it with: fencepost clients lock {client} {version} --update"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)
    typer.echo(str(path))

"""`fencepost versions`: Kafka and Python's clients, locked by hash and fetched into a cache."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cluster.clients import versions
from cluster.kafka import distribution
from cluster.kafka.lock import Lock, locked_versions, path_of_lock, read_lock
from cluster.kafka.resolve import make_lock
from contract.errors import DistributionError
from contract.files import replace_text
from contract.program import Terminal, as_line, say
from harness.commands.requirements import require_kafka

app = typer.Typer(help="Versions of Kafka and of Python's clients: locked by hash, in a cache.")

_BYTES_PER_MB = 1_000_000
_DIFFERENCES_MAX = 5
_OF_A_CLIENT = "@"
"""In the name of a client's version, `kafka-python@3.0.8`; that of Kafka's is `4.4.0`."""


@app.command(name="list")
def list_versions() -> None:
    """List the versions that have a lock file; exits 69 if one of these can't be read."""
    table = Table("version", "jars", "MB", "fetched", box=None, pad_edge=False)
    problems: list[DistributionError] = []
    for version in locked_versions():
        try:
            artifacts = read_lock(version).artifacts
            fetched = "yes" if distribution.is_fetched(version) else "no"
        except DistributionError as error:
            problems.append(error)
            continue
        size_mb = sum(artifact.size_bytes for artifact in artifacts) / _BYTES_PER_MB
        table.add_row(version, str(len(artifacts)), f"{size_mb:.0f}", fetched)
    Terminal().print(table)
    Terminal().print(_clients())
    for problem in problems:
        say(str(problem))
    if problems:
        raise typer.Exit(DistributionError.exit_code)


def _clients() -> Table:
    table = Table("client", "package", "fetched", box=None, pad_edge=False)
    for client, package in versions.PACKAGES.items():
        for version in versions.versions_locked(client):
            named = f"{client}{_OF_A_CLIENT}{version}"
            fetched = "yes" if versions.is_fetched(named) else "no"
            table.add_row(named, f"{package} {version}", fetched)
    return table


@app.command()
def fetch(
    names: Annotated[
        list[str], typer.Argument(help="Versions, such as 4.4.0 or kafka-python@3.0.8.")
    ],
) -> None:
    """Download and verify what is missing of versions, for runs without a network."""
    for name in names:
        if _OF_A_CLIENT in name:
            versions.require_locked(name)
        else:
            require_kafka(name, option="versions fetch")
    for name in names:
        if _OF_A_CLIENT in name:
            typer.echo(f"{name}: {versions.ensure(name)}")
        else:
            typer.echo(f"Kafka {name}: {distribution.ensure(name)}")


@app.command()
def lock(
    name: Annotated[
        str,
        typer.Argument(
            help="A release of Kafka, or of librdkafka or kafka-python, such as "
            "kafka-python@3.0.12; librdkafka's is confluent-kafka's."
        ),
    ],
    *,
    is_update: Annotated[
        bool, typer.Option("--update", help="Replace a lock file that has something else.")
    ] = False,
) -> None:
    """Write a lock file for a version: its jars or packages, with their hashes.

    A lock file that has others is kept, and what differs is printed.
    """
    if _OF_A_CLIENT in name:
        _lock_client(name, is_update=is_update)
    else:
        _lock_kafka(name, is_update=is_update)


def _lock_client(named: str, *, is_update: bool) -> None:
    with Terminal(stderr=True).status(f"resolving {named}"):
        text = versions.make_lock(named)
    path = versions.lock_file(named)
    if os.path.lexists(path) and not is_update and path.read_text() != text:
        raise DistributionError(
            f"{path} has other packages or hashes than the package index now. It is kept; replace "
            f"it with: fencepost versions lock {named} --update"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)
    typer.echo(as_line(str(path)))


def _lock_kafka(version: str, *, is_update: bool) -> None:
    require_kafka(version, option="versions lock")
    with Terminal(stderr=True).status(f"resolving Kafka {version}"):
        made = make_lock(version)
    path = path_of_lock(f"kafka-{version}")
    if os.path.lexists(path) and not is_update:
        _require_equal(made, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, made.text)
    typer.echo(as_line(f"{path}: {len(made.artifacts)} jars"))


def _require_equal(made: Lock, path: Path) -> None:
    """Check that a lock file has these jars.

    Raises:
        DistributionError: it has others, or can't be read.
    """
    again = f"replace it with: fencepost versions lock {made.version} --update"
    try:
        known = read_lock(made.version, path.parent)
    except DistributionError as error:
        raise DistributionError(f"{error}; {again}") from error
    if differences := known.differences(made):
        shown = ", ".join(differences[:_DIFFERENCES_MAX])
        left = len(differences) - _DIFFERENCES_MAX
        more = f", and {left} more" if left > 0 else ""
        raise DistributionError(
            f"{path} has other jars than the repository now: {shown}{more}. It is kept; {again}"
        )

"""`fencepost kafka`: Kafka's jars."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cluster.kafka import distribution
from cluster.kafka.lock import Lock, locked_versions, path_of_lock, read_lock
from cluster.kafka.resolve import make_lock
from contract.errors import DistributionError
from contract.files import replace_text
from contract.program import Terminal, say
from harness.commands.requirements import require_kafka

app = typer.Typer(help="Kafka distributions: locked by hash, fetched into a cache.")

_BYTES_PER_MB = 1_000_000
_DIFFERENCES_MAX = 5


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
    for problem in problems:
        say(str(problem))
    if problems:
        raise typer.Exit(DistributionError.exit_code)


@app.command()
def fetch(versions: Annotated[list[str], typer.Argument(help="Versions to fetch.")]) -> None:
    """Download missing jars of versions and verify all of them."""
    for version in versions:
        require_kafka(version, option="kafka fetch")
    for version in versions:
        typer.echo(f"Kafka {version}: {distribution.ensure(version)}")


@app.command()
def lock(
    version: Annotated[str, typer.Argument(help="A released Kafka version.")],
    *,
    is_update: Annotated[
        bool, typer.Option("--update", help="Replace a lock file that has other jars.")
    ] = False,
) -> None:
    """Write a lock file for a version: resolve its jars and hash them.

    A lock file that has other jars is kept, and what differs is printed.
    """
    require_kafka(version, option="kafka lock")
    with Terminal(stderr=True).status(f"resolving Kafka {version}"):
        made = make_lock(version)
    path = path_of_lock(f"kafka-{version}")
    if os.path.lexists(path) and not is_update:
        _require_equal(made, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, made.text)
    typer.echo(f"{path}: {len(made.artifacts)} jars")


def _require_equal(made: Lock, path: Path) -> None:
    """Check that a lock file has these jars.

    Raises:
        DistributionError: it has others, or can't be read.
    """
    again = f"replace it with: fencepost kafka lock {made.version} --update"
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

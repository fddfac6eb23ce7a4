"""`fencepost patch`: changed jars of the Java client."""

from typing import Annotated

import typer
from rich.table import Table

from contract.program import Terminal
from extras.compare import patched

app = typer.Typer(help="Patches of the Java client: listed, and built for --client-jars.")


@app.command(name="list")
def list_patches() -> None:
    """List the patches, and what each changes."""
    table = Table("patch", "Kafka", "what", box=None, pad_edge=False)
    for patch in patched.patches():
        table.add_row(patch.name, patch.version, patch.description)
    Terminal().print(table)


@app.command()
def build(
    name: Annotated[str, typer.Argument(help="A patch; see `fencepost patch list`.")],
    version: Annotated[str, typer.Argument(help="The Kafka version that it changes.")],
) -> None:
    """Compile a patch into a jar with the changed classes; prints its path and SHA-256."""
    built = patched.build(patched.find_patch(name, version))
    typer.echo(f"{built.jar} {built.sha256}")

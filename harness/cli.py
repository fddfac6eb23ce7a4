"""`fencepost`: the command line."""

from importlib.metadata import version
from typing import Annotated

import typer

from contract.program import run_program
from harness.commands.clean import clean
from harness.commands.clients import app as clients_app
from harness.commands.conform import conform
from harness.commands.docker import app as docker_app
from harness.commands.generate import generate
from harness.commands.guest import app as guest_app
from harness.commands.kafka import app as kafka_app
from harness.commands.kafka import patch_app
from harness.commands.load import consume, produce
from harness.commands.new import app as new_app
from harness.commands.nightly import compare, nightly
from harness.commands.plans import app as plan_app
from harness.commands.plans import random, replay, shrink
from harness.commands.playground import fault, heal, playground, shell
from harness.commands.prune import prune
from harness.commands.reports import coverage, explain, open_page, report
from harness.commands.requirements import doctor
from harness.commands.run import analyze, list_scenarios, run
from harness.commands.status import status

app = typer.Typer(
    help=(
        "Chaos tests for Apache Kafka's leader epochs, against real clusters. "
        "Exit codes: 0 pass, 1 fail, 2 undecided, 64 usage, 69 something is missing, 70 crash, "
        "130 interrupted."
    ),
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(kafka_app, name="kafka")
app.add_typer(patch_app, name="patch")
app.add_typer(clients_app, name="clients")
app.add_typer(guest_app, name="guest")
app.add_typer(docker_app, name="docker")
app.add_typer(new_app, name="new")
app.add_typer(plan_app, name="plan")
app.command(name="run")(run)
app.command(name="nightly")(nightly)
app.command(name="random")(random)
app.command(name="replay")(replay)
app.command(name="shrink")(shrink)
app.command(name="conform")(conform)
app.command(name="compare")(compare)
app.command(name="list")(list_scenarios)
app.command(name="analyze")(analyze)
app.command(name="open")(open_page)
app.command(name="explain")(explain)
app.command(name="report")(report)
app.command(name="coverage")(coverage)
app.command(name="generate")(generate)
app.command(name="playground")(playground)
app.command(name="status")(status)
app.command(name="produce")(produce)
app.command(name="consume")(consume)
app.command(name="fault")(fault)
app.command(name="heal")(heal)
app.command(name="shell", context_settings={"ignore_unknown_options": True})(shell)
app.command(name="doctor")(doctor)
app.command(name="clean")(clean)
app.command(name="prune")(prune)


def _print_version(*, is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"fencepost {version('fencepost')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    is_version_asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Run the command line and exit with its code."""
    run_program(app, name="fencepost")

"""`fencepost`: the command line. Of all commands only the one that is called is imported."""

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from contract.program import run_program

COMMANDS = {
    "kafka": "harness.commands.kafka",
    "patch": "harness.commands.kafka",
    "clients": "harness.commands.clients",
    "guest": "harness.commands.guest",
    "docker": "harness.commands.docker",
    "new": "harness.commands.new",
    "run": "harness.commands.run",
    "nightly": "harness.commands.nightly",
    "random": "harness.commands.plans",
    "replay": "harness.commands.plans",
    "shrink": "harness.commands.plans",
    "conform": "harness.commands.conform",
    "compare": "harness.commands.nightly",
    "list": "harness.commands.listing",
    "analyze": "harness.commands.run",
    "open": "harness.commands.reports",
    "explain": "harness.commands.reports",
    "generate": "harness.commands.generate",
    "playground": "harness.commands.playground",
    "status": "harness.commands.status",
    "produce": "harness.commands.load",
    "consume": "harness.commands.load",
    "fault": "harness.commands.playground",
    "heal": "harness.commands.playground",
    "shell": "harness.commands.playground",
    "doctor": "harness.commands.doctor",
    "clean": "harness.commands.clean",
    "prune": "harness.commands.prune",
}
"""By command, in the order of the help. A module has it under its name, or that of `_NAMES`."""
_NAMES = {
    "kafka": "app",
    "patch": "patch_app",
    "clients": "app",
    "guest": "app",
    "docker": "app",
    "new": "app",
    "list": "list_scenarios",
    "open": "open_page",
}
_VERSION = "--version"


def program(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the program with some of its commands."""
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
    app.callback()(options)
    for name in names:
        found = getattr(import_module(COMMANDS[name]), _NAMES.get(name, name))
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            settings = {"ignore_unknown_options": True} if name == "shell" else None
            app.command(name=name, context_settings=settings)(found)
    return app


def _print_version(*, is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"fencepost {version('fencepost')}")
        raise typer.Exit


def options(
    *,
    is_version_asked: Annotated[
        bool,
        typer.Option(
            _VERSION, callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Run the command line and exit with its code."""
    first = sys.argv[1:2]
    named = [name for name in first if name in COMMANDS]
    run_program(program(named if named or first == [_VERSION] else COMMANDS), name="fencepost")

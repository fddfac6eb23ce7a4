"""`fencepost`: the command line. Of all commands only the one that is called is imported."""

import sys
from collections.abc import Iterable
from importlib.metadata import version
from typing import Annotated

import typer

from contract.packages import extras, load
from contract.program import run_program

COMMANDS = {
    "versions": "harness.commands.versions:app",
    "docker": "harness.commands.docker:app",
    "new": "harness.commands.new:app",
    "run": "harness.commands.run:run",
    "nightly": "harness.commands.nightly:nightly",
    "list": "harness.commands.listing:list_scenarios",
    "analyze": "harness.commands.run:analyze",
    "open": "harness.commands.reports:open_page",
    "docs": "harness.commands.docs:docs",
    "explain": "harness.commands.reports:explain",
    "generate": "harness.commands.generate:generate",
    "play": "harness.commands.playground:app",
    "doctor": "harness.commands.doctor:doctor",
    "clean": "harness.commands.clean:app",
}
"""By command, in the order of the help; those of the extras follow."""
_VERSION = "--version"


def program(names: Iterable[str] | None = None) -> typer.Typer:
    """Return the program with some of its commands, or with all."""
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
    for name in every_command() if names is None else names:
        found = load(COMMANDS.get(name) or extras("commands")[name])
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name=name)(found)
    return app


def every_command() -> list[str]:
    """Return the names of all commands."""
    return [*COMMANDS, *extras("commands")]


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


def started() -> typer.Typer:
    """Return the program with the command that this process was started with."""
    first = sys.argv[1:2]
    named = [name for name in first if name in COMMANDS or name in extras("commands")]
    return program(named if named or first == [_VERSION] else None)


def run(app: typer.Typer) -> None:
    """Run the command line and exit with its code."""
    run_program(app, name="fencepost")

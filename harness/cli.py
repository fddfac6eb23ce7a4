"""`fencepost`: the command line."""

import sys

import click
import typer
from rich.console import Console

from harness.cli_doctor import doctor
from harness.cli_kafka import app as kafka_app
from harness.cli_run import analyze, list_scenarios, run
from harness.contract.errors import FencepostError, UsageError

_INTERRUPTED = 130

app = typer.Typer(
    help=(
        "Chaos tests for Apache Kafka's leader epochs, against real clusters. "
        "Exit codes: 0 pass, 1 fail, 2 undecided, 64 usage, 69 something is missing, 70 crash."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(kafka_app, name="kafka")
app.command(name="run")(run)
app.command(name="list")(list_scenarios)
app.command(name="analyze")(analyze)
app.command(name="doctor")(doctor)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        sys.exit(app(standalone_mode=False))
    except click.UsageError as error:
        error.show()
        sys.exit(UsageError.exit_code)
    except click.Abort:
        sys.exit(_INTERRUPTED)
    except FencepostError as error:
        Console(stderr=True, soft_wrap=True, markup=False).print(f"error: {error}", style="red")
        sys.exit(error.exit_code)

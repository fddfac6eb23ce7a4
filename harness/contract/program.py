"""Run a command line so that each way to end has its own exit code."""

import sys

import typer
from rich.console import Console

from harness.contract.errors import FencepostError, UsageError

_INTERRUPTED = 130


def run_program(app: typer.Typer) -> None:
    """Run a Typer application and exit: with what a command gave to `typer.Exit`, else 0.

    Words that make no sense end with 64, an error of ours with its own code, an interrupt with 130.
    """
    try:
        sys.exit(app(standalone_mode=False))
    except typer.Abort:
        sys.exit(_INTERRUPTED)
    except typer.TyperException as error:
        _say(str(error))
        sys.exit(UsageError.exit_code)
    except FencepostError as error:
        _say(str(error))
        sys.exit(error.exit_code)


def _say(message: str) -> None:
    console = Console(stderr=True, soft_wrap=True, markup=False, emoji=False)
    console.print(f"error: {message}", style="red")

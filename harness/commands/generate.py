"""`fencepost generate`."""

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from contract.errors import UsageError
from contract.files import local_folder
from contract.locks import HeldName
from contract.program import Terminal, as_line
from contract.run_folder import PLAN_FILE, RUN_FILE, RunFolder
from harness.commands.requirements import require_writable
from harness.invocation import git_head, versions
from simulator.history import CLEAN, Request, description, require, universes_of, write_history

_MADE = {PLAN_FILE, RUN_FILE, "tables", "report"}


def generate(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder for the history, in the layout of a run.",
            parser=local_folder,
            metavar="FOLDER",
        ),
    ],
    events: Annotated[
        int, typer.Option(help="Approximate number of rows of sends, polls and commits.")
    ] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.", min=0)] = 0,
    kind: Annotated[
        str,
        typer.Option(
            help=(
                "clean; unhealthy: every group reads everything three times; fragmented: 60 "
                "partitions, keyed records, one record a batch."
            )
        ),
    ] = CLEAN,
) -> None:
    """Simulate a history as input for the checks.

    No cluster is started. `fencepost analyze FOLDER` judges the history, which must pass.
    """
    if folder.is_dir() and any(path.name not in _MADE for path in folder.iterdir()):
        raise UsageError(f"{folder} has other files: generate into an empty folder")
    request = Request(events=events, seed=seed, kind=kind)
    require(request)
    folder = require_writable(folder, option="FOLDER", is_run=True)
    command = shlex.join(["fencepost", *sys.argv[1:]])
    with (
        _alone(folder),
        _interrupted_once(),
        Terminal(stderr=True).status(f"generating {events:,} events"),
    ):
        made = write_history(
            RunFolder(folder),
            universes_of(request),
            description(seed, command, git_head(), versions(), run_id=request.run_id),
        )
    typer.echo(f"{as_line(str(folder))}: {made.events:,} events, {len(made.topics)} topics")


@contextmanager
def _interrupted_once() -> Iterator[None]:
    """Let no second interrupt come while the tables of an interrupted history are closed.

    Python would print the traceback of one that comes while it discards an object.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, lambda *_: None)
        raise KeyboardInterrupt

    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, usual)


def _alone(folder: Path) -> HeldName:
    """Hold a folder.

    Raises:
        UsageError: another process writes into it.
    """
    try:
        return HeldName(folder)
    except BlockingIOError:
        raise UsageError(f"another process writes into {folder}: name another folder") from None

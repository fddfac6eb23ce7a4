"""`fencepost new`: files to begin with."""

import enum
import re
from pathlib import Path
from typing import Annotated

import typer
from jinja2 import Environment, PackageLoader

from contract.errors import StorageError, UsageError
from contract.files import is_of_storage, replace_text
from contract.run_folder import require_new_file
from harness.session.catalog import scenarios

app = typer.Typer(help="Write a file to begin with.", no_args_is_help=True)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_TEMPLATES = ("fencepost", "templates")


class About(enum.StrEnum):
    """What a scenario is about."""

    LEADER = "leader"
    RESTART = "restart"
    COORDINATOR = "coordinator"
    UNCLEAN = "unclean"
    RETENTION = "retention"
    UPGRADE = "upgrade"


@app.callback()
def options() -> None:
    """Options of all kinds of files: none."""


@app.command()
def scenario(
    name: Annotated[str, typer.Argument(help="Its name, as lost_orders.")],
    about: Annotated[
        About,
        typer.Option(
            help="Its fault: the leader or the group's coordinator is killed; all brokers restart, "
            "or are upgraded; an unclean election; records that expire."
        ),
    ] = About.LEADER,
) -> None:
    """Write NAME_test.py into the current folder: a scenario with your settings at its top.

    It runs as it is.
    """
    _require_name(name, "scenario")
    if name in {known.name for known in scenarios()}:
        raise UsageError(f"there is a scenario {name} already: choose another name")
    file = Path(f"{name}_test.py")
    _write(file, content(name, about))
    typer.echo(f"wrote {file}; run it: fencepost run {file}")


@app.command()
def test(
    name: Annotated[str, typer.Argument(help="Its name, as lost_orders.")],
) -> None:
    """Write test_NAME.py into the current folder: a test of pytest with a program of your own.

    It runs as it is, where pytest and Fencepost are in one environment.
    """
    _require_name(name, "test")
    file = Path(f"test_{name}.py")
    _write(file, content(name, "test"))
    typer.echo(f"wrote {file}; run it: pytest {file}")


def _require_name(name: str, kind: str) -> None:
    if not _NAME.fullmatch(name) or name.endswith("_test"):
        raise UsageError(
            f"{name!r} is no name of a {kind}: use small letters, digits and _, as in lost_orders"
        )


def _write(file: Path, text: str) -> None:
    require_new_file(file)
    if file.exists():
        raise UsageError(f"{file} exists: choose another name, or remove it")
    try:
        replace_text(file, text)
    except OSError as error:
        kind = StorageError if is_of_storage(error) else UsageError
        raise kind(f"{file} can't be written ({error.strerror}): change the folder") from None


def content(name: str, about: str = About.LEADER) -> str:
    """Return the file of a scenario, or of a test, of this name."""
    environment = Environment(
        loader=PackageLoader(*_TEMPLATES),
        autoescape=False,  # noqa: S701 - Python, and no page
        trim_blocks=True,
        # Others than those of an answer's figures, which the file has.
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
    )
    environment.filters["in_order"] = lambda names: sorted(names, key=_as_imported)
    words = "".join(word.capitalize() for word in name.split("_"))
    made = environment.get_template(f"{about}.py.j2").render(name=name, words=words)
    return f"{made.rstrip()}\n"


def _as_imported(name: str) -> tuple[bool, bool, str]:
    """Constants, classes, functions."""
    return (not name.isupper(), name[0].islower(), name)

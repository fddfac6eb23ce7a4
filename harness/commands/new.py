"""`fencepost new scenario`: a file to begin with."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from contract.errors import UsageError
from contract.files import replace_text
from contract.run_folder import require_new_file
from harness.session.catalog import scenarios

app = typer.Typer(help="Write a file to begin with.", no_args_is_help=True)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_TEMPLATE = "Template"
_MODULE = "fencepost.template"
"""A scenario that imports as a user's does."""


@app.callback()
def options() -> None:
    """Options of all kinds of files: none."""


@app.command()
def scenario(
    name: Annotated[str, typer.Argument(help="Its name, as lost_orders.")],
) -> None:
    """Write NAME_test.py into the current folder: a scenario that runs as it is."""
    if not _NAME.fullmatch(name) or name.endswith("_test"):
        raise UsageError(
            f"{name!r} is no name of a scenario: use small letters, digits and _, as in lost_orders"
        )
    if name in {known.name for known in scenarios()}:
        raise UsageError(f"there is a scenario {name} already: choose another name")
    file = Path(f"{name}_test.py")
    require_new_file(file)
    if file.exists():
        raise UsageError(f"{file} exists: choose another name, or remove it")
    try:
        replace_text(file, content(name))
    except OSError as error:
        raise UsageError(f"{file} can't be written ({error.strerror}): change the folder") from None
    typer.echo(f"wrote {file}; run it: fencepost run {file}")


def content(name: str) -> str:
    """Return the file of a scenario of this name."""
    words = "".join(word.capitalize() for word in name.split("_"))
    found = find_spec(_MODULE)
    if found is None or found.origin is None:
        raise UsageError(f"{_MODULE} is missing: install fencepost again")
    text = Path(found.origin).read_text()
    return text.replace(_TEMPLATE, words).replace(f"test_{_TEMPLATE.lower()}", f"test_{name}")

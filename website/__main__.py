"""Make the site of the docs: `python -m website [FOLDER]`, which `make docs` calls.

Writes the pages into FOLDER/pages, and their HTML into FOLDER/html, where index.html can be opened
without a server. Exits 1 if a link leads nowhere.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from contract.errors import PrerequisiteError, UsageError
from contract.program import run_program
from website.pages import read, write
from website.parts import parts
from website.rooms import ROOT

_HERE = Path(__file__).parent
_CONFIG = "zensical.toml"
_SCRIPTS = ("iframe-worker.js", "cards.js", "cards.css")
app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def make(
    folder: Annotated[
        Path, typer.Argument(help="A new one, or that of a site, which is replaced.")
    ] = ROOT / "build" / "site",
    *,
    repository: Annotated[
        str, typer.Option(help="Address below which a browser finds the repository's files.")
    ] = "",
) -> None:
    """Make the site."""
    pages = folder / "pages"
    is_site = pages.is_dir() and (folder / _CONFIG).is_file()
    if folder.exists() and not is_site and any(folder.iterdir()):
        raise UsageError(f"{folder} is no folder of a site: name an empty or a new one")
    shutil.rmtree(folder, ignore_errors=True)
    pages.mkdir(parents=True)
    shutil.copyfile(_HERE / _CONFIG, folder / _CONFIG)
    write(pages, read(parts()), repository=repository)
    for name in _SCRIPTS:
        shutil.copyfile(_HERE / name, pages / name)
    command = [sys.executable, "-P", "-m", "zensical", "build", "--strict"]
    made = subprocess.run(
        [*command, "--config-file", str(folder / _CONFIG)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    if made.returncode:
        raise PrerequisiteError(f"zensical can't make the site:\n{made.stdout}{made.stderr}")
    typer.echo(f"wrote {folder / 'html' / 'index.html'}")


if __name__ == "__main__":
    run_program(app, name="website")

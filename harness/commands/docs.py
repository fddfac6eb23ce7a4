"""`fencepost docs`: the documentation, which comes with the tool."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from contract.errors import UsageError, lacking
from contract.program import Terminal
from harness.commands.listing import print_rows

_PAGES = Path(__file__).resolve().parents[2] / "docs"


def docs(
    page: Annotated[
        str, typer.Argument(help="A page, such as your-settings; all are listed without one.")
    ] = "",
) -> None:
    """Show a page of the documentation, without a network: in a pager on a terminal, else as text.

    `fencepost list checks`, `verbs`, `faults`, `settings` and `clients` print what its tables have.
    """
    pages = {file.stem: file for file in sorted(_PAGES.glob("*.md"))}
    if not page:
        titles = [(name, file.read_text().partition("\n")[0]) for name, file in pages.items()]
        print_rows("page", "what", [(name, title.lstrip("# ")) for name, title in titles])
        return
    name = Path(page.partition("#")[0]).stem
    if name not in pages:
        raise UsageError(lacking("page", page, pages))
    text = pages[name].read_text()
    console = Terminal()
    if console.is_terminal:
        with console.pager():
            console.print(Markdown(text))
    else:
        typer.echo(text, nl=False)

"""`python -m analysis.report.standalone PAGE FILE`: a page with its scripts and styles in it."""

import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

import typer

from analysis.report.plotly_script import is_shared_script
from contract.errors import UsageError
from contract.files import replace_file, storage_error
from contract.nights import home_of
from contract.program import run_program
from contract.run_folder import require_new_file

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_SCRIPT = re.compile(r"""<script\b[^>]*\bsrc=["']?([^"'\s>]+)["']?[^>]*>\s*</script>""")
_END_OF_SCRIPT = re.compile(r"</(?=script)", re.IGNORECASE)


@app.command()
def standalone(
    page: Annotated[Path, typer.Argument(help="A page of a report.")],
    file: Annotated[Path, typer.Argument(help="The file to write.")],
) -> None:
    """Write a page as one file that needs no other."""
    require_new_file(file)
    if file.exists() and home_of(file) is not None:
        raise UsageError(f"{file} is a file of a session or night: name a file elsewhere")
    try:
        text = self_contained(page)
    except OSError as error:
        raise UsageError(f"{page} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{page} is not in UTF-8, as a page of a report is") from None
    try:
        replace_file(file, text.encode())
    except OSError as error:
        raise storage_error(error, file) or UsageError(
            f"{file} can't be written: {error.strerror or error}"
        ) from error
    typer.echo(os.fsencode(file))


def self_contained(page: Path) -> str:
    """The text of a page with the script that it loads from a report's folder.

    Raises:
        UsageError: it loads another file, which no page of ours does.
    """

    def script(found: re.Match[str]) -> str:
        file = page.parent / unquote(found[1])
        if not is_shared_script(page, file):
            raise UsageError(
                f"{page} loads {found[1]}, which is no script of a report: judge the run again, "
                "with `fencepost analyze`, and take its page"
            )
        content = file.read_text(encoding="utf-8")
        return f"<script>{_END_OF_SCRIPT.sub(_escape_slash, content)}</script>"

    return _SCRIPT.sub(script, page.read_text(encoding="utf-8"))


def _escape_slash(_: re.Match[str]) -> str:
    return r"<\/"


if __name__ == "__main__":
    run_program(app)

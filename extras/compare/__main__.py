"""`python -m extras.compare FOLDER`: compare the judged runs of a comparison."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from contract.errors import RunFolderError
from contract.nights import read_night
from contract.program import Terminal, run_program
from extras.compare.compare import compare
from extras.compare.comparison import EXIT_CODES, read_comparison
from extras.compare.pages import show, write

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    folder: Annotated[Path, typer.Argument(help="The folder of a comparison.")],
    *,
    is_verbose: Annotated[bool, typer.Option("--verbose")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Write the result of a comparison into its report/, and print it."""
    comparison, night = read_comparison(folder), read_night(folder)
    if night is None:
        raise RunFolderError(
            f"{folder} has no state of its runs, so that there is nothing to compare"
        )
    result = compare(folder, night, comparison)
    write(folder / "report", result)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    else:
        show(result, Terminal(markup=True), is_verbose=is_verbose)
    raise typer.Exit(EXIT_CODES[result.outcome])


if __name__ == "__main__":
    run_program(app)

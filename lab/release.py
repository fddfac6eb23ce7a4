"""The changelog of a release: `python -m lab.release VERSION`.

Each change has a file in changes/, which says what a user sees. Their texts become a part of
CHANGELOG.md under the version, sorted by the names of the files, and the files go.
"""

from pathlib import Path
from textwrap import indent

import typer

from contract.errors import UsageError
from contract.program import run_program

_HEADING = "# Changelog\n\n"
_UNRELEASED = "\n## Unreleased\n\n"
app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.command()
def main(version: str, root: Path = Path()) -> None:
    """Move the texts of changes/ into CHANGELOG.md."""
    files = sorted((root / "changes").glob("*.md"))
    if not files:
        raise UsageError("changes/ has no file")
    changelog = root / "CHANGELOG.md"
    earlier = "\n" + changelog.read_text().removeprefix(_HEADING)
    points = "".join(_points(file.read_text()) for file in files)
    changelog.write_text(f"{_HEADING}## {version}\n\n{points}{earlier.removeprefix(_UNRELEASED)}")
    for file in files:
        file.unlink()


def _points(text: str) -> str:
    return text if text.startswith("- ") else f"- {indent(text, '  ').lstrip()}"


if __name__ == "__main__":
    run_program(app, name="lab.release")

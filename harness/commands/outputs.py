"""Options that several commands share: what they print."""

from typing import Annotated

import typer

Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Print every check, how each group continued, and the timing."
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON document instead of text (docs/outputs.md).",
    ),
]

"""Options that several commands share."""

from typing import Annotated

import typer

from cluster.nodes.pool import PoolKind

Cluster = Annotated[
    PoolKind,
    typer.Option(help="Pool of nodes: namespaces, containers, or plain folders."),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Print every check, and how each group continued."),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON document instead of text (docs/outputs.md).",
    ),
]

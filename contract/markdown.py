"""Parts of Markdown that several pages and summaries have."""

import re

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")


def table_row(*cells: str) -> str:
    """A row of a table, of cells that are Markdown already."""
    return f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """Text in one line, in which no character has a meaning for Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))

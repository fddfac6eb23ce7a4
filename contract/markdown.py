"""Parts of Markdown that several pages and summaries have."""

import re
from collections.abc import Iterable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table, of cells that are Markdown already."""
    titles = list(head)
    lines = [f"| {' | '.join(map(str, row))} |" for row in (titles, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(titles)}", *lines[1:]])


def plain(text: str) -> str:
    """Text in one line, in which no character has a meaning for Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    kept = (one for one in text.lower() if one.isalnum() or one in " -_")
    return "".join(kept).strip().replace(" ", "-")

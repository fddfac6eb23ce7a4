"""Pages from templates of jinja."""

import os
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from analysis.report.words import with_noun
from contract.program import escape_orders, plain

_GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
_ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| [^|]+ \|$", re.MULTILINE)
_HEADS = ("word", "---")
_REFERENCE = re.compile(r" ?\(\[[^]]*\]\([^)]*\)\)|;? \[[^]]*\]\([^)]*\) lists all")
"""A link to a page of the docs, which a report on another machine does not have."""


@cache
def glossary() -> list[tuple[str, str, str]]:
    """The words of docs/glossary.md: an id of each, the word, and what it means here."""
    return [
        (
            "word-" + re.sub(r"[^a-z]+", "-", row["word"].lower()).strip("-"),
            row["word"],
            _REFERENCE.sub("", row["meaning"]).replace("`", ""),
        )
        for row in _ROW.finditer(_GLOSSARY.read_text())
        if row["word"] not in _HEADS
    ]


class _Page(Template):
    """A page, without characters that are orders: they could turn a name, or hide a part of it."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Render it as Jinja does."""
        return escape_orders(super().render(*args, **kwargs))


class _Pages(Environment):
    template_class = _Page


@cache
def environment(*, escapes: bool = True) -> Environment:
    """Templates, compiled once in a process; unknown names are an error.

    Args:
        escapes: whether every value is escaped, as in pages.
    """
    made = _Pages(
        loader=PackageLoader("analysis.report", "templates"),
        autoescape=escapes,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["glossary"] = glossary()
    made.globals["with_noun"] = with_noun
    made.filters["plain"] = plain
    # A path may be no text in UTF-8.
    made.filters["urlencode"] = lambda path: quote(os.fsencode(path))
    return made

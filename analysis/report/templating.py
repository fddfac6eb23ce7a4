"""Pages from templates of jinja."""

import os
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from contract.terminal import shown


class _Page(Template):
    """A page, without characters that are orders: they could turn a name, or hide a part of it."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Render it as Jinja does."""
        return shown(super().render(*args, **kwargs))


class _Pages(Environment):
    template_class = _Page


def environment() -> Environment:
    """Templates with every value escaped, and unknown names an error."""
    made = _Pages(
        loader=PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # A path may be no text in UTF-8.
    made.filters["urlencode"] = lambda path: quote(os.fsencode(path))
    return made

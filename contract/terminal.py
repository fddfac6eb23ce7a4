"""What is shown to people: without colours in names, and without orders to their terminal."""

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

_ORDERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line feed, other ends of lines, those that change the direction of
text, and halves of characters, such as bytes of a file's name that are no UTF-8."""
_BYTE = "\\udc"


def shown(text: str) -> str:
    r"""Return a text as a terminal or a page may show it: an order is escaped as `\x1b`."""
    return _ORDERS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    """Return a character as Python writes it; for a byte of a name, the byte."""
    return ascii(found[0])[1:-1].replace(_BYTE, "\\x")


class Terminal(Console):
    """A console that shows names as they are: no markup is read, unless that is asked for."""

    def __init__(self, *, markup: bool = False, **options: Any) -> None:
        """`options` are those of rich."""
        super().__init__(markup=markup, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """As rich does, so that the width of what is shown is counted."""
        return super().render_str(shown(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, with all text as a terminal may show it."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(shown(text), style)

"""Pictures of a run's page: its timeline, and the logs of partitions as trees of leader epochs.

The page has both as data, which one script draws (`templates/pictures.js`).
"""

from typing import Any

import msgspec
from markupsafe import Markup

from contract.program import escape_orders


def as_data(content: Any) -> Markup:
    """Data for the script of a page."""
    text = msgspec.json.encode(_printable(content)).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A script's content is no HTML: only what would end it is escaped.
    return Markup(text)  # noqa: S704


def _printable(content: Any) -> Any:
    """Data with all texts as a page may show them."""
    match content:
        case str():
            return escape_orders(content)
        case dict():
            return {key: _printable(value) for key, value in content.items()}
        case list() | tuple():
            return [_printable(value) for value in content]
    return content

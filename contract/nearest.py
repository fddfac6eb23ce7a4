"""Names that are unknown, and the known one that is probably meant."""

import difflib
from collections.abc import Iterable

_CUTOFF = 0.5


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a name; None if none is."""
    found = difflib.get_close_matches(name, sorted(map(str, known)), n=1, cutoff=_CUTOFF)
    return found[0] if found else None


def lacking(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that there is none of a name, and which one is most like it, else which there are."""
    there = list(map(str, known))
    if (meant := nearest(name, there)) is not None:
        return f"there is no {kind} {name}; the nearest is {meant}"
    return f"there is no {kind} {name}; there are: {', '.join(there) or 'none'}"

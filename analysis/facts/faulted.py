"""Which brokers faults held, and when these were too many."""

import re
from collections.abc import Sequence

_BROKERS = re.compile(r"\(brokers? ([\d, ]+)\)")


def brokers_of(target: str) -> frozenset[int]:
    """The brokers that a fault's target names, such as `all (brokers 1, 2, 3)`."""
    named = _BROKERS.search(target)
    return frozenset(map(int, named[1].split(", "))) if named else frozenset()


def without_majority(
    faults: Sequence[tuple[frozenset[int], int, int | None]], brokers: int
) -> list[tuple[int, int | None]]:
    """The times in which the brokers that no fault held were no majority.

    Args:
        faults: the brokers of each, and when it was injected and healed (None: never).
        brokers: how many there are.
    """
    moments = sorted(
        {moment for _, since, until in faults for moment in (since, until) if moment is not None}
    )
    spans: list[tuple[int, int | None]] = []
    for moment, following in zip(moments, [*moments, None][1:], strict=True):
        held = frozenset[int]().union(
            *(
                on
                for on, since, until in faults
                if since <= moment and (until is None or until > moment)
            )
        )
        if held and brokers and 2 * (brokers - len(held)) <= brokers:
            spans.append((moment, following))
    return spans

"""Covering arrays: few rows in which every allowed pair of values of two factors occurs."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations, product
from random import Random

Row = Mapping[str, Hashable]
Pair = tuple[tuple[str, Hashable], tuple[str, Hashable]]

_CANDIDATES = 8
"""Rows that are tried for each row that is taken."""


def covering(
    factors: Mapping[str, Sequence[Hashable]],
    is_allowed: Callable[[Row], bool],
    *,
    seed: int,
) -> list[dict[str, Hashable]]:
    """Return rows that have every pair of values that some allowed row has.

    Greedy: of several random rows, each made around a pair that is missing yet, the one is taken
    that adds most pairs. The same arguments always make the same rows.

    Args:
        factors: their values, by name.
        is_allowed: whether a part of a row may occur; of a part of an allowed row it is true, and
            each part for which it is true must be a part of some allowed row.
        seed: of all random choices.
    """
    random = Random(seed)  # noqa: S311 - nothing is secret
    missing = dict.fromkeys(
        ((one, first), (other, second))
        for one, other in combinations(factors, 2)
        for first, second in product(factors[one], factors[other])
        if is_allowed({one: first, other: second})
    )
    rows: list[dict[str, Hashable]] = []
    while missing:
        first = next(iter(missing))
        tried = [_around(first, factors, is_allowed, missing, random) for _ in range(_CANDIDATES)]
        best = max(tried, key=lambda row: sum(pair in missing for pair in pairs(row)))
        rows.append({name: best[name] for name in factors})
        for pair in pairs(rows[-1]):
            missing.pop(pair, None)
    return rows


def pairs(row: Row) -> Iterator[Pair]:
    """Return all pairs of a row's values, in the order of its factors."""
    yield from combinations(row.items(), 2)


def _around(
    pair: Pair,
    factors: Mapping[str, Sequence[Hashable]],
    is_allowed: Callable[[Row], bool],
    missing: Mapping[Pair, None],
    random: Random,
) -> dict[str, Hashable]:
    """Fill a row that has a pair, factor by factor, with the value that adds most pairs."""
    given = dict(pair)
    left = [name for name in factors if name not in given]
    for name in random.sample(left, len(left)):
        values = [value for value in factors[name] if is_allowed({**given, name: value})]
        random.shuffle(values)
        given[name] = max(
            values,
            key=lambda value: sum(one in missing for one in _with(given, name, value, factors)),
        )
    return {name: given[name] for name in factors}


def _with(given: Row, name: str, value: Hashable, factors: Mapping[str, object]) -> Iterator[Pair]:
    """Return the pairs that a value makes with those that a row has already."""
    order = list(factors)
    for other, known in given.items():
        one, two = sorted(((name, value), (other, known)), key=lambda item: order.index(item[0]))
        yield (one, two)

"""Exact tests on stories: permutations, step-down max-T, Holm, Wilson, and the power of it all.

Sources: Westfall and Young, Resampling-Based Multiple Testing (1993), algorithm 2.8 (step-down
max-T); Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979); Wilson, Probable
Inference, the Law of Succession, and Statistical Inference (1927).
"""

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from contract.randomness import generator

ALPHA = 0.05
POWER = 0.8
PERMUTATIONS_MAX = 20_000
_SEED = 28
"""Of the permutations that are drawn if there are more: the same data give the same result."""
_TIE = 1e-9
_STEPS = 100

Feature = Sequence[float | None]
"""A number of each story, those of side A first; None: it has none."""


@dataclass(frozen=True)
class Permutations:
    """Assignments of stories to side A: the indexes of its stories.

    Attributes:
        chosen: the assignments; those of a sample do not have the real one.
        is_exact: whether they are all, of which the real one is one.
    """

    chosen: list[tuple[int, ...]]
    is_exact: bool

    def p(self, at_least: int) -> float:
        """Return a p-value from the number of assignments that are as extreme as the real one."""
        if self.is_exact:
            return at_least / len(self.chosen)
        return (at_least + 1) / (len(self.chosen) + 1)


def permutations(a: int, b: int, *, maximum: int = PERMUTATIONS_MAX) -> Permutations:
    """Return the assignments of a + b stories of which side A has a.

    With equal sides an assignment and its mirror image have the same statistic: one of them is
    counted.
    """
    stories = range(a + b)
    is_mirrored = a == b and a > 0
    count = math.comb(a + b - 1, a - 1) if is_mirrored else math.comb(a + b, a)
    if count <= maximum:
        if is_mirrored:
            rest = itertools.combinations(stories[1:], a - 1)
            return Permutations([(0, *others) for others in rest], is_exact=True)
        return Permutations(list(itertools.combinations(stories, a)), is_exact=True)
    drawn = generator(_SEED)
    sample = [tuple(sorted(drawn.sample(stories, a))) for _ in range(maximum)]
    return Permutations(sample, is_exact=False)


def statistic(feature: Feature) -> Callable[[Sequence[int]], float]:
    """Return a function from an assignment to |difference of means| / its standard error.

    The error is that of the whole sample, so that it is the same in every assignment. Where a side
    has no value, it is 0.
    """
    present = [value for value in feature if value is not None]
    mean = sum(present) / len(present) if present else 0.0
    centred = [0.0 if value is None else value - mean for value in feature]
    counts = [0 if value is None else 1 for value in feature]
    deviation = math.sqrt(sum(value * value for value in centred) / len(present)) if present else 0

    def of(side_a: Sequence[int]) -> float:
        number_a = sum(counts[story] for story in side_a)
        number_b = len(present) - number_a
        if not number_a or not number_b or deviation < _TIE:
            return 0.0
        total_a = sum(centred[story] for story in side_a)
        difference = total_a / number_a + total_a / number_b
        return abs(difference) / (deviation * math.sqrt(1 / number_a + 1 / number_b))

    return of


@dataclass(frozen=True)
class Tested:
    """The test of one cell: see `contract.comparisons.Cell`.

    Attributes:
        strongest: the index of its feature that differs most.
    """

    strongest: int
    p: float
    p_adjusted: float
    p_holm: float


@dataclass(frozen=True)
class Family:
    """The tests of all cells, and the largest statistic of any cell in each permutation."""

    tested: list[Tested]
    maxima: list[float]
    permutations: Permutations


def judge_cells(cells: Sequence[Sequence[Feature]], a: int, b: int) -> Family:
    """Test cells of a and b stories against each other, with a correction for their number.

    A cell's statistic is the largest of its features'. All cells are permuted together, so that
    cells that vary together count as what they are, nearly one.
    """
    drawn = permutations(a, b)
    real = tuple(range(a))
    functions = [[statistic(feature) for feature in cell] for cell in cells]
    observed = [[function(real) for function in cell] for cell in functions]
    tops = [max(of_features, default=0.0) for of_features in observed]
    order = sorted(range(len(cells)), key=lambda cell: -tops[cell])
    alone, joint = [0] * len(cells), [0] * len(cells)
    maxima: list[float] = []
    for assignment in drawn.chosen:
        largest = 0.0
        for cell in reversed(order):
            value = max((function(assignment) for function in functions[cell]), default=0.0)
            largest = max(largest, value)
            alone[cell] += value >= tops[cell] - _TIE
            joint[cell] += largest >= tops[cell] - _TIE
        maxima.append(largest)
    adjusted = _monotone([drawn.p(joint[cell]) for cell in order], order)
    p = [drawn.p(count) for count in alone]
    holm = holm_adjusted(p)
    return Family(
        tested=[
            Tested(
                strongest=_first(observed[cell], tops[cell]),
                p=p[cell],
                p_adjusted=adjusted[cell],
                p_holm=holm[cell],
            )
            for cell in range(len(cells))
        ],
        maxima=maxima,
        permutations=drawn,
    )


def holm_adjusted(p: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values, in the same order."""
    order = sorted(range(len(p)), key=lambda cell: p[cell])
    steps = [min(1.0, (len(p) - place) * p[cell]) for place, cell in enumerate(order)]
    found = _monotone(steps, order)
    return [found[cell] for cell in range(len(p))]


def smallest_p(a: int, b: int) -> float:
    """Return the smallest p-value that a complete separation of the sides can have."""
    return (2 if a == b else 1) / math.comb(a + b, a)


def detectable(a: int, b: int, family: Family, bases: Iterable[float]) -> float | None:
    """Return the smallest difference of shares that would be found with probability 0.8.

    An event occurs in a story of one side with a base share, on the other with that share and the
    difference. It is found if one more cell with these counts would differ, beside the cells of
    this family: the probabilities of both are added, which never promises too much.

    Args:
        a: stories of side A.
        b: stories of side B.
        family: the tests.
        bases: shares for all of which it must be found.

    Returns:
        The difference, in steps of 0.01; None if even 1 would not be found.
    """
    found = _found(a, b, family)
    shares = list(bases)
    for step in range(1, _STEPS + 1):
        difference = step / _STEPS
        fitting = [share for share in shares if share + difference <= 1 + _TIE]
        powers = [_power(a, b, share, share + difference, found) for share in fitting]
        if powers and min(powers) >= POWER:
            return difference
    return None


def _found(a: int, b: int, family: Family) -> set[tuple[int, int]]:
    """Return the numbers of stories with an event, of both sides, that would be a difference."""
    maxima = sorted(family.maxima)
    found = set()
    for in_a, in_b in itertools.product(range(a + 1), range(b + 1)):
        total, here = in_a + in_b, _z_of_events(in_a, in_b, a, b) - _TIE
        possible = range(max(0, total - b), min(a, total) + 1)
        extreme = [k for k in possible if _z_of_events(k, total - k, a, b) >= here]
        ways = sum(math.comb(total, k) * math.comb(a + b - total, a - k) for k in extreme)
        others = 1 - bisect.bisect_left(maxima, here) / len(maxima)
        if ways / math.comb(a + b, a) + others <= ALPHA:
            found.add((in_a, in_b))
    return found


@cache
def _z_of_events(in_a: int, in_b: int, a: int, b: int) -> float:
    """Return `statistic` of an event in these numbers of stories."""
    share = (in_a + in_b) / (a + b)
    error = math.sqrt(share * (1 - share) * (1 / a + 1 / b))
    return abs(in_a / a - in_b / b) / error if error > _TIE else 0.0


def _power(a: int, b: int, low: float, high: float, found: set[tuple[int, int]]) -> float:
    """Return the smaller probability, of both ways in which the sides have the two shares."""
    both = (_binomial(a, low), _binomial(b, high)), (_binomial(a, high), _binomial(b, low))
    return min(sum(of_a[in_a] * of_b[in_b] for in_a, in_b in found) for of_a, of_b in both)


def _binomial(of: int, share: float) -> list[float]:
    share = min(1.0, share)
    return [math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(of + 1)]


def _first(values: Sequence[float], top: float) -> int:
    """Return the index of the first of the values that are at the top."""
    return next((index for index, value in enumerate(values) if value >= top - _TIE), 0)


def _monotone(steps: Sequence[float], order: Sequence[int]) -> dict[int, float]:
    """Return p-values by cell, none smaller than that of a cell before it in the order."""
    running = itertools.accumulate(steps, max)
    return dict(zip(order, running, strict=True))

"""Exact tests on stories: step-down max-T over permutations, Holm, and the power of it all.

Sources: Westfall and Young, Resampling-Based Multiple Testing (1993), algorithm 2.8 (step-down
max-T); Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979).
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

ALPHA = 0.05
POWER = 0.8
PERMUTATIONS_MAX = 20_000
_SEED = 28
"""Of the permutations that are drawn if there are more: the same data give the same result."""
_BATCH = 1_000
_TIE = 1e-9
_STEPS = 100
_STORIES_MIN = 2
"""Of a side; one story shows no difference."""

Feature = Sequence[float | None]
"""A number of each story, those of side A first; None: it has none."""


@dataclass(frozen=True)
class Tested:
    """The test of one cell: see `extras.compare.comparison.Cell`.

    Attributes:
        strongest: the index of its feature that differs most.
    """

    strongest: int
    p: float
    p_adjusted: float
    p_holm: float


@dataclass(frozen=True)
class Family:
    """The tests of all cells.

    Attributes:
        tested: the test of each cell.
        maxima: the largest statistic of any cell in each permutation, sorted.
        permutations: how many assignments of the stories to the sides were counted.
        is_exact: whether they are all, of which the real one is one.
    """

    tested: list[Tested]
    maxima: np.ndarray
    permutations: int
    is_exact: bool


def judge_cells(cells: Sequence[Sequence[Feature]], a: int, b: int) -> Family:
    """Test cells of a and b stories against each other, with a correction for their number.

    A cell's statistic is the largest of its features'. All cells are permuted together, so that
    cells that vary together count as what they are, nearly one.
    """
    assignments = math.comb(a + b, a)
    is_exact = assignments <= PERMUTATIONS_MAX
    count = min(assignments, PERMUTATIONS_MAX)
    observed, permuted = _permute([feature for cell in cells for feature in cell], a, count)
    ends = list(itertools.accumulate(map(len, cells), initial=0))
    features = [slice(first, last) for first, last in itertools.pairwise(ends)]
    tops = [observed[of].max(initial=0.0) for of in features]
    of_cells = [permuted[:, of].max(axis=1, initial=0.0) for of in features]

    def p(of_permutations: np.ndarray, top: float) -> float:
        at_least = int(np.count_nonzero(of_permutations >= top - _TIE))
        return at_least / count if is_exact else (at_least + 1) / (count + 1)

    order = sorted(range(len(cells)), key=lambda cell: -tops[cell])
    joint: dict[int, float] = {}
    maxima = np.zeros(count)
    for cell in reversed(order):
        maxima = np.maximum(maxima, of_cells[cell])
        joint[cell] = p(maxima, tops[cell])
    adjusted = _monotone([joint[cell] for cell in order], order)
    alone = [p(values, top) for values, top in zip(of_cells, tops, strict=True)]
    holm = holm_adjusted(alone)
    return Family(
        tested=[
            Tested(
                strongest=_first(observed[of], tops[cell]),
                p=alone[cell],
                p_adjusted=adjusted[cell],
                p_holm=holm[cell],
            )
            for cell, of in enumerate(features)
        ],
        maxima=np.sort(maxima),
        permutations=count,
        is_exact=is_exact,
    )


def _permute(features: Sequence[Feature], a: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the statistic of each feature, and in each permutation; those are of all features."""
    values = np.array([_standardize(feature) for feature in features], dtype=float)
    if not features or not _STORIES_MIN <= a <= values.shape[1] - _STORIES_MIN:
        return np.zeros(len(features)), np.zeros((count, len(features)))
    result = stats.permutation_test(
        (values[:, :a], values[:, a:]),
        statistic,
        vectorized=True,
        n_resamples=PERMUTATIONS_MAX,
        batch=_BATCH,
        axis=1,
        rng=_SEED,
    )
    return result.statistic, result.null_distribution


def _standardize(feature: Feature) -> np.ndarray:
    """A feature with mean 0 and deviation 1; no value (NaN) where all are the same."""
    values = np.array(feature, dtype=float)
    present = values[~np.isnan(values)]
    deviation = present.std() if present.size else 0.0
    if deviation < _TIE:
        return np.full(values.shape, np.nan)
    standardized: np.ndarray = (values - present.mean()) / deviation
    return standardized


def statistic(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """Return |difference of means| / its standard error, for values of deviation 1.

    The error is that of the whole sample, so that it is the same in every assignment. Where a side
    has no value, it is 0.
    """
    of_a, of_b = (np.count_nonzero(~np.isnan(side), axis=axis) for side in (a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.nansum(a, axis=axis) / of_a - np.nansum(b, axis=axis) / of_b
        found = np.abs(difference) / np.sqrt(1 / of_a + 1 / of_b)
    return np.where((of_a > 0) & (of_b > 0), found, 0.0)


def holm_adjusted(p: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values, in the same order."""
    order = sorted(range(len(p)), key=lambda cell: p[cell])
    steps = [min(1.0, (len(p) - place) * p[cell]) for place, cell in enumerate(order)]
    found = _monotone(steps, order)
    return [found[cell] for cell in range(len(p))]


def smallest_p(a: int, b: int) -> float:
    """Return the smallest p-value that a complete separation of the sides can have."""
    if min(a, b) < _STORIES_MIN:
        return 1.0
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
        powers = [_power(share, min(1.0, share + difference), found) for share in fitting]
        if powers and min(powers) >= POWER:
            return difference
    return None


def _found(a: int, b: int, family: Family) -> np.ndarray:
    """Return whether numbers of stories with an event, of A and of B, would be a difference."""
    found = np.zeros((a + 1, b + 1), dtype=bool)
    for total in range(1, a + b):
        in_a = np.arange(max(0, total - b), min(a, total) + 1)
        share = total / (a + b)
        error = math.sqrt(share * (1 - share) * (1 / a + 1 / b))
        z = np.abs(in_a / a - (total - in_a) / b) / error
        chances = stats.hypergeom.pmf(in_a, a + b, total, a)
        for k, here in zip(in_a, z - _TIE, strict=True):
            others = 1 - np.searchsorted(family.maxima, here) / len(family.maxima)
            found[k, total - k] = chances[z >= here].sum() + others <= ALPHA
    return found


def _power(low: float, high: float, found: np.ndarray) -> float:
    """Return the smaller probability, of both ways in which the sides have the two shares."""
    in_a, in_b = (np.arange(size) for size in found.shape)
    return min(
        float(stats.binom.pmf(in_a, in_a[-1], of_a) @ found @ stats.binom.pmf(in_b, in_b[-1], of_b))
        for of_a, of_b in ((low, high), (high, low))
    )


def _first(values: np.ndarray, top: float) -> int:
    """Return the index of the first of the values that are at the top."""
    return int(np.argmax(values >= top - _TIE)) if values.size else 0


def _monotone(steps: Sequence[float], order: Sequence[int]) -> dict[int, float]:
    """Return p-values by cell, none smaller than that of a cell before it in the order."""
    running = itertools.accumulate(steps, max)
    return dict(zip(order, running, strict=True))

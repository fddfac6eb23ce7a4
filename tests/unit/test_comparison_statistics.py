"""Exact tests on distributions written by hand, and how often they are wrong."""

import math
import random
from collections.abc import Callable

import pytest

from analysis.comparison.statistics import (
    ALPHA,
    Feature,
    detectable,
    holm_adjusted,
    judge_cells,
    permutations,
    smallest_p,
    statistic,
    wilson,
)

SIMULATED = 400
WRONG_MAX = math.ceil(SIMULATED * ALPHA + 3 * math.sqrt(SIMULATED * ALPHA * (1 - ALPHA)))
"""Of comparisons of a build with itself: the expected number, and three standard deviations."""


def p_of(feature: Feature, a: int, b: int) -> float:
    return judge_cells([[feature]], a, b).tested[0].p


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0], 2 / 252),
        ([1, 1, 1, 1, 0], [0, 0, 0, 0, 0], 12 / 252),
        ([1, 1, 1, 0, 0], [0, 0, 0, 0, 0], 42 / 252),
        ([1, 0], [0, 1], 1.0),
        ([1, 1, 1], [0, 0, 0, 0], 1 / 35),
        ([3, 5, 4], [9, 8, 7], 2 / 20),
    ],
)
def test_p_is_fishers_where_values_are_events(a: list[float], b: list[float], p: float) -> None:
    assert p_of([*a, *b], len(a), len(b)) == pytest.approx(p)


def test_both_directions_count() -> None:
    assert p_of([0, 0, 0, 0, 1, 1, 1, 1], 4, 4) == p_of([1, 1, 1, 1, 0, 0, 0, 0], 4, 4)


def test_stories_without_a_value_are_left_out() -> None:
    assert statistic([1.0, None, 0.0, None])([0, 1]) == statistic([1.0, 0.0])([0])
    assert statistic([1.0, None, None, None])([0, 1]) == 0
    assert statistic([None, None, 1.0, 0.0])([0, 1]) == 0


def test_a_value_that_is_everywhere_the_same_differs_nowhere() -> None:
    (tested,) = judge_cells([[[50.0] * 10]], 5, 5).tested
    assert (tested.p, tested.p_adjusted, tested.p_holm) == (1, 1, 1)


def test_permutations_are_all_or_a_sample_that_is_the_same_each_time() -> None:
    assert len(permutations(5, 5).chosen) == 126
    assert len(permutations(4, 5).chosen) == 126
    drawn = permutations(12, 12)
    assert not drawn.is_exact
    assert drawn.chosen == permutations(12, 12).chosen
    assert drawn.p(0) > 0


def test_cells_that_are_the_same_count_once_and_holm_counts_each() -> None:
    split: Feature = [1.0] * 5 + [0.0] * 5
    family = judge_cells([[split]] * 20, 5, 5)
    assert {tested.p_adjusted for tested in family.tested} == {1 / 126}
    assert all(tested.p_holm > ALPHA for tested in family.tested)


def test_noise_beside_a_clean_split_does_not_hide_it() -> None:
    noise = random.Random(3)
    cells: list[list[Feature]] = [[[1.0] * 5 + [0.0] * 5]]
    cells += [[[noise.random() for _ in range(10)]] for _ in range(30)]
    tested = judge_cells(cells, 5, 5).tested
    assert tested[0].p_adjusted <= ALPHA
    assert [one.p_adjusted <= ALPHA for one in tested].count(True) == 1


def test_corrected_values_never_fall_below_the_plain_ones_or_out_of_order() -> None:
    noise = random.Random(4)
    for _ in range(20):
        cells: list[list[Feature]] = [
            [[noise.choice([0, 0, 50, 100]) for _ in range(8)]] for _ in range(6)
        ]
        for tested in judge_cells(cells, 4, 4).tested:
            assert tested.p <= tested.p_adjusted + 1e-12
            assert tested.p <= tested.p_holm + 1e-12


def test_holm_is_the_textbooks() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([0.5, 0.9]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 5, 0, 0.4345), (5, 5, 0.5655, 1), (5, 10, 0.2366, 0.7634), (0, 0, 0, 1)],
)
def test_wilsons_interval(count: int, of: int, low: float, high: float) -> None:
    assert wilson(count, of) == pytest.approx((low, high), abs=1e-4)


def test_fewer_than_four_stories_can_not_differ() -> None:
    assert smallest_p(3, 3) > ALPHA
    assert smallest_p(4, 4) <= ALPHA


def constant(_: random.Random) -> float:
    return 0.0


def rare(draw: random.Random) -> float:
    return float(draw.random() < 0.2)


def even(draw: random.Random) -> float:
    return float(draw.random() < 0.5)


def counts(draw: random.Random) -> float:
    return float(draw.choice([0, 0, 0, 50, 100]))


def times(draw: random.Random) -> float:
    return draw.expovariate(1)


def sometimes_missing(draw: random.Random) -> float | None:
    return None if draw.random() < 0.3 else draw.choice([0.0, 1.0, 7.0])


@pytest.mark.parametrize(
    "kinds",
    [
        [rare],
        [even],
        [counts] * 5,
        [times] * 8,
        [constant, rare, even, counts, times, sometimes_missing],
    ],
    ids=lambda kinds: "+".join(sorted({kind.__name__ for kind in kinds})),
)
@pytest.mark.parametrize("stories", [4, 5])
def test_a_build_compared_with_itself_differs_in_at_most_one_of_twenty(
    kinds: list[Callable[[random.Random], float | None]], stories: int
) -> None:
    draw, wrong = random.Random(stories), 0
    for _ in range(SIMULATED):
        cells: list[list[Feature]] = [[[kind(draw) for _ in range(2 * stories)]] for kind in kinds]
        tested = judge_cells(cells, stories, stories).tested
        wrong += any(one.p_adjusted <= ALPHA for one in tested)
    assert wrong <= WRONG_MAX


def test_cells_of_one_election_count_as_one() -> None:
    """Eight groups that share the fate of their story are no eight samples of it."""
    draw, wrong = random.Random(8), 0
    for _ in range(SIMULATED):
        fates = [float(draw.random() < 0.5) for _ in range(10)]
        wrong += any(one.p_adjusted <= ALPHA for one in judge_cells([[fates]] * 8, 5, 5).tested)
    assert wrong <= WRONG_MAX


@pytest.mark.parametrize("stories", [5, 8])
def test_the_detectable_difference_is_found_as_often_as_is_said(stories: int) -> None:
    nothing = judge_cells([[[0.0] * 2 * stories]], stories, stories)
    difference = detectable(stories, stories, nothing, [0.0])
    assert difference is not None
    draw, found = random.Random(5), 0
    for _ in range(SIMULATED):
        events = [0.0] * stories + [float(draw.random() < difference) for _ in range(stories)]
        found += judge_cells([[events]], stories, stories).tested[0].p_adjusted <= ALPHA
    assert found >= SIMULATED * 0.8 - 3 * math.sqrt(SIMULATED * 0.16)


def test_more_stories_find_smaller_differences_and_three_find_none() -> None:
    found = {
        stories: detectable(
            stories, stories, judge_cells([[[0.0] * 2 * stories]], stories, stories), [0.0]
        )
        for stories in (3, 4, 6, 8)
    }
    assert found[3] is None
    sizes = [found[stories] for stories in (4, 6, 8)]
    assert sizes == sorted(sizes, key=lambda size: -(size or 0))


def test_a_difference_at_any_share_is_harder_to_find_than_from_none() -> None:
    family = judge_cells([[[0.0] * 16]], 8, 8)
    from_none = detectable(8, 8, family, [0.0])
    from_any = detectable(8, 8, family, [0.0, 0.2, 0.4])
    assert from_none is not None
    assert from_any is not None
    assert from_any >= from_none

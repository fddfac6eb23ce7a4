"""The rules by which counts of a history are a change, and how often they are wrong.

Each is an exact test under the hypothesis that nothing changed: the runs of a history could as well
have come in any other order. A p-value is then the share of these orders that look as changed as
the real one, or more so. Of all tests of a night one or more is wrong with a probability of at most
`ALPHA`. Sources: Fisher, The Design of Experiments (1935), for such tests; Tarone, A Modified
Bonferroni Method for Discrete Data (1990), by which tests that could not find anything, such as one
of a scenario that never failed, cost the others nothing; Wilcoxon, Individual Comparisons by
Ranking Methods (1945).
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

ALPHA = 0.05
RUNS_MAX = 60
"""Of a history; older ones say little of now."""
LASTS = (5, 10)
"""Numbers of last runs that a trend compares with those before."""
MORE_MAX = 30
"""How many further runs are considered to decide."""
_TIE = 1e-9


@dataclass(frozen=True)
class Test:
    """A p-value, and the smallest one that these counts could have led to in any order."""

    p: float
    smallest: float


def rose(seen: Sequence[bool]) -> Test:
    """Test whether an event is more frequent in the last runs than in those before.

    For each number of last runs the events among them have a hypergeometric tail; the statistic is
    the smallest of these. It thus needs no number of runs since the change. Its distribution is
    counted exactly, by the orders whose tails all stay above it.

    Args:
        seen: whether the event occurred, by run, the oldest first; the last RUNS_MAX count.
    """
    counted = tuple(seen[-RUNS_MAX:])
    events, of = sum(counted), len(counted)
    if events in (0, of):
        return Test(1.0, 1.0)
    latest = (*(False,) * (of - events), *(True,) * events)
    return Test(*(_p_of_tail(of, events, _least_tail(order)) for order in (counted, latest)))


def _least_tail(seen: Sequence[bool]) -> float:
    tails = _tails(len(seen), sum(seen))
    among = itertools.accumulate(reversed(seen))
    return min(tails[last][events] for last, events in enumerate(among, start=1))


@cache
def _tails(of: int, events: int) -> list[list[float]]:
    """Return the probability of this number of events or more, by number of last runs."""
    from scipy import stats  # noqa: PLC0415 - slow to load, and only nights need it

    last, among = np.ogrid[: of + 1, : events + 1]
    tails: list[list[float]] = stats.hypergeom.sf(among - 1, of, events, last).tolist()
    return tails


@lru_cache(maxsize=100_000)
def _p_of_tail(of: int, events: int, least: float) -> float:
    """Return the share of orders in which some number of last runs has a tail as small."""
    tails, ways = _tails(of, events), {0: 1}
    for last in range(1, of + 1):
        after: Counter[int] = Counter()
        for among, number in ways.items():
            for count in (among, among + 1):
                fits = count <= events and events - count <= of - last
                if fits and tails[last][count] > least + _TIE:
                    after[count] += number
        ways = dict(after)
    orders = math.comb(of, events)
    return (orders - sum(ways.values())) / orders


def ended(seen: Sequence[bool]) -> Test:
    """Test whether a finding has ended: it is in none of the last runs.

    The history begins with the first run that had it, which therefore does not count. One that was
    seen once can't have ended by this test: nothing says how often it should have come back.

    Args:
        seen: as of `rose`.
    """
    counted = list(seen[-RUNS_MAX:])
    first = counted.index(True) if True in counted else len(counted)
    after = counted[first + 1 :]
    events, of = sum(after), len(after)
    since = of if not events else after[::-1].index(True)
    ways = math.comb(of, events)
    return Test(math.comb(of - since, events) / ways, 1 / ways)


@dataclass(frozen=True)
class Moved:
    """The test of a trend, and how many last values differ most from those before."""

    test: Test
    last: int


def moved(values: Sequence[float]) -> Moved:
    """Test whether the last values are larger or smaller than those before, by their ranks.

    Values that are equal share their rank. The sums of ranks of all choices of that number of
    values are counted exactly. The p-value is the smallest of both sides and each number of LASTS,
    multiplied by the number of these.

    Args:
        values: by run, the oldest first; the last RUNS_MAX count.
    """
    counted = values[-RUNS_MAX:]
    found = [(_of_last(counted, last), last) for last in LASTS if last < len(counted)]
    if not found or len(set(counted)) == 1:
        return Moved(Test(1.0, 1.0), LASTS[0])
    best, last = min(found, key=lambda pair: pair[0].p)
    smallest = min(test.smallest for test, _ in found)
    times = 2 * len(found)
    return Moved(Test(min(1.0, times * best.p), min(1.0, times * smallest)), last)


def _of_last(values: Sequence[float], last: int) -> Test:
    from scipy import stats  # noqa: PLC0415 - slow to load, and only nights need it

    # Twice the rank: values that are equal share theirs.
    ranks = [int(rank) for rank in 2 * stats.rankdata(values)]
    sums = _sums_of_ranks(tuple(sorted(ranks)), last)
    here, total = sum(ranks[-last:]), math.comb(len(values), last)
    lower = sum(ways for of, ways in sums.items() if of <= here)
    upper = sum(ways for of, ways in sums.items() if of >= here)
    return Test(min(lower, upper) / total, min(sums[min(sums)], sums[max(sums)]) / total)


@lru_cache(maxsize=10_000)
def _sums_of_ranks(ranks: tuple[int, ...], last: int) -> dict[int, int]:
    """How many choices of this number of ranks have each sum; below 2**37 with RUNS_MAX of them."""
    chosen = np.zeros((last + 1, sum(ranks[-last:]) + 1), dtype=np.int64)
    chosen[0, 0] = 1
    for rank in ranks:
        chosen[1:, rank:] += chosen[:-1, :-rank].copy()
    return {int(total): int(chosen[last, total]) for total in np.flatnonzero(chosen[last])}


def bound(tests: Sequence[Test]) -> float:
    """The p-value up to which a test of a night's counts as a change.

    ALPHA is divided by the number of tests, of those only that could reach the quotient (Tarone).
    """
    for divisor in range(1, len(tests) + 1):
        if sum(test.smallest <= ALPHA / divisor for test in tests) <= divisor:
            return ALPHA / divisor
    return ALPHA / max(1, len(tests))


def more_runs(seen: Sequence[bool], *, at_most: float) -> int | None:
    """How many further runs, all with the event, would show that it rose.

    Args:
        seen: as of `rose`.
        at_most: the bound of the night.

    Returns:
        Their number; None if MORE_MAX are not enough.
    """
    return _first(lambda more: rose([*seen, *(True,) * more]).p <= at_most)


def runs_to_end(seen: Sequence[bool], *, at_most: float) -> int | None:
    """How many further runs, all without a finding, would show that it has ended."""
    return _first(lambda more: ended([*seen, *(False,) * more]).p <= at_most)


def _first(decides: Callable[[int], bool]) -> int | None:
    return next((more for more in range(1, MORE_MAX + 1) if decides(more)), None)

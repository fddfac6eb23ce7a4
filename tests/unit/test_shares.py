"""The exact upper bound of a share."""

import pytest

from analysis.report.words import share, upper_bound


@pytest.mark.parametrize("of", [1, 10, 1000, 1_000_000])
def test_without_an_event_it_is_known_in_closed_form(of: int) -> None:
    assert upper_bound(0, of) == pytest.approx(1 - 0.05 ** (1 / of))


@pytest.mark.parametrize(
    ("count", "of", "bound"), [(1, 10, 0.3942), (2, 20, 0.2826), (5, 10, 0.7776), (9, 10, 0.9949)]
)
def test_with_events_it_is_that_of_clopper_and_pearson(count: int, of: int, bound: float) -> None:
    assert upper_bound(count, of) == pytest.approx(bound, abs=1e-4)


def test_it_grows_with_the_events_and_shrinks_with_the_cases() -> None:
    assert upper_bound(0, 100) < upper_bound(1, 100) < upper_bound(2, 100)
    assert upper_bound(1, 1000) < upper_bound(1, 100)
    assert upper_bound(1, 100_000) > 1 / 100_000


def test_what_was_always_seen_or_never_asked_has_no_bound() -> None:
    assert upper_bound(7, 7) == upper_bound(0, 0) == 1.0


def test_it_is_said_with_its_condition() -> None:
    assert share(0, 1000) == "at most 0.3 %, with 95% confidence if they were independent"
    assert share(3, 12) == "at most 53 %, with 95% confidence if they were independent"
    assert share(6, 6) == "at most 100 %, with 95% confidence if they were independent"

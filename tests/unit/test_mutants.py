"""The report on changes to the checks' code."""

import pytest

pytest.importorskip("mutmut")

from bench.mutants import Judged, is_of_case_alone, report


@pytest.mark.parametrize(
    ("difference", "is_it"),
    [
        ('-    kind="stale",\n+    kind="STALE",', True),
        ('-    kind="stale",\n+    kind="XXstaleXX",', False),
        ('-    kind="stale",', False),
        ("-    a <= b\n+    a < b", False),
    ],
)
def test_capital_letters_make_no_change(difference: str, *, is_it: bool) -> None:
    assert is_of_case_alone(difference) is is_it


def test_the_report_counts_changes_and_shows_those_that_no_test_noticed() -> None:
    told = report(
        {"epochs": Judged(4, {"x_stale__mutmut_3": "-    a\n+    b"}), "resets": Judged(2)}
    )
    assert "| epochs | 4 | 3 | 0.75 |" in told
    assert "| resets | 2 | 2 | 1.00 |" in told
    assert "`epochs.stale`:\n\n```diff\n-    a\n+    b\n```" in told

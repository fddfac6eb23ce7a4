"""Sources that contradict each other leave a run undecided, and accuse nobody."""

import pytest
from conftest import TraceMaker
from histories import HEALTHY, WENT_BACK, result
from micro import changed, polled, reset_told

from harness.contract.checks import Check
from harness.contract.verdicts import CheckVerdict

pytestmark = pytest.mark.spark

OPENED = [changed("opened", at=150), changed("assigned", at=160, position=0)]


def test_positions_that_deliveries_confirm(make_trace: TraceMaker) -> None:
    for rows in (HEALTHY, WENT_BACK):
        found = result(make_trace, Check.HISTORY_CONSISTENT, rows)
        assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 2)


@pytest.mark.parametrize(
    ("assigned", "caught_up", "kinds"),
    [
        (0, 4, []),
        (0, 3, ["position behind"]),
        (0, 5, ["beyond the log"]),
        (2, 4, ["position ahead"]),
        (9, 4, ["beyond the log"]),
        # It was asked after the poll that brought 0 to 3.
        (4, 4, []),
    ],
)
def test_a_position_that_deliveries_contradict(
    make_trace: TraceMaker, assigned: int, caught_up: int, kinds: list[str]
) -> None:
    events = [
        changed("opened", at=150),
        changed("assigned", at=160, position=assigned),
        changed("caught_up", at=300, position=caught_up),
    ]
    rows = {**HEALTHY, "polls": polled(0, 1, 2, 3), "group_events": events, "resets": []}
    found = result(make_trace, Check.HISTORY_CONSISTENT, rows)
    assert sorted(one.kind for one in found.examples) == kinds
    assert {str(one.verdict) for one in found.examples} <= {"undecided"}


def test_a_reset_explains_a_position(make_trace: TraceMaker) -> None:
    """It went back from 4 to 2 after it had been given 3, and then to 0."""
    events = [*OPENED, changed("caught_up", at=300_000, position=2)]
    polls = [*polled(0, 1, 2, 3), *polled(0, 1, at=600_000)]
    resets = [reset_told("out_of_range", 4, 0, 2, life=1, at=250_000)]
    resets.append(reset_told("out_of_range", 2, 0, 0, life=1, at=500_000))
    rows = {**HEALTHY, "polls": polls, "group_events": events, "resets": resets}
    assert result(make_trace, Check.HISTORY_CONSISTENT, rows).verdict is CheckVerdict.HOLDS
    found = result(make_trace, Check.HISTORY_CONSISTENT, {**rows, "resets": []})
    assert found.verdict is CheckVerdict.UNDECIDED


def test_deliveries_of_a_partition_that_the_member_reports_no_assignment_of(
    make_trace: TraceMaker,
) -> None:
    other = [{**one, "partition": 1} for one in OPENED]
    rows = {**HEALTHY, "polls": polled(0, 1, 2, 3), "resets": []}
    found = result(make_trace, Check.HISTORY_CONSISTENT, {**rows, "group_events": other})
    assert [one.kind for one in found.examples] == ["not assigned"]
    assert {str(one.verdict) for one in found.examples} == {"undecided"}
    found = result(make_trace, Check.HISTORY_CONSISTENT, {**rows, "group_events": other[:1]})
    assert found.findings == 0

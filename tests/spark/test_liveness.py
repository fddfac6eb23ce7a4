"""Who did not come on, in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import HEALTHY, result
from micro import changed

from harness.contract.checks import Check
from harness.contract.verdicts import CheckVerdict

pytestmark = pytest.mark.spark

_FAULT = {"fault": "cut", "target": "x", "landed": True, "evidence": "{}"}


def test_who_came_to_the_end_did_not_stall(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.STALLED, {**HEALTHY, "faults": []})
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 2)


@pytest.mark.parametrize(
    ("held", "verdict", "kind"),
    [
        ({"started_micros": 600, "healed_micros": None}, "permitted", "while a fault held"),
        ({"started_micros": 600, "healed_micros": 701}, "permitted", "while a fault held"),
        ({"started_micros": 600, "healed_micros": 699}, "violated", "no fault"),
        ({"started_micros": 701, "healed_micros": None}, "violated", "no fault"),
    ],
)
def test_a_stall_is_permitted_only_while_a_fault_holds(
    make_trace: TraceMaker, held: dict[str, Any], verdict: str, kind: str
) -> None:
    stall = changed("stalled", at=700, life=2, position=3)
    faults = [{**_FAULT, **held}, {**_FAULT, "started_micros": 1, "healed_micros": 2}]
    rows = {**HEALTHY, "group_events": [*HEALTHY["group_events"], stall], "faults": faults}
    found = result(make_trace, Check.STALLED, rows)
    (one,) = found.examples
    assert (found.verdict, one.kind, one.group) == (verdict, kind, "g")
    assert one.cause == "came to 3, the log ends at 4"


@pytest.mark.parametrize(
    ("partition", "cause"),
    [
        ({}, "had no position to read from"),
        ({"topic": "", "partition": -1}, "was assigned no partition"),
    ],
)
def test_a_stall_tells_what_was_missing(
    make_trace: TraceMaker, partition: dict[str, Any], cause: str
) -> None:
    rows = {**HEALTHY, "group_events": [{**changed("stalled", at=700), **partition}]}
    found = result(make_trace, Check.STALLED, {**rows, "faults": []})
    assert [one.cause for one in found.examples] == [cause]


def test_who_was_never_told_to_read_to_the_end_can_not_stall(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "group_events": [changed("opened", at=150)]}
    assert result(make_trace, Check.STALLED, rows).verdict is CheckVerdict.NOT_EVALUABLE

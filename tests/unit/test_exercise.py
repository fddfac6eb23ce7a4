"""A check that evaluates much may have had no case in which it could have failed."""

from conftest import TraceMaker
from histories import HEALTHY, WHOLE_HANDED_ON
from judging import judge
from micro import registered

from contract.terms import Check

_CHECKS = (
    Check.LOST_RECORD,
    Check.DOUBLE_OWNERSHIP,
    Check.FENCED_IN_ISR,
    Check.UNJUSTIFIED_RESET,
    Check.PHANTOM_RECORD,
)


def test_what_could_not_have_failed_is_not_exercised(make_trace: TraceMaker) -> None:
    calm = judge(make_trace(HEALTHY, checks=_CHECKS)).checks
    assert {name: result.exercised for name, result in calm.items()} == {
        "lost_record": 0,
        "double_ownership": 0,
        "fenced_in_isr": 0,
        "unjustified_reset": 0,
        "phantom_record": 8,
    }
    assert calm[Check.LOST_RECORD].evaluated == 4
    fenced = [*WHOLE_HANDED_ON["broker_states"], registered(fenced=True, at=9_999, broker=2)]
    rows = {**WHOLE_HANDED_ON, "broker_states": fenced}
    reported = judge(make_trace(rows, checks=_CHECKS)).checks
    assert {name: result.exercised for name, result in reported.items()} == {
        "lost_record": 1,
        "double_ownership": 1,
        "fenced_in_isr": 1,
        "unjustified_reset": 1,
        "phantom_record": 8,
    }

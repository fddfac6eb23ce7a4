"""How the wall time of a run is reported."""

from conftest import TraceMaker
from histories import HEALTHY
from judging import judge
from micro import Row

from contract.terms import Check

SECOND = 1_000_000


def phase(stage: str, *, began: int, ended: int) -> Row:
    return {
        "stage": stage,
        "doing": "this",
        "began_micros": began * SECOND,
        "ended_micros": ended * SECOND,
        "limit_seconds": 100,
    }


def wait_row(began: float, ended: float) -> Row:
    return {
        "what": "this",
        "began_micros": int(began * SECOND),
        "ended_micros": int(ended * SECOND),
    }


def test_wall_time_is_reported_by_stage_and_by_what_the_cluster_took(
    make_trace: TraceMaker,
) -> None:
    killed = {
        **HEALTHY["faults"][0],
        "injected_micros": 12 * SECOND,
        "healed_micros": 20 * SECOND,
        "forced_ms": 4000,
        "forced_by": "b, a",
    }
    phases = [
        phase("starting", began=2, ended=8),
        phase("warm up", began=8, ended=10),
        phase("held", began=10, ended=25),
        phase("final read", began=25, ended=26),
        phase("collecting", began=26, ended=27),
    ]
    # One before the story, two that overlap, one that only begins in it: 5 s + 0.5 s.
    waits = [wait_row(2, 9), wait_row(11, 14), wait_row(12, 16), wait_row(25.5, 40)]
    trace = make_trace(
        {**HEALTHY, "phases": phases, "faults": [killed], "waits": waits},
        checks=(Check.PHASE_OVERRUN,),
        started_micros=SECOND,
        ended_micros=30 * SECOND,
    )
    timing = judge(trace).timing
    assert timing is not None
    assert (timing.starting, timing.story, timing.collecting) == (9.0, 16.0, 4.0)
    assert timing.awaited == 5.5
    assert (timing.forced, timing.forced_by) == (4.0, ["a", "b"])
    assert [reported.doing for reported in timing.phases] == ["this"] * 5


def test_without_phases_no_time_is_reported(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "phases": []}
    assert judge(make_trace(rows, checks=(Check.FAULT_LANDED,))).timing is None

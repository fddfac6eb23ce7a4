"""Waits, stuck readers and slow phases in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import HEALTHY, result
from judging import judge
from micro import Row, changed, led, registered, sent

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000
ANSWERED_AT_ONCE = sent(0, at=SECOND)


def waiting(*, since: int, until: int | None, first: int = 1) -> list[Row]:
    """A value sent at `since` and another a second later, both answered at `until` (seconds)."""
    answered = None if until is None else until * SECOND
    return [
        {**row, "intended_micros": at * SECOND, "answered_micros": answered}
        for at, row in zip((since, since + 1), sent(first, first + 1), strict=True)
    ]


def fault(name: str, *, injected: int, healed: int | None, target: Row | None = None) -> Row:
    return {
        "fault": name,
        "target_kind": "all",
        **(target or {}),
        "landed": True,
        "injected_micros": injected * SECOND,
        "healed_micros": None if healed is None else healed * SECOND,
        "evidence": "{}",
    }


LED = [led(0, at=0)]
LEADERLESS = [led(0, at=0), led(1, at=10 * SECOND, leader=-1), led(2, at=60 * SECOND, leader=2)]
TWO_OF_THREE = fault("pause", injected=12, healed=48, target={"brokers": [1, 2]})
ONE_OF_THREE = fault("pause", injected=12, healed=48, target={"brokers": [1]})
TOO_FEW_IN_SYNC = [led(0, at=0), {**led(1, at=10 * SECOND), "isr": []}]


@pytest.mark.parametrize(
    ("sends", "leaderships", "faults", "verdict", "findings"),
    [
        (ANSWERED_AT_ONCE, LED, [], CheckVerdict.HOLDS, 0),
        (waiting(since=10, until=16), LED, [], CheckVerdict.PERMITTED, 1),
        # Two waits that do not overlap.
        (
            [*waiting(since=10, until=16), *waiting(since=20, until=26, first=3)],
            LED,
            [],
            CheckVerdict.PERMITTED,
            2,
        ),
        (waiting(since=10, until=50), LED, [], CheckVerdict.VIOLATED, 1),
        (waiting(since=10, until=65), LEADERLESS, [], CheckVerdict.PERMITTED, 1),
        # The new leader was there for 40 s.
        (waiting(since=10, until=100), LEADERLESS, [], CheckVerdict.VIOLATED, 1),
        (waiting(since=10, until=50), TOO_FEW_IN_SYNC, [], CheckVerdict.PERMITTED, 1),
        (
            waiting(since=10, until=50),
            LED,
            [fault("cut clients", injected=12, healed=48)],
            CheckVerdict.PERMITTED,
            1,
        ),
        (
            waiting(since=10, until=50),
            LED,
            [fault("pause", injected=12, healed=48, target={"target_kind": "client"})],
            CheckVerdict.PERMITTED,
            1,
        ),
        (
            waiting(since=10, until=50),
            LED,
            [fault("pause", injected=12, healed=48)],
            CheckVerdict.VIOLATED,
            1,
        ),
        # acks=1 asks the leader only, which was there.
        (
            [{**row, "acks": "1"} for row in waiting(since=10, until=50)],
            TOO_FEW_IN_SYNC,
            [],
            CheckVerdict.VIOLATED,
            1,
        ),
        # Two of three brokers are no minority, so nobody could elect; one is.
        (waiting(since=10, until=50), LED, [TWO_OF_THREE], CheckVerdict.PERMITTED, 1),
        (waiting(since=10, until=50), LED, [ONE_OF_THREE], CheckVerdict.VIOLATED, 1),
        # Overlapping excuses count once.
        (
            waiting(since=10, until=100),
            LEADERLESS,
            [fault("cut clients", injected=20, healed=58)],
            CheckVerdict.VIOLATED,
            1,
        ),
        ([], LED, [], CheckVerdict.NOT_EVALUABLE, 0),
    ],
)
def test_service_is_owed_while_the_cluster_could_give_it(
    make_trace: TraceMaker,
    sends: list[Row],
    leaderships: list[Row],
    faults: list[Row],
    verdict: CheckVerdict,
    findings: int,
) -> None:
    brokers = [registered(fenced=False, at=5, broker=broker) for broker in (1, 2, 3)]
    rows = {"sends": sends, "leaderships": leaderships, "faults": faults, "broker_states": brokers}
    told = result(make_trace, Check.PRODUCE_UNAVAILABLE, rows)
    assert (told.verdict, told.findings) == (verdict, findings)


@pytest.mark.parametrize(
    ("again", "answered", "outages"),
    [
        (20, None, 1),
        # Somebody was answered in between.
        (20, 18, 2),
        # Nobody tried for more than 10 s.
        (27, None, 2),
    ],
)
def test_attempts_in_vain_are_one_outage(
    make_trace: TraceMaker, again: int, answered: int | None, outages: int
) -> None:
    tries = [*waiting(since=10, until=16), *waiting(since=again, until=again + 6, first=3)]
    failed = [{**row, "outcome": "unknown", "offset": None} for row in tries]
    served = [] if answered is None else sent(9, at=answered * SECOND)
    rows = {"sends": [*failed, *served], "leaderships": LED}
    assert result(make_trace, Check.PRODUCE_UNAVAILABLE, rows).findings == outages


def test_an_outage_tells_how_long_and_how_many_waited(make_trace: TraceMaker) -> None:
    rows = {"sends": waiting(since=10, until=65), "leaderships": LEADERLESS}
    told = result(make_trace, Check.PRODUCE_UNAVAILABLE, rows)
    (example,) = told.examples
    assert example.evidence == {
        "seconds": 55.0,
        "unservable_seconds": 50.0,
        "recovery_seconds": 5.0,
        "records": 2,
        "unanswered": 0,
        "needs_insync": True,
    }
    assert told.summary == "1 outages, the longest 55.0 s on t-0; 2 operations waited"


_FAULT = {"fault": "cut", "target_kind": "all", "landed": True, "evidence": "{}"}


def test_who_came_to_the_end_did_not_stall(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.STUCK_CONSUMER, {**HEALTHY, "faults": []})
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 2)


@pytest.mark.parametrize(
    ("held", "verdict", "kind"),
    [
        ({"injected_micros": 600, "healed_micros": None}, "permitted", "while a fault held"),
        ({"injected_micros": 600, "healed_micros": 701}, "permitted", "while a fault held"),
        ({"injected_micros": 600, "healed_micros": 699}, "violated", "no fault"),
        ({"injected_micros": 701, "healed_micros": None}, "violated", "no fault"),
        (
            {"fault": "bounce", "injected_micros": 600, "proved_micros": 701},
            "permitted",
            "while a fault held",
        ),
        (
            {"fault": "bounce", "injected_micros": 600, "proved_micros": 699},
            "permitted",
            "soon after a fault",
        ),
    ],
)
def test_a_stall_is_permitted_only_while_a_fault_holds(
    make_trace: TraceMaker, held: dict[str, Any], verdict: str, kind: str
) -> None:
    stall = changed("stalled", at=700, life=2, position=3)
    faults = [{**_FAULT, **held}, {**_FAULT, "injected_micros": 1, "healed_micros": 2}]
    rows = {**HEALTHY, "group_events": [*HEALTHY["group_events"], stall], "faults": faults}
    found = result(make_trace, Check.STUCK_CONSUMER, rows)
    (one,) = found.examples
    assert (found.verdict, one.kind, one.group) == (verdict, kind, "g")
    assert one.cause == "the member stopped at 3; the log ends at 4"


@pytest.mark.parametrize(
    ("partition", "cause"),
    [
        ({}, "the member had no position to read from"),
        ({"topic": "", "partition": -1}, "the member was assigned no partition"),
    ],
)
def test_a_stall_tells_what_was_missing(
    make_trace: TraceMaker, partition: dict[str, Any], cause: str
) -> None:
    rows = {**HEALTHY, "group_events": [{**changed("stalled", at=700), **partition}]}
    found = result(make_trace, Check.STUCK_CONSUMER, {**rows, "faults": []})
    assert [one.cause for one in found.examples] == [cause]


def test_who_was_never_told_to_read_to_the_end_can_not_stall(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "group_events": [changed("opened", at=150)]}
    assert result(make_trace, Check.STUCK_CONSUMER, rows).verdict is CheckVerdict.NOT_EVALUABLE


def phase(stage: str, *, began: int, ended: int) -> Row:
    return {
        "stage": stage,
        "doing": "this",
        "began_micros": began * SECOND,
        "ended_micros": ended * SECOND,
        "limit_seconds": 100,
    }


@pytest.mark.parametrize(
    ("phases", "verdict"),
    [
        ([phase("held", began=0, ended=100)], CheckVerdict.HOLDS),
        ([phase("held", began=0, ended=101)], CheckVerdict.UNDECIDED),
        ([], CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_a_phase_beyond_its_limit_leaves_the_run_undecided(
    make_trace: TraceMaker, phases: list[Row], verdict: CheckVerdict
) -> None:
    assert result(make_trace, Check.PHASE_OVERRUN, {"phases": phases}).verdict is verdict


def awaited(began: float, ended: float) -> Row:
    return {
        "what": "this",
        "began_micros": int(began * SECOND),
        "ended_micros": int(ended * SECOND),
    }


def test_wall_time_is_told_by_stage_and_by_what_the_cluster_took(
    make_trace: TraceMaker,
) -> None:
    killed = {**fault("kill", injected=12, healed=20), "forced_ms": 4000, "forced_by": "b, a"}
    phases = [
        phase("starting", began=2, ended=8),
        phase("warm up", began=8, ended=10),
        phase("held", began=10, ended=25),
        phase("final read", began=25, ended=26),
        phase("collecting", began=26, ended=27),
    ]
    # One before the story, two that overlap, one that only begins in it: 5 s + 0.5 s.
    waits = [awaited(2, 9), awaited(11, 14), awaited(12, 16), awaited(25.5, 40)]
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
    assert [told.doing for told in timing.phases] == ["this"] * 5


def test_without_phases_no_time_is_told(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "phases": []}
    assert judge(make_trace(rows, checks=(Check.FAULT_LANDED,))).timing is None

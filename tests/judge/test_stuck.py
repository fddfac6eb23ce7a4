"""Readers, committers and replicas that wait or never arrive; and the harness's own evidence."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import HEALTHY, result
from judging import judge
from micro import Row, changed, clock, commit, led, polled, registered, sampled, sent

from analysis.statements.trace import CLOCK_MICROS
from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000
LED = [led(0, at=0)]
LEADERLESS = [led(0, at=0), led(1, at=10 * SECOND, leader=-1), led(2, at=60 * SECOND, leader=2)]


def fault(*, injected: int, healed: int | None, verb: str = "cut") -> Row:
    return {
        "fault": verb,
        "target_kind": "all",
        "landed": True,
        "injected_micros": injected * SECOND,
        "proved_micros": (injected + 1) * SECOND,
        "healed_micros": None if healed is None else healed * SECOND,
        "evidence": "{}",
    }


@pytest.mark.parametrize(
    ("since", "until", "events", "leaderships", "verdict"),
    [
        (10, 11, [], LED, CheckVerdict.HOLDS),
        (10, 15, [], LED, CheckVerdict.PERMITTED),
        (10, 50, [], LED, CheckVerdict.VIOLATED),
        (10, 65, [], LEADERLESS, CheckVerdict.PERMITTED),
        # There was nothing to get until 49 s; and nobody asked, since the end was reached.
        (49, 50, [], LED, CheckVerdict.HOLDS),
        (10, 50, [changed("caught_up", at=20 * SECOND, position=1)], LED, CheckVerdict.HOLDS),
    ],
)
def test_a_reader_gets_what_is_there(
    make_trace: TraceMaker,
    since: int,
    until: int,
    events: list[Row],
    leaderships: list[Row],
    verdict: CheckVerdict,
) -> None:
    rows = {
        "sends": [*sent(0, at=SECOND), *sent(1, at=since * SECOND)],
        "polls": [*polled(0, at=2 * SECOND), *polled(1, at=until * SECOND)],
        "group_events": events,
        "leaderships": leaderships,
    }
    found = result(make_trace, Check.FETCH_UNAVAILABLE, rows)
    assert (found.verdict, found.evaluated) == (verdict, 1)


SMALL_ISR = [{**led(0, at=0), "isr": [1, 2]}, led(0, at=10 * SECOND) | {"partition_epoch": 1}]
CAN_SERVE = sampled(2, at=12 * SECOND)


@pytest.mark.parametrize(
    ("acks", "leaderships", "samples", "verdict"),
    [
        # Acknowledged with acks=all by this leader, so the high watermark is beyond.
        ("all", SMALL_ISR, [], CheckVerdict.VIOLATED),
        # With acks=1 it may not be, and does not advance with a small ISR (KAFKA-15583).
        ("1", SMALL_ISR, [], CheckVerdict.PERMITTED),
        ("1", SMALL_ISR[:1], [], CheckVerdict.VIOLATED),
        ("1", SMALL_ISR, [CAN_SERVE], CheckVerdict.VIOLATED),
        # The new leader's high watermark does not advance either.
        ("all", [*SMALL_ISR, led(1, at=11 * SECOND, leader=2)], [], CheckVerdict.PERMITTED),
    ],
)
def test_a_fetch_is_required_below_the_high_watermark(
    make_trace: TraceMaker,
    acks: str,
    leaderships: list[Row],
    samples: list[Row],
    verdict: CheckVerdict,
) -> None:
    rows = {
        "sends": [*sent(0, at=SECOND), *sent(1, at=10 * SECOND, acks=acks)],
        "polls": [*polled(0, at=2 * SECOND), *polled(1, at=50 * SECOND)],
        "leaderships": leaderships,
        "samples": samples,
    }
    assert result(make_trace, Check.FETCH_UNAVAILABLE, rows, min_insync=2).verdict is verdict


@pytest.mark.parametrize(
    ("partition", "isr", "verdict"),
    [
        (3, [], CheckVerdict.PERMITTED),
        (3, [1], CheckVerdict.VIOLATED),
        (2, [], CheckVerdict.VIOLATED),
    ],
)
def test_a_commit_is_required_by_its_groups_own_partition(
    make_trace: TraceMaker, partition: int, isr: list[int], verdict: CheckVerdict
) -> None:
    """`g` hashes to 103, which is partition 3 of 50; the group has no stored commit."""
    of_offsets = {"topic": "__consumer_offsets", "isr": [1]}
    leaderships = [{**led(0, at=0), **of_offsets, "partition": one} for one in range(50)]
    leaderships.append({**led(0, at=9), **of_offsets, "partition": partition, "isr": isr})
    rows = {
        "commits": [commit(took=40), {**commit(took=99, outcome="nothing"), "offset": None}],
        "leaderships": leaderships,
        "committed_offsets": [{**HEALTHY["committed_offsets"][0], "group": "other"}],
    }
    found = result(make_trace, Check.COMMIT_UNAVAILABLE, rows)
    assert (found.verdict, found.evaluated) == (verdict, 1)


@pytest.mark.parametrize(
    ("commits", "leaderships", "verdict"),
    [
        ([commit(took=1)], LED, CheckVerdict.HOLDS),
        ([commit(took=5)], LED, CheckVerdict.PERMITTED),
        ([commit(took=40, outcome="unknown", error="Timeout")], LED, CheckVerdict.VIOLATED),
        ([commit(took=55)], LEADERLESS, CheckVerdict.PERMITTED),
        (
            [commit(took=40, outcome="failed", error="RebalanceInProgressException")],
            LED,
            CheckVerdict.HOLDS,
        ),
        ([commit(took=40) | {"began_micros": None}], LED, CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_a_commit_is_answered(
    make_trace: TraceMaker, commits: list[Row], leaderships: list[Row], verdict: CheckVerdict
) -> None:
    of_offsets = [{**row, "topic": "__consumer_offsets"} for row in leaderships]
    rows = {
        "commits": commits,
        "leaderships": of_offsets,
        "committed_offsets": HEALTHY["committed_offsets"],
    }
    assert result(make_trace, Check.COMMIT_UNAVAILABLE, rows).verdict is verdict


def failing(*, since: int, until: int | None, transaction: int | None = None) -> list[Row]:
    """A value every ten seconds that fails at `until`, after one that was acknowledged."""
    refused = {
        "outcome": "unknown",
        "offset": None,
        "answered_micros": None if until is None else until * SECOND,
        "transaction": transaction,
    }
    tries = [
        {**row, **refused, "intended_micros": (since + 10 * n) * SECOND}
        for n, row in enumerate(sent(1, 2))
    ]
    return [*sent(0, at=SECOND), *tries]


@pytest.mark.parametrize(
    ("sends", "faults", "verdict"),
    [
        (sent(0, 1, at=SECOND), [], CheckVerdict.HOLDS),
        (failing(since=10, until=30), [], CheckVerdict.HOLDS),
        (failing(since=10, until=50), [], CheckVerdict.VIOLATED),
        (failing(since=10, until=50), [fault(injected=5, healed=49)], CheckVerdict.VIOLATED),
        (failing(since=10, until=50), [fault(injected=5, healed=None)], CheckVerdict.PERMITTED),
        (
            failing(since=10, until=50),
            [fault(injected=5, healed=None, verb="elect preferred")],
            CheckVerdict.VIOLATED,
        ),
        # Later ones were acknowledged.
        (
            [*failing(since=10, until=50), *sent(3, at=60 * SECOND)],
            [],
            CheckVerdict.HOLDS,
        ),
        (failing(since=10, until=None), [], CheckVerdict.UNDECIDED),
        (failing(since=10, until=50, transaction=1)[1:], [], CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_a_producer_does_not_end_in_failures(
    make_trace: TraceMaker, sends: list[Row], faults: list[Row], verdict: CheckVerdict
) -> None:
    rows = {"sends": sends, "faults": faults}
    assert result(make_trace, Check.STUCK_PRODUCER, rows).verdict is verdict


@pytest.mark.parametrize(
    ("ended_by_itself", "error", "verdict"),
    [
        (True, None, CheckVerdict.VIOLATED),
        (False, None, CheckVerdict.PERMITTED),
        # The command that sent them may have failed with the scenario.
        (True, "it failed", CheckVerdict.UNDECIDED),
    ],
)
def test_every_value_gets_an_answer(
    make_trace: TraceMaker, *, ended_by_itself: bool, error: str | None, verdict: CheckVerdict
) -> None:
    history = {**HEALTHY["histories"][0], "worker": "w", "ended_by_itself": ended_by_itself}
    killed = {
        **fault(injected=1, healed=2),
        "fault": "kill",
        "target_kind": "client",
        "worker": "w",
    }
    rows = {
        "sends": failing(since=10, until=None),
        "histories": [history],
        "faults": [killed],
    }
    assert result(make_trace, Check.STUCK_PRODUCER, rows, error=error).verdict is verdict


OUT = [{**led(0, at=SECOND), "isr": [1, 2]}, led(0, at=10 * SECOND) | {"partition_epoch": 1}]
IN_SERVICE = [registered(fenced=False, at=1, broker=broker) for broker in (1, 2)]


@pytest.mark.parametrize(
    ("leaderships", "states", "faults", "ends", "verdict"),
    [
        ([OUT[0]], IN_SERVICE, [], 100, CheckVerdict.HOLDS),
        (OUT, IN_SERVICE, [], 100, CheckVerdict.VIOLATED),
        (OUT, IN_SERVICE, [], 30, CheckVerdict.PERMITTED),
        (OUT, IN_SERVICE, [fault(injected=5, healed=90)], 100, CheckVerdict.PERMITTED),
        (OUT, IN_SERVICE, [fault(injected=5, healed=None)], 100, CheckVerdict.PERMITTED),
        (
            OUT,
            IN_SERVICE,
            [fault(injected=5, healed=99, verb="bounce")],
            100,
            CheckVerdict.VIOLATED,
        ),
        (
            OUT,
            [*IN_SERVICE, registered(fenced=True, at=2, broker=2)],
            [],
            100,
            CheckVerdict.PERMITTED,
        ),
        ([{**OUT[0], "leader": -1}], IN_SERVICE, [], 100, CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_a_replica_catches_up(
    make_trace: TraceMaker,
    leaderships: list[Row],
    states: list[Row],
    faults: list[Row],
    ends: int,
    verdict: CheckVerdict,
) -> None:
    collecting = {"stage": "collecting", "doing": "x", "began_micros": ends * SECOND}
    rows = {
        "leaderships": leaderships,
        "broker_states": states,
        "faults": faults,
        "phases": [collecting],
    }
    assert result(make_trace, Check.NEVER_CAUGHT_UP, rows).verdict is verdict


@pytest.mark.parametrize(
    ("clocks", "bound", "verdict"),
    [
        ([clock("a", ahead=9_000, behind=-1_000)], CLOCK_MICROS, CheckVerdict.HOLDS),
        (
            [clock("a", ahead=80_000, behind=70_000), clock("b", ahead=0, behind=-20_000)],
            100_000,
            CheckVerdict.PERMITTED,
        ),
        ([clock("a", ahead=2_000_000, behind=0)], 2_000_000, CheckVerdict.UNDECIDED),
        ([], CLOCK_MICROS, CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_clocks_are_measured(
    make_trace: TraceMaker, clocks: list[Row], bound: int, verdict: CheckVerdict
) -> None:
    assert make_trace({"clocks": clocks}).clock_micros == bound
    assert result(make_trace, Check.CLOCK_SKEW, {"clocks": clocks}).verdict is verdict


def test_a_large_bound_leaves_more_undecided(make_trace: TraceMaker) -> None:
    """A value lost by acks=all, acknowledged 80 ms after its epoch was over."""
    rows: dict[str, Any] = {
        "sends": sent(0, at=2_080_000),
        "leaderships": [led(0, at=10), led(1, at=2 * SECOND, leader=2)],
        "log_starts": HEALTHY["log_starts"],
        "replica_records": [{**HEALTHY["replica_records"][0], "value": "other", "broker": 2}],
        "polls": polled(0),
    }
    far = {"clocks": [clock("a", ahead=100_000, behind=0)]}
    check = Check.SERVED_UNDER_FENCED_EPOCH
    assert result(make_trace, check, rows).verdict is CheckVerdict.VIOLATED
    assert result(make_trace, check, rows | far).verdict is CheckVerdict.UNDECIDED


def test_a_check_that_judged_nothing_is_reported(make_trace: TraceMaker) -> None:
    checks = (Check.FAULT_LANDED, Check.HISTORY_COMPLETE, Check.VACUOUS_CHECK)
    whole = judge(make_trace(HEALTHY, checks=checks)).checks[Check.VACUOUS_CHECK]
    assert (whole.verdict, whole.evaluated) == (CheckVerdict.HOLDS, 2)
    rows = {**HEALTHY, "faults": []}
    reported = judge(make_trace(rows, checks=checks)).checks[Check.VACUOUS_CHECK]
    assert reported.verdict is CheckVerdict.UNDECIDED
    assert [one.evidence["check"] for one in reported.examples] == ["fault_landed"]

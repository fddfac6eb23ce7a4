"""The metadata log, leader epochs and elections in histories of a few records."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import result
from micro import Row, appended, batch, led, registered, sampled

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000


def state(epoch: int, *, at: int, leader: int = 1, isr: list[int], **fields: Any) -> Row:
    """A partition of three replicas, as the metadata log has it; times are metadata offsets too."""
    return {**led(epoch, at=at, leader=leader), "replicas": [1, 2, 3], "isr": isr, **fields}


LOG = {"replica_batches": [batch(0, 1), batch(2, 3, epoch=1)]}
LED = [led(0, at=10), led(1, at=20, leader=2)]


@pytest.mark.parametrize(
    ("rows", "verdict", "kinds"),
    [
        ({"leaderships": LED}, CheckVerdict.HOLDS, []),
        (
            {"leaderships": [led(1, at=10), led(0, at=20) | {"partition_epoch": 2}]},
            CheckVerdict.VIOLATED,
            ["leader epoch"],
        ),
        # Created again: all begins anew.
        ({"leaderships": [*LED, led(0, at=30)]}, CheckVerdict.HOLDS, []),
        (
            {"leaderships": [led(1, at=10), led(1, at=20, leader=2) | {"partition_epoch": 2}]},
            CheckVerdict.VIOLATED,
            ["two leaders"],
        ),
        (
            {"leaderships": LED, "replica_batches": [batch(0, 1, epoch=1), batch(2, 3)]},
            CheckVerdict.VIOLATED,
            ["log"],
        ),
        # One broker told epoch 0 long after epoch 1; two brokers may differ for any time.
        (
            {
                "leaderships": LED,
                "samples": [sampled(1, at=SECOND, epoch=1), sampled(1, at=9 * SECOND)],
            },
            CheckVerdict.VIOLATED,
            ["reported"],
        ),
        (
            {
                "leaderships": LED,
                "samples": [sampled(1, at=SECOND, epoch=1), sampled(1, at=9 * SECOND, broker=2)],
            },
            CheckVerdict.HOLDS,
            [],
        ),
        # It was asked before the newer answer came.
        (
            {
                "leaderships": LED,
                "samples": [
                    sampled(1, at=8 * SECOND, epoch=1),
                    sampled(1, at=9 * SECOND) | {"asked_micros": 7 * SECOND},
                ],
            },
            CheckVerdict.HOLDS,
            [],
        ),
    ],
)
def test_epochs_only_grow(
    make_trace: TraceMaker, rows: dict[str, Any], verdict: CheckVerdict, kinds: list[str]
) -> None:
    found = result(make_trace, Check.EPOCH_REGRESSED, {**LOG, **rows})
    assert (found.verdict, [one.kind for one in found.examples]) == (verdict, kinds)


IN_SERVICE = [registered(fenced=False, at=1, broker=broker) for broker in (1, 2, 3)]


@pytest.mark.parametrize(
    ("after", "verdict", "kind"),
    [
        ({"isr": [1], "elr": [2]}, CheckVerdict.HOLDS, ""),
        ({"isr": [1, 2], "elr": []}, CheckVerdict.HOLDS, ""),
        ({"isr": [1], "elr": [1, 2]}, CheckVerdict.VIOLATED, "also in the ISR"),
        ({"isr": [1], "elr": [4]}, CheckVerdict.VIOLATED, "no replica"),
        # The plan wants one in sync only: there is one.
        ({"isr": [3], "elr": [], "leader": 3}, CheckVerdict.VIOLATED, "passed over"),
        ({"isr": [2], "elr": [], "leader": 2}, CheckVerdict.HOLDS, ""),
    ],
)
def test_eligible_leaders_are_none_of_the_isr(
    make_trace: TraceMaker, after: dict[str, Any], verdict: CheckVerdict, kind: str
) -> None:
    before = state(0, at=10, isr=[1], elr=[2])
    rows = {
        "leaderships": [before, {**state(1, at=20, isr=[]), **after}],
        "broker_states": IN_SERVICE,
    }
    found = result(make_trace, Check.ELIGIBLE_LEADER_REPLICAS, rows, min_insync=2)
    assert found.verdict is verdict
    assert [one.kind for one in found.examples] == ([kind] if kind else [])


def test_an_eligible_leader_that_is_fenced_is_not_passed_over(make_trace: TraceMaker) -> None:
    rows = {
        "leaderships": [
            state(0, at=10, isr=[], elr=[2], leader=-1),
            state(1, at=20, isr=[3], leader=3),
        ],
        "broker_states": [*IN_SERVICE, registered(fenced=True, at=15, broker=2)],
    }
    found = result(make_trace, Check.ELIGIBLE_LEADER_REPLICAS, rows, min_insync=2)
    assert found.verdict is CheckVerdict.HOLDS


def test_without_eligible_leaders_there_is_nothing_to_judge(make_trace: TraceMaker) -> None:
    rows = {"leaderships": LED, "broker_states": IN_SERVICE}
    found = result(make_trace, Check.ELIGIBLE_LEADER_REPLICAS, rows)
    assert found.verdict is CheckVerdict.NOT_EVALUABLE


ORDERED = {
    "fault": "elect unclean",
    "target_kind": "partition",
    "topic": "t",
    "partition": 0,
    "landed": True,
    "injected_micros": 15,
    "evidence": "{}",
}


@pytest.mark.parametrize(
    ("before", "after", "faults", "plan", "kind"),
    [
        ({"isr": [1, 2]}, {"isr": [2], "leader": 2}, [], {}, ""),
        ({"isr": [1]}, {"isr": [3], "leader": 3}, [], {}, "unconfigured"),
        ({"isr": [1]}, {"isr": [3], "leader": 3}, [], {"unclean_election": True}, "configured"),
        ({"isr": [1]}, {"isr": [3], "leader": 3}, [ORDERED], {}, "ordered"),
        # An eligible leader, a reassignment, and the last leader when nobody else is left.
        ({"isr": [1], "elr": [3]}, {"isr": [3], "leader": 3}, [], {}, ""),
        ({"isr": [1]}, {"isr": [4], "leader": 4, "replicas": [4]}, [], {}, ""),
        ({"isr": []}, {"isr": [1], "leader": 1}, [], {}, "last known leader"),
    ],
)
def test_a_leader_from_outside_needs_leave(
    make_trace: TraceMaker,
    before: dict[str, Any],
    after: dict[str, Any],
    faults: list[Row],
    plan: dict[str, bool],
    kind: str,
) -> None:
    rows = {
        "leaderships": [
            {**state(0, at=10, isr=[1]), **before},
            {**state(1, at=20, isr=[1]), **after},
        ],
        "faults": faults,
    }
    found = result(
        make_trace,
        Check.UNCLEAN_ELECTION_UNCONFIGURED,
        rows,
        **({"unclean_election": False} | plan),
    )
    assert [one.kind for one in found.examples] == ([kind] if kind else [])
    assert found.evaluated == 2
    assert (found.verdict is CheckVerdict.VIOLATED) == (kind == "unconfigured")


BOTH = [appended(server, base) for server in (1, 2) for base in (0, 1, 2)]


@pytest.mark.parametrize(
    ("batches", "verdict", "kinds"),
    [
        (BOTH, CheckVerdict.HOLDS, set()),
        # One log is shorter.
        ([*BOTH, appended(1, 3)], CheckVerdict.HOLDS, set()),
        # What an isolated controller wrote, and the others then otherwise.
        (
            [*BOTH, appended(1, 3), appended(2, 3, epoch=2)],
            CheckVerdict.PERMITTED,
            {"uncommitted tail"},
        ),
        # It differs in the middle.
        (
            [*BOTH[:4], appended(2, 1, epoch=0), BOTH[5]],
            CheckVerdict.VIOLATED,
            {"not matching", "epoch regressed"},
        ),
        (
            [*BOTH, appended(1, 3), appended(2, 3, checksum=2)],
            CheckVerdict.VIOLATED,
            {"one offset, two batches", "uncommitted tail"},
        ),
        (
            [*BOTH, appended(1, 3, leader=1), appended(1, 4, leader=2)],
            CheckVerdict.VIOLATED,
            {"two leaders"},
        ),
        (BOTH[:3], CheckVerdict.NOT_EVALUABLE, set()),
    ],
)
def test_metadata_logs_match(
    make_trace: TraceMaker, batches: list[Row], verdict: CheckVerdict, kinds: set[str]
) -> None:
    rows = {"metadata_batches": batches, "leaderships": LED}
    found = result(make_trace, Check.METADATA_DIVERGENCE, rows)
    assert (found.verdict, {one.kind for one in found.examples}) == (verdict, kinds)


@pytest.mark.parametrize(
    ("sample", "verdict"),
    [
        (sampled(1, at=30), CheckVerdict.HOLDS),
        (sampled(1, at=30, epoch=2), CheckVerdict.VIOLATED),
        (sampled(1, at=30, epoch=0, leader=2), CheckVerdict.VIOLATED),
        # It knows that nobody leads.
        (sampled(-1, at=30, epoch=5, leader=-1), CheckVerdict.HOLDS),
    ],
)
def test_what_a_broker_tells_is_in_the_metadata_log(
    make_trace: TraceMaker, sample: Row, verdict: CheckVerdict
) -> None:
    rows = {"metadata_batches": BOTH, "leaderships": LED, "samples": [sample]}
    assert result(make_trace, Check.METADATA_DIVERGENCE, rows).verdict is verdict

"""Each check on histories of a few events: it holds, it is violated, it can't tell."""

from typing import Any

import pytest
from conftest import TraceMaker
from micro import (
    Row,
    changed,
    committed,
    epochs,
    led,
    log_bounds,
    polled,
    reset_told,
    sampled,
    sent,
    survived,
)

from analysis.judge import judge
from harness.contract.checks import Check
from harness.contract.verdicts import CheckResult, CheckVerdict

pytestmark = pytest.mark.spark


def result(make_trace: TraceMaker, check: Check, rows: dict[str, Any], **plan: Any) -> CheckResult:
    return judge(make_trace(rows, checks=(check,), **plan)).checks[check]


# Epoch 0 ends at 2; epoch 1 rewrote 2 and 3. The group read 0-3 of epoch 0, then went on from 4.
TRUNCATED = {
    "sends": [*sent(0, 1, 2, 3), *sent(2, 3, 4, 5, producer="q", at=400)],
    "replica_records": [*survived(0, 1), *survived(2, 3, 4, 5, epoch=1, producer="q")],
    "epoch_checkpoints": epochs((0, 0), (1, 2)),
    "leaderships": [led(0, at=10), led(1, at=250, leader=2)],
    "log_starts": log_bounds(0, 6),
}
WENT_ON = {
    **TRUNCATED,
    "polls": [*polled(0, 1, 2, 3), *polled(4, 5, epoch=1, producer="q", life=2, at=600)],
    "committed_offsets": [committed(4, 1)],
    "group_events": [
        changed("opened", at=150),
        changed("caught_up", at=210, position=4),
        changed("opened", life=2, at=450),
        changed("caught_up", life=2, at=650, position=6),
    ],
}
WENT_BACK = {
    **WENT_ON,
    "polls": [*polled(0, 1, 2, 3), *polled(2, 3, 4, 5, epoch=1, producer="q", life=2, at=600)],
    "committed_offsets": [committed(4, 0)],
    "resets": [reset_told("truncation", 4, 0, 2)],
}
HEALTHY = {
    "sends": sent(0, 1, 2, 3),
    "replica_records": survived(0, 1, 2, 3),
    "epoch_checkpoints": epochs((0, 0)),
    "leaderships": [led(0, at=10)],
    "log_starts": log_bounds(0, 4),
    "polls": [*polled(0, 1), *polled(2, 3, life=2, at=600)],
    "committed_offsets": [committed(2, 0)],
    "resets": [reset_told("no_commit", 0, -1, 0, life=1, at=160)],
    "group_events": [
        *WENT_ON["group_events"][:1],
        changed("caught_up", at=210, position=2),
        changed("opened", life=2, at=450),
        changed("caught_up", life=2, at=650, position=4),
    ],
    "faults": [
        {"fault": "kill", "target": "x", "landed": True, "started_micros": 1, "evidence": "{}"}
    ],
    "histories": [
        {
            "worker": "w",
            "events": 9,
            "missing_seqs": 0,
            "torn_lines": 0,
            "malformed_lines": 0,
            "ended_by_itself": True,
        }
    ],
}


def test_no_check_holds_where_there_is_nothing(make_trace: TraceMaker) -> None:
    verdicts = {name: found.verdict for name, found in judge(make_trace({})).checks.items()}
    assert verdicts == dict.fromkeys(map(str, Check), CheckVerdict.NOT_EVALUABLE)


def test_lost_records_are_permitted_with_unclean_election(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.LOST_RECORD, TRUNCATED)
    assert found.verdict is CheckVerdict.PERMITTED
    assert found.evaluated == 8
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == ("truncated", 2, 3)
    assert one.evidence["records"] == 2
    assert one.evidence["acknowledged_epoch"] == 0
    assert (one.evidence["later_epoch"], one.evidence["later_start"]) == (1, 2)


def test_lost_records_violate_acks_all_without_unclean_election(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.LOST_RECORD, TRUNCATED, unclean_election=False)
    assert found.verdict is CheckVerdict.VIOLATED


def test_a_loss_that_no_epoch_explains_is_a_violation(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "replica_records": survived(0, 1, 3)}
    (one,) = result(make_trace, Check.LOST_RECORD, rows).examples
    assert (one.kind, one.offset_first, one.offset_last) == ("unexplained", 2, 2)


def test_an_unacknowledged_record_is_not_lost(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "sends": [*sent(0, 1, 2, 3), {**sent(9)[0], "outcome": "unknown"}]}
    assert result(make_trace, Check.LOST_RECORD, rows).verdict is CheckVerdict.HOLDS


# Retention removed 0 and 1; the group had read only 0.
EXPIRED = {**HEALTHY, "log_starts": log_bounds(2, 4), "polls": polled(0, 2, 3)}


@pytest.mark.parametrize(
    ("plan", "verdict"),
    [
        ({}, CheckVerdict.VIOLATED),
        ({"retention_ms": 1000}, CheckVerdict.PERMITTED),
        ({"deletes": True}, CheckVerdict.PERMITTED),
    ],
)
def test_what_expired_before_a_group_had_it(
    make_trace: TraceMaker, plan: dict[str, Any], verdict: CheckVerdict
) -> None:
    found = result(make_trace, Check.LOST_RECORD, EXPIRED, groups=("g", "h"), **plan)
    assert found.verdict is verdict
    read_by_one, read_by_none = found.examples
    assert (read_by_one.kind, read_by_one.offset_first) == ("expired_unread", 0)
    assert read_by_one.evidence["groups_missed"] == 1
    assert (read_by_none.offset_first, read_by_none.evidence["groups_missed"]) == (1, 2)


def test_what_expired_after_every_group_had_it_is_not_lost(make_trace: TraceMaker) -> None:
    rows = {**EXPIRED, "polls": polled(0, 1)}
    assert result(make_trace, Check.LOST_RECORD, rows).verdict is CheckVerdict.HOLDS


def test_what_expired_with_nobody_to_read_it_is_unread(make_trace: TraceMaker) -> None:
    (one,) = result(make_trace, Check.LOST_RECORD, EXPIRED, groups=()).examples
    assert (one.kind, one.offset_last, one.evidence["groups_missed"]) == ("expired_unread", 1, 0)


# Broker 1 never came back: what it alone holds is lost. Broker 2, the last ISR, has 2 and 3 anew.
LEFT_BEHIND = {
    **TRUNCATED,
    "replica_records": [
        *survived(0, 1, 2, 3),
        *survived(0, 1, broker=2),
        *survived(2, 3, 4, 5, epoch=1, producer="q", broker=2),
    ],
    "epoch_checkpoints": [*epochs((0, 0)), *epochs((0, 0), (1, 2), broker=2)],
    "log_starts": [*log_bounds(0, 4), *log_bounds(0, 6, broker=2)],
}


def test_what_only_a_broker_that_left_the_isr_holds_is_lost(make_trace: TraceMaker) -> None:
    (one,) = result(make_trace, Check.LOST_RECORD, LEFT_BEHIND).examples
    assert (one.kind, one.offset_first, one.offset_last) == ("truncated", 2, 3)
    rows = {**LEFT_BEHIND, **{name: WENT_ON[name] for name in ("polls", "group_events")}}
    found = result(make_trace, Check.TRUNCATION_UNDETECTED, rows)
    assert found.verdict is CheckVerdict.VIOLATED


def test_every_replica_counts_where_the_isr_left_none(make_trace: TraceMaker) -> None:
    rows = {**LEFT_BEHIND, "leaderships": [led(0, at=10), led(1, at=250, leader=3)]}
    assert result(make_trace, Check.LOST_RECORD, rows).verdict is CheckVerdict.HOLDS


def test_a_log_start_that_only_the_leader_told_counts(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "samples": [sampled(4, start=1, at=700), sampled(4, start=3, at=800)]}
    assert make_trace(HEALTHY).surviving.count() == 4
    assert [row["offset"] for row in make_trace(rows).surviving.collect()] == [3]


@pytest.mark.parametrize(
    ("commit_epoch", "verdict"),
    [
        ("current", CheckVerdict.VIOLATED),
        ("max", CheckVerdict.VIOLATED),
        ("record", CheckVerdict.VIOLATED),
        ("none", CheckVerdict.PERMITTED),
    ],
)
def test_records_passed_in_silence(
    make_trace: TraceMaker, commit_epoch: str, verdict: CheckVerdict
) -> None:
    for check in (Check.SKIPPED_RECORD, Check.TRUNCATION_UNDETECTED):
        found = result(make_trace, check, WENT_ON, commit_epoch=commit_epoch)
        assert found.verdict is verdict
        (one,) = found.examples
        assert (one.offset_first, one.offset_last, one.group) == (2, 3, "g")
        assert one.evidence["records"] == 2


def test_a_group_that_went_back_skipped_nothing_and_knew(make_trace: TraceMaker) -> None:
    for check in (Check.SKIPPED_RECORD, Check.TRUNCATION_UNDETECTED):
        assert result(make_trace, check, WENT_BACK).verdict is CheckVerdict.HOLDS


def test_a_group_that_raised_skipped_nothing_in_silence(make_trace: TraceMaker) -> None:
    raised = changed("failed", life=2, at=650, exception="LogTruncationException")
    rows = {**WENT_ON, "group_events": [*WENT_ON["group_events"][:3], raised]}
    for check in (Check.SKIPPED_RECORD, Check.TRUNCATION_UNDETECTED):
        assert result(make_trace, check, rows).verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("notice", "verdict"),
    [
        ({}, CheckVerdict.HOLDS),
        ({"partition": 1}, CheckVerdict.VIOLATED),
        ({"topic": "u"}, CheckVerdict.VIOLATED),
        ({"group": "other"}, CheckVerdict.VIOLATED),
        ({"at_micros": 199_000}, CheckVerdict.VIOLATED),
    ],
)
def test_only_a_notice_of_that_loss_excuses(
    make_trace: TraceMaker, notice: dict[str, Any], verdict: CheckVerdict
) -> None:
    read = [{**row, "polled_micros": row["polled_micros"] * 1000} for row in WENT_ON["polls"]]
    told = {**reset_told("truncation", 4, 0, 2, at=500_000), **notice}
    rows = {**WENT_ON, "polls": read, "resets": [told]}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is verdict


@pytest.mark.parametrize(
    ("failure", "verdict"),
    [
        ({"topic": "", "partition": -1}, CheckVerdict.HOLDS),
        ({"partition": 1, "message": "diverged: {t-1=9, t-0=2}"}, CheckVerdict.HOLDS),
        ({"partition": 1, "message": "diverged: {t-1=9, t-01=2}"}, CheckVerdict.VIOLATED),
        ({"at_micros": 199_000}, CheckVerdict.VIOLATED),
    ],
)
def test_an_exception_excuses_the_partitions_that_it_names(
    make_trace: TraceMaker, failure: dict[str, Any], verdict: CheckVerdict
) -> None:
    read = [{**row, "polled_micros": row["polled_micros"] * 1000} for row in WENT_ON["polls"]]
    raised = {**changed("failed", at=500_000, exception="LogTruncationException"), **failure}
    rows = {**WENT_ON, "polls": read, "group_events": [changed("opened", at=150), raised]}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is verdict


def test_what_retention_deleted_was_not_truncated(make_trace: TraceMaker) -> None:
    rows = {**WENT_ON, "log_starts": log_bounds(4, 6)}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is CheckVerdict.HOLDS


def test_latest_may_jump_over_records(make_trace: TraceMaker) -> None:
    rows = {
        **WENT_ON,
        "polls": polled(0, 1, 2, 3),
        "resets": [reset_told("out_of_range", 4, -1, 6, policy="latest")],
    }
    found = result(make_trace, Check.SKIPPED_RECORD, rows, reset="latest")
    assert found.verdict is CheckVerdict.PERMITTED
    assert found.examples[0].kind == "jumped by reset"


def test_a_truncation_seen_too_high_skips_what_lies_below(make_trace: TraceMaker) -> None:
    rows = {
        **WENT_ON,
        "polls": polled(0, 1, 2, 3),
        "resets": [reset_told("truncation", 8, 1, 6)],
    }
    found = result(make_trace, Check.SKIPPED_RECORD, rows, commit_epoch="current")
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.evidence["truncated_to"]) == ("truncation seen too high", 6)


def test_redelivery_is_counted_and_permitted(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "polls": [*polled(0, 1, 2), *polled(1, 2, life=2, at=600)]}
    found = result(make_trace, Check.DUPLICATE_DELIVERY, rows)
    assert found.verdict is CheckVerdict.PERMITTED
    (one,) = found.examples
    assert (one.offset_first, one.offset_last) == (1, 2)


def test_another_record_at_the_same_offset_is_no_redelivery(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.DUPLICATE_DELIVERY, WENT_BACK).verdict is CheckVerdict.HOLDS


def test_a_value_that_nobody_sent_is_a_phantom(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "polls": [*polled(0, 1), *polled(2, producer="nobody")]}
    assert result(make_trace, Check.PHANTOM_RECORD, rows).verdict is CheckVerdict.VIOLATED


def test_a_broken_checksum_is_corruption(make_trace: TraceMaker) -> None:
    broken = {**polled(1)[0], "value": "p:1:00000000", "is_intact": False}
    rows = {**HEALTHY, "polls": [*polled(0), broken]}
    assert result(make_trace, Check.CORRUPTED_RECORD, rows).verdict is CheckVerdict.VIOLATED
    assert result(make_trace, Check.PHANTOM_RECORD, rows).verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("committed_epoch", "commit_epoch", "check", "verdict"),
    [
        (-1, "record", Check.COMMITTED_EPOCH_MISSING, CheckVerdict.VIOLATED),
        (-1, "none", Check.COMMITTED_EPOCH_MISSING, CheckVerdict.PERMITTED),
        (0, "record", Check.COMMITTED_EPOCH_STALE, CheckVerdict.VIOLATED),
        (1, "record", Check.COMMITTED_EPOCH_BEHIND_LEADER, CheckVerdict.PERMITTED),
        (2, "record", Check.COMMITTED_EPOCH_AHEAD, CheckVerdict.VIOLATED),
        (2, "current", Check.COMMITTED_EPOCH_AHEAD, CheckVerdict.PERMITTED),
    ],
)
def test_committed_epoch_against_the_record_and_the_leader(
    make_trace: TraceMaker,
    committed_epoch: int,
    commit_epoch: str,
    check: Check,
    verdict: CheckVerdict,
) -> None:
    rows = {
        "leaderships": [led(0, at=10), led(1, at=20), led(2, at=250)],
        "polls": polled(0, 1, epoch=1),
        "committed_offsets": [committed(2, committed_epoch)],
    }
    found = result(make_trace, check, rows, commit_epoch=commit_epoch)
    assert found.verdict is verdict
    assert found.evaluated == 1
    others = {c for c in Check if c.startswith("committed_epoch")} - {check}
    for other in others:
        assert result(make_trace, other, rows).verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("commits", "polls", "commit_epoch", "verdict", "findings"),
    [
        # Resumed at 2 and committed at once: nothing told it an epoch.
        ([committed(2, -1)], [], "record", CheckVerdict.NOT_EVALUABLE, 0),
        ([committed(2, -1, at=290), committed(2, -1)], [], "record", "not_evaluable", 0),
        # The epoch that it had committed is one that it knew.
        ([committed(2, 0, at=290), committed(2, -1)], [], "record", CheckVerdict.VIOLATED, 1),
        ([committed(1, 0, at=290), committed(2, -1)], [], "record", "not_evaluable", 0),
        ([committed(2, -1)], polled(1), "record", CheckVerdict.VIOLATED, 1),
        # The group's first life polled the record before, not the life that commits.
        ([committed(2, -1, at=900_000)], polled(1), "record", "not_evaluable", 0),
        ([committed(2, -1)], [], "current", CheckVerdict.VIOLATED, 1),
        ([committed(2, -1)], [], "none", CheckVerdict.PERMITTED, 1),
    ],
)
def test_only_an_epoch_that_the_group_knew_can_be_missing(
    make_trace: TraceMaker,
    commits: list[Row],
    polls: list[Row],
    commit_epoch: str,
    verdict: str,
    findings: int,
) -> None:
    by_another = [{**row, "group": "other"} for row in polled(0, 1, 2)]
    rows = {
        **HEALTHY,
        "polls": [*by_another, *polls],
        "committed_offsets": commits,
        "group_events": [changed("opened", at=150), changed("opened", life=2, at=800_000)],
    }
    found = result(make_trace, Check.COMMITTED_EPOCH_MISSING, rows, commit_epoch=commit_epoch)
    assert found.verdict == verdict
    assert found.findings == findings


def test_an_epoch_is_judged_by_what_was_polled_before_the_commit(make_trace: TraceMaker) -> None:
    again = polled(1, epoch=2, producer="q", life=2, at=9_000_000)
    rows = {
        "leaderships": [led(0, at=10)],
        "polls": [*polled(0, 1), *again],
        "committed_offsets": [committed(2, 0)],
    }
    assert result(make_trace, Check.COMMITTED_EPOCH_STALE, rows).verdict is CheckVerdict.HOLDS


def test_a_reset_is_told_with_its_magnitude(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.RESET, WENT_BACK)
    assert found.verdict is CheckVerdict.PERMITTED
    assert found.evaluated == 2
    (one,) = found.examples
    assert (one.kind, one.evidence["records"]) == ("truncation", 2)


def test_a_reset_off_the_surviving_branch_is_justified(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.UNJUSTIFIED_RESET, WENT_BACK).verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("samples", "verdict", "cause"),
    [
        ([sampled(6, epoch=1, at=450)], CheckVerdict.VIOLATED, "surviving branch"),
        ([sampled(3, epoch=1, at=450)], CheckVerdict.UNDECIDED, "a later one covers"),
        (
            [sampled(3, epoch=1, at=450), sampled(3, epoch=1, at=550), sampled(6, epoch=1, at=700)],
            CheckVerdict.HOLDS,
            "",
        ),
        ([sampled(6, epoch=1, at=550)], CheckVerdict.UNDECIDED, "no sample"),
        ([sampled(6, epoch=0, at=200)], CheckVerdict.UNDECIDED, "no sample"),
        ([sampled(6, epoch=1, at=450, broker=2)], CheckVerdict.UNDECIDED, "no sample"),
        ([sampled(-1, epoch=1, at=450)], CheckVerdict.UNDECIDED, "no sample"),
        ([], CheckVerdict.UNDECIDED, "no sample"),
    ],
)
def test_a_reset_on_the_surviving_branch_is_judged_by_the_log_end_at_the_time(
    make_trace: TraceMaker, samples: list[Row], verdict: CheckVerdict, cause: str
) -> None:
    rows = {**WENT_BACK, "resets": [reset_told("truncation", 4, 1, 2)], "samples": samples}
    found = result(make_trace, Check.UNJUSTIFIED_RESET, rows)
    assert found.verdict is verdict
    assert all(cause in one.cause for one in found.examples)


def test_a_reset_without_an_epoch_can_not_be_told(make_trace: TraceMaker) -> None:
    rows = {
        **WENT_BACK,
        "resets": [reset_told("out_of_range", 4, -1, 2)],
        "samples": [sampled(6, epoch=1, at=450)],
    }
    found = result(make_trace, Check.UNJUSTIFIED_RESET, rows)
    assert found.verdict is CheckVerdict.UNDECIDED
    assert "without an epoch" in found.examples[0].cause


def test_a_fault_that_did_not_land_is_undecided(make_trace: TraceMaker) -> None:
    rows = {"faults": [{**HEALTHY["faults"][0], "landed": False}]}
    assert result(make_trace, Check.FAULT_LANDED, rows).verdict is CheckVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"missing_seqs": 1}, CheckVerdict.UNDECIDED),
        ({"malformed_lines": 1}, CheckVerdict.UNDECIDED),
        ({"torn_lines": 1, "ended_by_itself": False}, CheckVerdict.HOLDS),
        ({"torn_lines": 1}, CheckVerdict.UNDECIDED),
    ],
)
def test_a_history_with_holes_is_undecided(
    make_trace: TraceMaker, fields: dict[str, Any], verdict: CheckVerdict
) -> None:
    rows = {"histories": [{**HEALTHY["histories"][0], **fields}]}
    assert result(make_trace, Check.HISTORY_COMPLETE, rows).verdict is verdict

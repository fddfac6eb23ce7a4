"""Each check on histories of a few events: it holds, it is violated, it can't tell."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import (
    CORRUPTED,
    EPOCHLESS,
    EXPIRED,
    HEALTHY,
    JUMPED,
    LEFT_BEHIND,
    PHANTOM,
    REDELIVERED,
    SEEN_TOO_HIGH,
    TRUNCATED,
    WENT_BACK,
    WENT_ON,
    result,
)
from judging import judge
from micro import (
    changed,
    led,
    polled,
    sampled,
    sent,
    survived,
)

from contract.checks import Check
from contract.verdicts import CheckVerdict


def test_no_check_holds_where_there_is_nothing(make_trace: TraceMaker) -> None:
    verdicts = {name: found.verdict for name, found in judge(make_trace({})).checks.items()}
    assert verdicts.pop(Check.VACUOUS_CHECK) is CheckVerdict.UNDECIDED
    assert set(verdicts.values()) == {CheckVerdict.NOT_EVALUABLE}


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
    rows = {**EXPIRED, "polls": polled(0, 1), "replica_records": survived(2, 3)}
    values = [{row["value"] for row in rows[table]} for table in ("sends", "replica_records")]
    assert len(values[0] - values[1]) == 2, "a difference of sets would call the prefix lost"
    assert result(make_trace, Check.LOST_RECORD, rows).verdict is CheckVerdict.HOLDS


def test_what_expired_with_nobody_to_read_it_is_unread(make_trace: TraceMaker) -> None:
    (one,) = result(make_trace, Check.LOST_RECORD, EXPIRED, groups=()).examples
    assert (one.kind, one.offset_last, one.evidence["groups_missed"]) == ("expired_unread", 1, 0)


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
    survived = "select * from surviving_records"
    assert sum(row["records"] for row in make_trace(HEALTHY).ask(survived)) == 4
    assert [row["offset"] for row in make_trace(rows).ask(survived)] == [3]


@pytest.mark.parametrize(
    ("commit_epoch", "verdict"),
    [
        ("forced", CheckVerdict.VIOLATED),
        ("max", CheckVerdict.VIOLATED),
        ("record", CheckVerdict.VIOLATED),
        ("none", CheckVerdict.PERMITTED),
    ],
)
def test_records_passed_in_silence(
    make_trace: TraceMaker, commit_epoch: str, verdict: CheckVerdict
) -> None:
    rows = EPOCHLESS if commit_epoch == "none" else WENT_ON
    for check in (Check.SKIPPED_RECORD, Check.TRUNCATION_UNDETECTED):
        found = result(make_trace, check, rows, commit_epoch=commit_epoch)
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


def test_a_group_that_was_killed_mid_read_went_as_far_as_it_polled(make_trace: TraceMaker) -> None:
    opened = [changed("opened", at=150), changed("opened", life=2, at=450)]
    rows = {**WENT_ON, "group_events": opened}
    (one,) = result(make_trace, Check.SKIPPED_RECORD, rows).examples
    assert (one.offset_first, one.offset_last) == (2, 3)
    # What lies beyond its last poll it may yet have read.
    rows["polls"] = [*polled(0, 1, 2, 3), *polled(4, epoch=1, producer="q", life=2, at=600)]
    assert result(make_trace, Check.SKIPPED_RECORD, rows).findings == 1


def test_a_group_that_went_on_after_it_raised_is_judged(make_trace: TraceMaker) -> None:
    raised = changed("failed", at=400, exception="TimeoutException")
    opened = [changed("opened", at=150), raised, changed("opened", life=2, at=450)]
    rows = {**WENT_ON, "group_events": opened}
    assert result(make_trace, Check.SKIPPED_RECORD, rows).verdict is CheckVerdict.VIOLATED


def test_a_group_began_where_its_reset_put_it_not_where_it_was_first_delivered(
    make_trace: TraceMaker,
) -> None:
    # The client says that it was assigned the partition after its first poll, at the position then.
    events = [
        changed("opened", at=150),
        changed("assigned", at=201, position=2),
        changed("caught_up", at=210, position=4),
    ]
    rows = {**HEALTHY, "polls": polled(2, 3), "group_events": events, "committed_offsets": []}
    found = result(make_trace, Check.SKIPPED_RECORD, rows)
    assert found.verdict is CheckVerdict.VIOLATED
    assert [(one.offset_first, one.offset_last) for one in found.examples] == [(0, 1)]
    late = {**rows, "resets": []}
    assert result(make_trace, Check.SKIPPED_RECORD, late, reset="latest").findings == 0


def test_latest_may_jump_over_records(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.SKIPPED_RECORD, JUMPED, reset="latest")
    assert found.verdict is CheckVerdict.PERMITTED
    assert found.examples[0].kind == "skipped by a reset"


def test_a_truncation_seen_too_high_skips_what_lies_below(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.SKIPPED_RECORD, SEEN_TOO_HIGH, commit_epoch="forced")
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.evidence["truncated_to"]) == ("divergent offset too high", 6)


def test_redelivery_is_counted_and_permitted(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.DUPLICATE_DELIVERY, REDELIVERED)
    assert found.verdict is CheckVerdict.PERMITTED
    (one,) = found.examples
    assert (one.offset_first, one.offset_last) == (1, 2)


def test_another_record_at_the_same_offset_is_no_redelivery(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.DUPLICATE_DELIVERY, WENT_BACK).verdict is CheckVerdict.HOLDS


def test_a_value_that_nobody_sent_is_a_phantom(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.PHANTOM_RECORD, PHANTOM).verdict is CheckVerdict.VIOLATED


def test_a_broken_checksum_is_corruption(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.CORRUPTED_RECORD, CORRUPTED).verdict is CheckVerdict.VIOLATED
    assert result(make_trace, Check.PHANTOM_RECORD, CORRUPTED).verdict is CheckVerdict.HOLDS


def test_a_fault_that_did_not_land_is_undecided(make_trace: TraceMaker) -> None:
    rows = {"faults": [{**HEALTHY["faults"][0], "landed": False}]}
    assert result(make_trace, Check.FAULT_LANDED, rows).verdict is CheckVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"missing_seqs": 1}, CheckVerdict.UNDECIDED),
        ({"malformed_lines": 1}, CheckVerdict.UNDECIDED),
        ({}, CheckVerdict.HOLDS),
        # Its end is missing: nobody knows how many lines followed.
        ({"torn_lines": 1, "ended_by_itself": False}, CheckVerdict.UNDECIDED),
        ({"ended_by_itself": False}, CheckVerdict.UNDECIDED),
        ({"duplicate_lines": 9}, CheckVerdict.PERMITTED),
        ({"unknown_fields": 2}, CheckVerdict.PERMITTED),
        ({"torn_lines": 1}, CheckVerdict.UNDECIDED),
    ],
)
def test_a_history_with_holes_is_undecided(
    make_trace: TraceMaker, fields: dict[str, Any], verdict: CheckVerdict
) -> None:
    rows = {"histories": [{**HEALTHY["histories"][0], **fields}]}
    assert result(make_trace, Check.HISTORY_COMPLETE, rows).verdict is verdict

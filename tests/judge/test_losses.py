"""Lost records in histories of a few events: each is permitted by an event, or by none."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import EXPIRED, HEALTHY, TRUNCATED, result
from micro import (
    Row,
    batch,
    epoch_started,
    epochs,
    led,
    log_bounds,
    log_started,
    polled,
    sent,
    survived,
    truncated,
)

from contract.checks import Check
from contract.verdicts import CheckVerdict, Finding

SECOND = 1_000_000
IN_SYNC = {**led(0, at=10), "isr": [1, 2]}
AFTER = led(1, at=2 * SECOND, leader=2)
ALLOWED, FORBIDDEN = {"unclean_election": True}, {"unclean_election": False}
ELECTED_CLEAN = {
    **TRUNCATED,
    "sends": [*sent(0, 1, 2, 3, at=SECOND), *sent(2, 3, 4, 5, producer="q", at=4 * SECOND)],
    "leaderships": [IN_SYNC, AFTER],
}
ELECTED_UNCLEAN = {**ELECTED_CLEAN, "leaderships": [led(0, at=10), AFTER]}
# Retention removed all that epoch 0 and the beginning of epoch 1 wrote.
EXPIRED_SINCE = {
    **ELECTED_CLEAN,
    "replica_records": survived(4, 5, epoch=1, producer="q"),
    "epoch_checkpoints": epochs((1, 4)),
    "log_starts": log_bounds(4, 6),
    "log_start_changes": [log_started(4, at=9 * SECOND, broker=2)],
    "polls": polled(0, 1, 2, 3, at=SECOND + 100_000),
}


def fault(verb: str, target: str, at: int, **columns: Any) -> Row:
    return {
        "fault": verb,
        "target_kind": target,
        "topic": "t",
        "partition": None if target == "topic" else 0,
        "landed": True,
        "injected_micros": at,
        "proved_micros": at,
        "evidence": "{}",
        **columns,
    }


def of_old_leader(found: list[Finding]) -> Finding:
    (one,) = [one for one in found if one.evidence["producer"] == "p" and one.offset_first == 2]
    return one


def test_a_flag_alone_permits_no_loss(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.LOST_RECORD, ELECTED_CLEAN, **ALLOWED)
    assert found.verdict is CheckVerdict.VIOLATED
    assert result(make_trace, Check.ORPHAN_COMMIT, ELECTED_CLEAN, **ALLOWED).findings == 0


def test_an_order_permits_a_loss_and_is_named(make_trace: TraceMaker) -> None:
    order = fault("elect unclean", "partition", 2 * SECOND)
    rows = {**ELECTED_UNCLEAN, "faults": [order]}
    found = result(make_trace, Check.LOST_RECORD, rows, **FORBIDDEN)
    assert found.verdict is CheckVerdict.PERMITTED
    (one,) = found.examples
    assert one.cause.endswith(
        "unclean election on request: broker 2, epoch 1, metadata offset 2000000"
    )
    late = {**ELECTED_UNCLEAN, "faults": [{**order, "injected_micros": 3 * SECOND}]}
    found = result(make_trace, Check.LOST_RECORD, late, **FORBIDDEN)
    assert found.verdict is CheckVerdict.VIOLATED


def test_a_loss_across_elections_that_nobody_knows_is_undecided(make_trace: TraceMaker) -> None:
    """The metadata log begins after epoch 0."""
    rows = {**ELECTED_CLEAN, "polls": polled(2, 3), "leaderships": [{**AFTER, "isr": [1, 2]}]}
    found = result(make_trace, Check.LOST_RECORD, rows, **ALLOWED)
    assert found.verdict is CheckVerdict.UNDECIDED


@pytest.mark.parametrize(
    "proof",
    [
        {"leader_epoch_starts": [epoch_started(1, 2, at=2 * SECOND, broker=2)]},
        {"truncations": [truncated(2, at=5 * SECOND)]},
        {"truncations": [truncated(2, at=5 * SECOND)], "polls": []},
    ],
    ids=["start", "read, and truncated", "truncated"],
)
def test_what_was_truncated_before_retention_was_not_deleted(
    make_trace: TraceMaker, proof: dict[str, Any]
) -> None:
    found = result(make_trace, Check.LOST_RECORD, EXPIRED_SINCE | proof, **ALLOWED, deletes=True)
    one = of_old_leader(found.examples)
    assert (one.kind, one.verdict, one.offset_last) == ("truncated", "violation", 3)


@pytest.mark.parametrize(
    "proof",
    [
        {},
        # The new leader had them: its epoch started above.
        {
            "leader_epoch_starts": [epoch_started(1, 4, at=2 * SECOND, broker=2)],
            "truncations": [truncated(2, at=5 * SECOND)],
        },
        # Another broker truncated, or the same one while it led.
        {"truncations": [truncated(2, at=5 * SECOND, broker=3)]},
        {"truncations": [truncated(2, at=1_500_000)], "polls": []},
    ],
    ids=["nothing", "start above", "no leader", "while it led"],
)
def test_what_no_truncation_took_was_deleted(make_trace: TraceMaker, proof: dict[str, Any]) -> None:
    rows = EXPIRED_SINCE | proof
    found = result(make_trace, Check.LOST_RECORD, rows, **ALLOWED, deletes=True, groups=("h",))
    assert {one.kind for one in found.examples} == {"expired_unread"}
    assert found.verdict is CheckVerdict.PERMITTED
    assert found.examples[0].cause.endswith(
        "expired_unread by segment deletion on broker 2, which raised the log start to 4"
    )


def test_an_order_permits_a_deletion(make_trace: TraceMaker) -> None:
    rows = {**EXPIRED, "faults": [fault("expire by order", "topic", 500)]}
    found = result(make_trace, Check.LOST_RECORD, rows, **FORBIDDEN)
    assert found.verdict is CheckVerdict.PERMITTED


def test_what_was_deleted_with_its_topic_is_not_truncated(make_trace: TraceMaker) -> None:
    created = {**led(0, at=6 * SECOND), "topic_id": "new"}
    rows = {
        **ELECTED_CLEAN,
        "sends": [*sent(0, 1, 2, 3, at=SECOND), *sent(0, producer="q", at=20 * SECOND)],
        "leaderships": [{**IN_SYNC, "topic_id": "old"}, {**AFTER, "topic_id": "old"}, created],
        "replica_records": survived(0, producer="q"),
        "epoch_checkpoints": epochs((0, 0)),
        "log_starts": log_bounds(0, 1),
    }
    found = result(make_trace, Check.LOST_RECORD, rows, **FORBIDDEN)
    (one,) = found.examples
    assert (one.kind, one.verdict) == ("deleted with its topic", "permitted")
    assert one.cause.endswith("created again at metadata offset 6000000")
    rows["sends"] = sent(0, 1, producer="q", at=20 * SECOND)
    found = result(make_trace, Check.LOST_RECORD, rows, **FORBIDDEN)
    assert found.verdict is CheckVerdict.VIOLATED


def test_tails_that_a_fault_cut_off_are_no_loss_of_kafkas(make_trace: TraceMaker) -> None:
    evidence = '{"1": {"removed": 1, "log_end_before": 4, "log_end_after": 3}}'
    tails = fault("cut tails", "replicas", 5 * SECOND, evidence=evidence)
    rows = {**HEALTHY, "replica_records": survived(0, 1, 2), "faults": [tails]}
    found = result(make_trace, Check.LOST_RECORD, rows, **FORBIDDEN)
    assert [(one.kind, one.verdict) for one in found.examples] == [("tail truncated", "permitted")]
    rows["replica_records"] = survived(0, 1, 3)
    found = result(make_trace, Check.LOST_RECORD, rows, **FORBIDDEN)
    assert found.verdict is CheckVerdict.VIOLATED


def test_acks_of_the_leader_alone_end_with_it(make_trace: TraceMaker) -> None:
    sends = [{**row, "acks": "1"} for row in ELECTED_CLEAN["sends"]]
    found = result(make_trace, Check.LOST_RECORD, {**ELECTED_CLEAN, "sends": sends}, **FORBIDDEN)
    assert found.verdict is CheckVerdict.PERMITTED
    assert found.examples[0].cause.endswith("acks=1 does not wait for replication")


def test_records_that_were_not_decoded_are_not_lost_for_sure(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "replica_records": [], "replica_batches": [batch(0, 3)]}
    found = result(make_trace, Check.LOST_RECORD, rows, **FORBIDDEN)
    assert found.verdict is CheckVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        ("RecordTooLargeException", CheckVerdict.VIOLATED),
        ("NotEnoughReplicasException", CheckVerdict.UNDECIDED),
        ("TimeoutException", CheckVerdict.UNDECIDED),
        (None, CheckVerdict.UNDECIDED),
    ],
)
def test_a_send_that_failed_is_in_no_log(
    make_trace: TraceMaker, error: str | None, verdict: CheckVerdict
) -> None:
    failed = {**sent(3)[0], "outcome": "failed", "offset": None, "error": error}
    rows = {**HEALTHY, "sends": [*sent(0, 1, 2), failed]}
    found = result(make_trace, Check.OUTCOME_MISMATCH, rows)
    assert (found.verdict, found.evaluated) == (verdict, 4)
    assert [one.offset_first for one in found.examples] == [3]
    for other in ({"outcome": "unknown"}, {"transaction": 1}):
        kept = {**rows, "sends": [*sent(0, 1, 2), {**failed, **other}]}
        assert result(make_trace, Check.OUTCOME_MISMATCH, kept).findings == 0
    gone = {**rows, "replica_records": survived(0, 1, 2)}
    assert result(make_trace, Check.OUTCOME_MISMATCH, gone).verdict is CheckVerdict.HOLDS

"""Where records are in histories of a few events (A2, A3, A7, A9)."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import HEALTHY, TRUNCATED, WENT_BACK, result
from micro import Row, batch, changed, epochs, led, log_bounds, polled, sampled, sent, survived

from contract.checks import Check
from contract.verdicts import CheckVerdict

LATER = 1_000_000


def test_what_a_group_has_yet_to_come_to_is_late(make_trace: TraceMaker) -> None:
    whole = result(make_trace, Check.UNSEEN_RECORD, HEALTHY)
    assert (whole.verdict, whole.evaluated) == (CheckVerdict.HOLDS, 4)
    rows = {**HEALTHY, "polls": polled(0, 1), "group_events": [changed("opened", at=150)]}
    found = result(make_trace, Check.UNSEEN_RECORD, rows, groups=("g", "h"))
    assert (found.verdict, found.evaluated) == (CheckVerdict.PERMITTED, 8)
    some, everything = found.examples
    assert (some.kind, some.group, some.offset_first, some.offset_last) == (
        "yet to come",
        "g",
        2,
        3,
    )
    assert (everything.kind, everything.evidence["records"]) == ("never began", 4)


def test_what_is_lost_or_expired_is_not_unseen(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "polls": polled(0, 1), "group_events": [changed("opened", at=150)]}
    lost = {**rows, "replica_records": survived(0, 1)}
    assert result(make_trace, Check.UNSEEN_RECORD, lost).verdict is CheckVerdict.HOLDS
    expired = {**rows, "log_starts": log_bounds(4, 4)}
    assert result(make_trace, Check.UNSEEN_RECORD, expired).verdict is CheckVerdict.HOLDS


def test_without_a_reader_nothing_is_unseen(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.UNSEEN_RECORD, HEALTHY, groups=())
    assert found.verdict is CheckVerdict.NOT_EVALUABLE


def appended(first: int, last: int, *, producer_id: int = 7, epoch: int = 0) -> Row:
    return {
        "broker": 1,
        "topic": "t",
        "partition": 0,
        "base_offset": first,
        "last_offset": last,
        "leader_epoch": 0,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "is_control": False,
    }


@pytest.mark.parametrize(
    ("batches", "verdict", "kind"),
    [
        ([appended(0, 1), appended(2, 3)], CheckVerdict.VIOLATED, "in one producer epoch"),
        (
            [appended(0, 3, producer_id=-1, epoch=-1)],
            CheckVerdict.PERMITTED,
            "without idempotence",
        ),
        (
            [appended(0, 1), appended(2, 3, epoch=1)],
            CheckVerdict.UNDECIDED,
            "under another producer epoch",
        ),
        ([], CheckVerdict.UNDECIDED, "under another producer epoch"),
    ],
)
def test_a_value_that_was_appended_twice(
    make_trace: TraceMaker, batches: list[Row], verdict: CheckVerdict, kind: str
) -> None:
    again = {**survived(1)[0], "offset": 3}
    rows = {**HEALTHY, "replica_records": [*survived(0, 1, 2), again], "replica_batches": batches}
    found = result(make_trace, Check.DUPLICATE_APPEND, rows)
    assert (found.verdict, found.evaluated) == (verdict, 4)
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == (kind, 1, 3)


def test_one_record_in_two_replicas_is_appended_once(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "log_starts": [*log_bounds(0, 4), *log_bounds(0, 4, broker=2)]}
    rows["replica_records"] = [*survived(0, 1, 2), *survived(0, 1, 2, broker=2)]
    rows["leaderships"] = [{**HEALTHY["leaderships"][0], "isr": [1, 2]}]
    found = result(make_trace, Check.DUPLICATE_APPEND, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 3)
    rows["replica_records"] = []
    assert result(make_trace, Check.DUPLICATE_APPEND, rows).verdict is CheckVerdict.NOT_EVALUABLE


# Epoch 0's records 2 and 3 are there at the end, though 2 was another one's in epoch 1: the leader
# of epoch 0 was elected again, out of sync with that of epoch 1.
CAME_BACK = {
    **TRUNCATED,
    "leaderships": [*TRUNCATED["leaderships"], led(2, at=2 * LATER)],
    "epoch_checkpoints": epochs((0, 0), (2, 4)),
    "replica_records": survived(0, 1, 2, 3),
    "polls": polled(0, 1, 2, epoch=1, producer="q", at=LATER),
}


@pytest.mark.parametrize("unclean", [True, False])
def test_a_record_that_came_back(make_trace: TraceMaker, *, unclean: bool) -> None:
    rows = {**CAME_BACK, "polls": [*polled(0, 1), *CAME_BACK["polls"][2:]]}
    found = result(make_trace, Check.RESURRECTED_RECORD, rows, unclean_election=unclean)
    assert found.verdict is (CheckVerdict.PERMITTED if unclean else CheckVerdict.VIOLATED)
    (one,) = found.examples
    assert (one.group, one.offset_first, one.offset_last) == ("g", 2, 2)


def test_a_record_came_back_without_an_election(make_trace: TraceMaker) -> None:
    tables = ("leaderships", "epoch_checkpoints")
    rows = CAME_BACK | {table: TRUNCATED[table] for table in tables}
    found = result(make_trace, Check.RESURRECTED_RECORD, rows, unclean_election=True)
    assert found.verdict is CheckVerdict.VIOLATED


def test_a_record_that_was_truncated_for_good(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.RESURRECTED_RECORD, WENT_BACK, unclean_election=False)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 8)


def test_a_record_that_was_written_after_another_was_read(make_trace: TraceMaker) -> None:
    rows = {**CAME_BACK, "sends": sent(0, 1, 2, 3, at=2 * LATER)}
    found = result(make_trace, Check.RESURRECTED_RECORD, rows, unclean_election=False)
    assert found.verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("assigned", "reported", "verdict"),
    [
        (50, LATER, CheckVerdict.PERMITTED),
        (2 * LATER, LATER, CheckVerdict.VIOLATED),
        (50, 4 * LATER, CheckVerdict.HOLDS),
        (50, 3 * LATER - 10, CheckVerdict.HOLDS),
    ],
    ids=["fetched before", "opened after", "deleted after", "within the clocks' bound"],
)
def test_a_record_below_the_log_start_is_returned(
    make_trace: TraceMaker, assigned: int, reported: int, verdict: CheckVerdict
) -> None:
    rows: dict[str, Any] = {
        **HEALTHY,
        "samples": [sampled(4, at=40), sampled(4, at=reported, start=2)],
        "polls": polled(1, 2, 3, at=3 * LATER),
        "group_events": [changed("assigned", at=assigned, position=1)],
    }
    found = result(make_trace, Check.EXPIRED_READ, rows)
    assert (found.verdict, found.evaluated) == (verdict, 3)
    for one in found.examples:
        assert (one.offset_first, one.evidence["records"]) == (1, 1)
        assert one.evidence["log_start"] == 2


def test_without_a_log_start_nothing_is_below_it(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "samples": [sampled(-1, at=40, start=-1, broker=2)]}
    assert result(make_trace, Check.EXPIRED_READ, rows).verdict is CheckVerdict.NOT_EVALUABLE


def test_an_idempotent_producer_appends_once_whatever_its_batches_say(
    make_trace: TraceMaker,
) -> None:
    again = {**survived(1)[0], "offset": 3}
    rows = {
        **HEALTHY,
        "sends": [{**row, "is_idempotent": True} for row in HEALTHY["sends"]],
        "replica_records": [*survived(0, 1, 2), again],
        "replica_batches": [{**batch(0, 3), "is_control": False}],
    }
    found = result(make_trace, Check.DUPLICATE_APPEND, rows)
    assert found.verdict is CheckVerdict.VIOLATED

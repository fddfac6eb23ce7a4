"""Transactions in histories of a few events: each check holds, is violated, can't tell."""

import pytest
from conftest import TraceMaker
from micro import Row, changed, epochs, led, log_bounds, polled, survived
from transactional import Rows, batch, result, step, wrote

from contract.checks import Check
from contract.verdicts import CheckVerdict

# p wrote 0 and 1 under epoch 0 and lost its office to q, which committed 3 and 4 under epoch 2.
REFUSED = step("commit", "fenced", 0, at=500, outcome="failed", error="ProducerFencedException")
ZOMBIE: Rows = {
    "transactions": [
        step("begin", "begun", 0, at=90),
        step("initialize", "initialized", 2, at=300, producer="q", transaction=None),
        step("begin", "begun", 2, at=390, producer="q"),
        REFUSED,
        step("commit", "committed", 3, at=600, producer="q"),
    ],
    "sends": [*wrote(0, 1, at=100), *wrote(3, 4, at=400, producer="q")],
    "polls": polled(3, 4, producer="q", at=700),
    "group_events": [
        changed("opened", at=50),
        changed("assigned", at=60, position=0),
        changed("caught_up", at=710, position=6),
    ],
    "replica_batches": [
        batch(0, 1, 0),
        batch(2, 2, 1, "abort"),
        batch(3, 4, 2),
        batch(5, 5, 3, "commit"),
    ],
    "replica_records": [*survived(0, 1), *survived(3, 4, producer="q")],
    "epoch_checkpoints": epochs((0, 0)),
    "leaderships": [led(0, at=10)],
    "log_starts": log_bounds(0, 6),
}


def with_steps(*added: Row, without: Row = REFUSED) -> Rows:
    kept = [row for row in ZOMBIE["transactions"] if row != without]
    return {**ZOMBIE, "transactions": [*kept, *added]}


@pytest.mark.parametrize(
    ("check", "evaluated"),
    [
        (Check.ZOMBIE_PRODUCER_ACCEPTED, 5),
        (Check.ABORTED_READ, 2),
        (Check.TORN_TRANSACTION, 2),
        (Check.PRECOMMITTED_READ, 2),
        (Check.HANGING_TRANSACTION, 2),
        (Check.MISAPPLIED_MARKER, 2),
        (Check.WRITE_CYCLE, 1),
    ],
)
def test_a_zombie_that_is_refused_and_hidden(
    make_trace: TraceMaker, check: Check, evaluated: int
) -> None:
    found = result(make_trace, check, ZOMBIE)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, evaluated)


def test_an_old_epoch_behind_a_newer_one_in_the_log(make_trace: TraceMaker) -> None:
    rows = {**ZOMBIE, "replica_batches": [*ZOMBIE["replica_batches"], batch(6, 8, 0)]}
    found = result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows)
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == ("appended", 6, 8)
    assert (one.evidence["producer_epoch"], one.evidence["newer_epoch"]) == (0, 3)


def test_an_epoch_that_is_raised_by_each_commit_is_not_an_old_one(make_trace: TraceMaker) -> None:
    batches = [batch(0, 1, 0), batch(2, 2, 1, "commit"), batch(3, 4, 1), batch(5, 5, 2, "commit")]
    rows = {**ZOMBIE, "replica_batches": batches}
    found = result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows)
    assert found.verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("batches", "ahead"),
    [
        ([batch(6, 7, 4), batch(8, 9, 4, base_sequence=2)], None),
        ([batch(6, 7, 4), batch(8, 9, 4, base_sequence=5)], 3),
        ([batch(6, 7, 4), batch(8, 9, 4)], None),
        ([batch(6, 7, 4), batch(9, 9, 4, base_sequence=3)], None),
        ([batch(6, 7, 4, base_sequence=2**31 - 2), batch(8, 9, 4, base_sequence=1)], 1),
    ],
    ids=["in sequence", "gap", "the same again", "a replica lacks offsets", "after the largest"],
)
def test_sequence_numbers_follow_each_other(
    make_trace: TraceMaker, batches: list[Row], ahead: int | None
) -> None:
    rows = {**ZOMBIE, "replica_batches": [*ZOMBIE["replica_batches"], *batches]}
    found = result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows)
    reported = [(one.kind, one.offset_first, one.evidence["ahead"]) for one in found.examples]
    assert reported == ([] if ahead is None else [("gap", 8, ahead)])


def test_gaps_of_a_producer_without_transactions_are_found(make_trace: TraceMaker) -> None:
    batches = [batch(0, 1, 4), batch(2, 3, 4, base_sequence=5)]
    rows: Rows = {
        "sends": [{**row, "transaction": None} for row in wrote(0, 1, 2, 3, at=100)],
        "replica_batches": [{**row, "is_transactional": False} for row in batches],
        "replica_records": survived(0, 1, 2, 3),
        "epoch_checkpoints": epochs((0, 0)),
        "leaderships": [led(0, at=10)],
        "log_starts": log_bounds(0, 4),
    }
    found = result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.VIOLATED, 1)
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.evidence["ahead"]) == ("gap", 2, 3)


def test_what_a_zombie_was_reported_is_accepted(make_trace: TraceMaker) -> None:
    rows = with_steps(step("commit", "committed", 0, at=500))
    rows["sends"] = [*rows["sends"], *wrote(6, 7, at=450)]
    found = result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows)
    assert found.verdict is CheckVerdict.VIOLATED
    assert sorted((one.kind, one.offset_last) for one in found.examples if one.kind == "send") == [
        ("send", 7)
    ]
    assert {one.kind for one in found.examples} == {"send", "commit"}
    assert all(one.evidence["newer_epoch"] == 2 for one in found.examples)
    assert found.evaluated == 4 + 3


@pytest.mark.parametrize(
    ("refused", "verdict"),
    [
        ({"outcome": "unknown", "error": "TimeoutException"}, CheckVerdict.UNDECIDED),
        ({"outcome": "ok", "worker": "another node"}, CheckVerdict.UNDECIDED),
        ({"outcome": "failed", "error": "InvalidTxnStateException"}, CheckVerdict.PERMITTED),
    ],
)
def test_what_became_of_a_zombies_commit(
    make_trace: TraceMaker, refused: Rows, verdict: CheckVerdict
) -> None:
    rows = with_steps(step("commit", "failed", 0, at=500, **refused))
    assert result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows).verdict is verdict


def test_a_client_that_tells_no_epoch_can_not_be_called_a_zombie(make_trace: TraceMaker) -> None:
    begun = step("begin", "begun", 0, at=90)
    rows = with_steps(
        step("begin", "begun", -1, at=90), step("commit", "committed", -1, at=500), without=begun
    )
    found = result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows)
    assert found.verdict is CheckVerdict.UNDECIDED


def test_without_any_raised_epoch_there_is_no_zombie(make_trace: TraceMaker) -> None:
    rows = {"transactions": [step("begin", "begun", 0, at=90)], "sends": wrote(0, at=100)}
    found = result(make_trace, Check.ZOMBIE_PRODUCER_ACCEPTED, rows)
    assert found.verdict is CheckVerdict.NOT_EVALUABLE


def test_an_aborted_transaction_is_delivered_as_committed(make_trace: TraceMaker) -> None:
    rows = {**ZOMBIE, "polls": [*polled(0, 1, at=150), *ZOMBIE["polls"]]}
    found = result(make_trace, Check.ABORTED_READ, rows)
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.group, one.offset_first, one.offset_last) == ("aborted", "g", 0, 1)


def test_a_failed_send_is_delivered(make_trace: TraceMaker) -> None:
    rows = {**ZOMBIE, "sends": [*wrote(0, 1, at=100), *wrote(3, 4, at=400, outcome="failed")]}
    rows["polls"] = polled(3, at=700)
    (one,) = result(make_trace, Check.ABORTED_READ, rows).examples
    assert (one.kind, one.verdict, one.offset_first) == ("failed", "violation", 3)


@pytest.mark.parametrize(
    ("marker", "verdict"),
    [
        (None, CheckVerdict.UNDECIDED),
        ("abort", CheckVerdict.VIOLATED),
        ("commit", CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_where_the_client_can_not_tell_the_marker_does(
    make_trace: TraceMaker, marker: str | None, verdict: CheckVerdict
) -> None:
    unknown = step("commit", "failed", 0, at=500, outcome="unknown", error="TimeoutException")
    rows = {
        **with_steps(unknown),
        "polls": [*polled(0, 1, at=550), *ZOMBIE["polls"]],
        "replica_batches": [batch(0, 1, 0), *([batch(2, 2, 1, marker)] if marker else [])],
    }
    assert result(make_trace, Check.ABORTED_READ, rows).verdict is verdict


@pytest.mark.parametrize(("got", "kind"), [((3,), "torn"), ((), "hidden")])
def test_a_committed_transaction_is_not_all_there(
    make_trace: TraceMaker, got: tuple[int, ...], kind: str
) -> None:
    other = polled(2, producer="r", at=690)
    rows = {**ZOMBIE, "polls": [*other, *polled(*got, producer="q", at=700)]}
    found = result(make_trace, Check.TORN_TRANSACTION, rows, unclean_election=False)
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.offset_last, one.evidence["seen"]) == (kind, 4, len(got))


def test_an_unclean_election_that_came_after_permits_the_loss_of_a_write(
    make_trace: TraceMaker,
) -> None:
    """Not the setting alone: the election out of the ISR, whose epoch starts below the write."""
    rows = {
        **ZOMBIE,
        "polls": polled(3, producer="q", at=700_000),
        "group_events": [*ZOMBIE["group_events"][:2], changed("caught_up", at=710_000, position=6)],
        "replica_records": survived(3, producer="q"),
        "epoch_checkpoints": epochs((0, 0), (1, 4)),
    }
    elected = [*ZOMBIE["leaderships"], led(1, at=500_000, leader=2)]
    clean = [{**led(0, at=10), "isr": [1, 2]}, led(1, at=500_000, leader=2)]
    for leaderships, verdict in (
        (ZOMBIE["leaderships"], CheckVerdict.VIOLATED),
        (clean, CheckVerdict.VIOLATED),
        (elected, CheckVerdict.PERMITTED),
    ):
        lost = {**rows, "leaderships": leaderships}
        found = result(make_trace, Check.TORN_TRANSACTION, lost, unclean_election=True)
        assert found.verdict is verdict
    assert "unclean election by configuration: broker 2, epoch 1" in found.examples[0].cause
    # The group had gone past before, when the log had the write: KIP-98, isolation.level.
    before = lost | {"polls": polled(3, producer="q", at=700)}
    before["group_events"] = ZOMBIE["group_events"]
    found = result(make_trace, Check.TORN_TRANSACTION, before, unclean_election=True)
    assert found.verdict is CheckVerdict.VIOLATED


def test_a_refused_commit_may_have_come_through_before(make_trace: TraceMaker) -> None:
    """EndTxn succeeds, its answer is lost, a successor is initialized, and the retry is fenced."""
    for marker, verdict in (
        ("commit", CheckVerdict.NOT_EVALUABLE),
        (None, CheckVerdict.UNDECIDED),
        ("abort", CheckVerdict.VIOLATED),
    ):
        rows = {
            **ZOMBIE,
            "polls": [*polled(0, 1, at=550), *ZOMBIE["polls"]],
            "replica_batches": [batch(0, 1, 0), *([batch(2, 2, 1, marker)] if marker else [])],
        }
        assert result(make_trace, Check.ABORTED_READ, rows).verdict is verdict


def test_the_marker_decides_against_the_clients_word(make_trace: TraceMaker) -> None:
    rows = with_steps(step("abort", "aborted", 0, at=500))
    rows |= {
        "polls": [*polled(0, 1, at=550), *ZOMBIE["polls"]],
        "replica_batches": [batch(0, 1, 0), batch(2, 2, 1, "commit")],
    }
    assert result(make_trace, Check.ABORTED_READ, rows).verdict is CheckVerdict.NOT_EVALUABLE
    assert result(make_trace, Check.MISAPPLIED_MARKER, rows).verdict is CheckVerdict.VIOLATED


def test_a_write_of_which_nothing_tells_that_it_was_appended(make_trace: TraceMaker) -> None:
    (lost,) = wrote(4, at=400, producer="q", outcome="unknown")
    rows = {
        **ZOMBIE,
        "sends": [*wrote(3, at=400, producer="q"), {**lost, "offset": None}],
        "polls": polled(3, producer="q", at=700),
        "replica_records": survived(3, producer="q"),
    }
    found = result(make_trace, Check.TORN_TRANSACTION, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.UNDECIDED, 2)


def test_what_a_group_has_yet_to_read_is_not_torn(make_trace: TraceMaker) -> None:
    rows = {**ZOMBIE, "polls": polled(3, producer="q", at=700), "group_events": []}
    rows["group_events"] = [changed("opened", at=50)]
    found = result(make_trace, Check.TORN_TRANSACTION, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 1)


def test_what_a_transaction_wrote_is_not_skipped_by_who_reads_committed_values(
    make_trace: TraceMaker,
) -> None:
    rows = {**ZOMBIE, "committed_offsets": [], "polls": polled(0, 3, 4, producer="q", at=700)}
    assert result(make_trace, Check.SKIPPED_RECORD, rows).verdict is CheckVerdict.HOLDS
    beside = {**rows, "sends": [{**row, "transaction": None} for row in rows["sends"]]}
    skipped = result(make_trace, Check.SKIPPED_RECORD, beside)
    assert [(one.offset_first, one.offset_last) for one in skipped.examples] == [(0, 1)]

"""What ends transactions, and what they see of each other, in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
from micro import Row, changed, committed, epochs, led, log_bounds, polled, survived
from transactional import Rows, batch, result, step, wrote

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000
OUT = {"partition": 1}
ID = {"producer_id": 8}


def of_copier(name: str, change: str, *, at: int, **fields: Any) -> Row:
    return step(name, change, 0, at=at, producer="q", **ID, **fields)


def offsets_of(marker: str | None, offset: int = 2) -> Row:
    """The offsets that the copier sent along."""
    return {**committed(offset, 0, at=600), **ID, "producer_epoch": 0, "marker": marker}


# p writes 0 and 1 and commits. Then q copies both to partition 1, and commits the offsets along.
COPIED: Rows = {
    "transactions": [
        step("begin", "begun", 0, at=90),
        step("commit", "committed", 0, at=300),
        of_copier("begin", "begun", at=500),
        of_copier("send_offsets", "offsets_sent", at=600),
        of_copier("commit", "committed", at=700),
    ],
    "sends": [*wrote(0, 1, at=100), *wrote(0, 1, at=550, producer="q", **OUT)],
    "polls": polled(0, 1, at=520),
    "group_events": [changed("opened", at=50), changed("assigned", at=60, position=0)],
    "replica_batches": [
        batch(0, 1, 0),
        batch(2, 2, 0, "commit"),
        batch(0, 1, 0, **ID, **OUT),
        batch(2, 2, 0, "commit", **ID, **OUT),
    ],
    "replica_records": [
        *survived(0, 1),
        *[{**row, **OUT} for row in survived(0, 1, producer="q")],
    ],
    "committed_offsets": [offsets_of("commit")],
    "epoch_checkpoints": epochs((0, 0)),
    "leaderships": [led(0, at=10)],
    "log_starts": [*log_bounds(0, 3), {**log_bounds(0, 3)[0], **OUT}],
}


def without(table: str, *indices: int, rows: Rows = COPIED) -> list[Row]:
    return [row for index, row in enumerate(rows[table]) if index not in indices]


@pytest.mark.parametrize(
    ("check", "evaluated"),
    [
        (Check.WRITE_CYCLE, 2),
        (Check.CIRCULAR_INFORMATION, 1),
        (Check.PRECOMMITTED_READ, 2),
        (Check.HANGING_TRANSACTION, 2),
        (Check.MISAPPLIED_MARKER, 2),
        (Check.OFFSETS_WITHOUT_OUTPUT, 1),
        (Check.OUTPUT_WITHOUT_OFFSETS, 1),
    ],
)
def test_a_copy_that_is_whole(make_trace: TraceMaker, check: Check, evaluated: int) -> None:
    found = result(make_trace, check, COPIED)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, evaluated)


@pytest.mark.parametrize(
    "check",
    [
        Check.CIRCULAR_INFORMATION,
        Check.OFFSETS_WITHOUT_OUTPUT,
        Check.OUTPUT_WITHOUT_OFFSETS,
    ],
)
def test_a_run_of_old_tells_no_transaction_of_offsets(make_trace: TraceMaker, check: Check) -> None:
    rows = {**COPIED, "committed_offsets": [committed(2, 0, at=600)]}
    assert result(make_trace, check, rows).verdict is CheckVerdict.NOT_EVALUABLE


def test_transactions_that_write_right_after_each_other(make_trace: TraceMaker) -> None:
    sends = [*wrote(0, 2, at=100), *wrote(1, at=550, producer="q")]
    found = result(make_trace, Check.WRITE_CYCLE, {**COPIED, "sends": sends})
    assert (found.verdict, found.evaluated) == (CheckVerdict.PERMITTED, 2)
    (one,) = found.examples
    assert (one.kind, one.evidence["first"]["producer"]) == ("in one partition", "p")
    # Two partitions, each in another order.
    sends = [*wrote(0, at=100), *wrote(1, at=550, producer="q")]
    sends += [*wrote(1, at=100, **OUT), *wrote(0, at=550, producer="q", **OUT)]
    found = result(make_trace, Check.WRITE_CYCLE, {**COPIED, "sends": sends})
    assert [one.kind for one in found.examples] == ["in two partitions"]
    refused = {**COPIED["transactions"][-1], "outcome": "failed", "change": "failed"}
    steps = [*without("transactions", 4), refused]
    found = result(make_trace, Check.WRITE_CYCLE, {**COPIED, "sends": sends, "transactions": steps})
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 1)


def test_transactions_that_read_each_other(make_trace: TraceMaker) -> None:
    back = {**offsets_of("commit", 2), **OUT, "producer_id": 7}
    rows = {**COPIED, "committed_offsets": [offsets_of("commit"), back]}
    found = result(make_trace, Check.CIRCULAR_INFORMATION, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.VIOLATED, 2)
    assert [one.kind for one in found.examples] == ["read each other"]
    rows["committed_offsets"] = [offsets_of("commit"), {**back, "marker": "abort"}]
    assert result(make_trace, Check.CIRCULAR_INFORMATION, rows).verdict is CheckVerdict.HOLDS


def test_a_transaction_that_reads_itself_or_writes_before(make_trace: TraceMaker) -> None:
    itself = {**offsets_of("commit", 2), **OUT}
    rows = {**COPIED, "committed_offsets": [itself]}
    (one,) = result(make_trace, Check.CIRCULAR_INFORMATION, rows).examples
    assert (one.kind, one.verdict, one.partition) == ("read itself", "violation", 1)
    # q reads what p wrote to 0-1, and wrote to partition 1 right before p did.
    rows = {**COPIED, "sends": [*COPIED["sends"], *wrote(2, at=120, **OUT)]}
    (one,) = result(make_trace, Check.CIRCULAR_INFORMATION, rows).examples
    assert (one.kind, one.verdict) == ("read, then written before", "permitted")


@pytest.mark.parametrize(
    ("at", "worker", "verdict"),
    [
        (250, "w", CheckVerdict.VIOLATED),
        (250, "v", CheckVerdict.UNDECIDED),
        (310, "w", CheckVerdict.HOLDS),
    ],
)
def test_a_value_that_is_read_before_its_commit(
    make_trace: TraceMaker, at: int, worker: str, verdict: CheckVerdict
) -> None:
    rows = {**COPIED, "polls": [{**row, "worker": worker} for row in polled(0, 1, at=at)]}
    found = result(make_trace, Check.PRECOMMITTED_READ, rows)
    assert (found.verdict, found.evaluated) == (verdict, 2)


def test_a_value_whose_commit_nobody_began_is_not_precommitted(make_trace: TraceMaker) -> None:
    rows = {**COPIED, "transactions": without("transactions", 1)}
    found = result(make_trace, Check.PRECOMMITTED_READ, rows)
    assert found.verdict is CheckVerdict.NOT_EVALUABLE


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([of_copier("describe", "described", at=9 * SECOND)], CheckVerdict.UNDECIDED),
        ([of_copier("describe", "described", at=20 * SECOND)], CheckVerdict.VIOLATED),
    ],
    ids=["just ended", "long ended"],
)
def test_a_committed_transaction_without_a_marker(
    make_trace: TraceMaker, steps: list[Row], verdict: CheckVerdict
) -> None:
    rows = {**COPIED, "replica_batches": without("replica_batches", 3)}
    rows["transactions"] = [*COPIED["transactions"], *steps]
    found = result(make_trace, Check.HANGING_TRANSACTION, rows)
    assert (found.verdict, found.evaluated) == (verdict, 2)
    (one,) = found.examples
    assert (one.kind, one.partition, one.offset_last) == ("ended without a marker", 1, 1)


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        (of_copier("describe", "described", at=20 * SECOND, state="Ongoing"), "permitted"),
        (of_copier("describe", "described", at=1000 * SECOND, state="Ongoing"), "violated"),
    ],
    ids=["open", "open for too long"],
)
def test_a_transaction_that_nobody_ended(make_trace: TraceMaker, last: Row, verdict: str) -> None:
    rows = {**COPIED, "replica_batches": without("replica_batches", 3)}
    rows["transactions"] = [*without("transactions", 4), {**last, "producer": ""}]
    found = result(make_trace, Check.HANGING_TRANSACTION, rows)
    assert (found.verdict, found.examples[0].kind) == (verdict, "open")


def test_a_successor_is_initialized_only_after_the_marker(make_trace: TraceMaker) -> None:
    rows = {**COPIED, "replica_batches": without("replica_batches", 3)}
    taken = step("initialize", "initialized", 2, at=800, producer="r", transaction=None, **ID)
    late = {**step("describe", "described", 2, at=20 * SECOND, producer=""), "state": "Empty"}
    rows["transactions"] = [*without("transactions", 4), taken, late]
    found = result(make_trace, Check.HANGING_TRANSACTION, rows)
    assert (found.verdict, found.examples[0].kind) == ("violated", "ended without a marker")


def test_a_marker_of_another_kind(make_trace: TraceMaker) -> None:
    aborted = [*without("replica_batches", 1), batch(2, 2, 0, "abort")]
    found = result(make_trace, Check.MISAPPLIED_MARKER, {**COPIED, "replica_batches": aborted})
    (one,) = found.examples
    assert (one.kind, one.verdict, one.evidence["reported"]) == (
        "contrary",
        "violation",
        "committed",
    )


def test_a_marker_that_comes_in_the_middle(make_trace: TraceMaker) -> None:
    sends = [*wrote(0, 2, at=100), *wrote(0, 1, at=550, producer="q", **OUT)]
    early = [batch(0, 0, 0), batch(1, 1, 0, "commit"), batch(2, 2, 0), batch(3, 3, 0, "commit")]
    rows = {**COPIED, "sends": sends}
    rows["replica_batches"] = [*early, *COPIED["replica_batches"][2:]]
    found = result(make_trace, Check.MISAPPLIED_MARKER, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.VIOLATED, 2)
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == ("split", 0, 2)


def test_a_transaction_that_is_committed_here_and_aborted_there(make_trace: TraceMaker) -> None:
    sends = [*COPIED["sends"], *wrote(5, at=110, **OUT)]
    there = [batch(5, 5, 0, **OUT), batch(6, 6, 0, "abort", **OUT)]
    rows = {**COPIED, "sends": sends, "replica_batches": [*COPIED["replica_batches"], *there]}
    (one,) = result(make_trace, Check.MISAPPLIED_MARKER, rows).examples
    assert (one.kind, one.verdict) == ("mixed", "violation")


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([], CheckVerdict.VIOLATED),
        (
            [
                step(
                    "commit", "fenced", 0, at=300, outcome="failed", error="ProducerFencedException"
                )
            ],
            CheckVerdict.UNDECIDED,
        ),
        (
            [step("commit", "failed", 0, at=300, outcome="unknown", error="TimeoutException")],
            CheckVerdict.HOLDS,
        ),
        ([step("abort", "aborted", 0, at=300)], CheckVerdict.VIOLATED),
    ],
    ids=["never asked", "refused", "unknown", "aborted"],
)
def test_a_commit_marker_against_the_clients_word(
    make_trace: TraceMaker, steps: list[Row], verdict: CheckVerdict
) -> None:
    rows = {**COPIED, "transactions": [*without("transactions", 1), *steps]}
    assert result(make_trace, Check.MISAPPLIED_MARKER, rows).verdict is verdict


@pytest.mark.parametrize(
    ("changes", "kind", "verdict"),
    [
        ({"replica_batches": 3, "control": "abort"}, "aborted", CheckVerdict.VIOLATED),
        ({"replica_batches": 3}, "not ended", CheckVerdict.UNDECIDED),
        ({"replica_records": 3}, "lost", CheckVerdict.VIOLATED),
    ],
)
def test_offsets_are_committed_and_the_output_is_not(
    make_trace: TraceMaker, changes: Rows, kind: str, verdict: CheckVerdict
) -> None:
    rows = dict(COPIED)
    for table in ("replica_batches", "replica_records"):
        if table in changes:
            rows[table] = without(table, changes[table])
    if "control" in changes:
        rows["replica_batches"] += [batch(2, 2, 0, changes["control"], **ID, **OUT)]
    found = result(make_trace, Check.OFFSETS_WITHOUT_OUTPUT, rows, unclean_election=False)
    assert (found.verdict, found.evaluated) == (verdict, 1)
    assert [one.kind for one in found.examples] == [kind]
    if kind == "lost":
        rows["leaderships"] = [{**led(0, at=10), **OUT}, {**led(1, at=900_000, leader=2), **OUT}]
        for unclean, allowed in ((True, "permitted"), (False, "violated")):
            found = result(make_trace, Check.OFFSETS_WITHOUT_OUTPUT, rows, unclean_election=unclean)
            assert found.verdict == allowed


@pytest.mark.parametrize(
    ("stored", "kind", "verdict"),
    [
        ([offsets_of("abort")], "aborted", CheckVerdict.VIOLATED),
        ([offsets_of(None)], "not ended", CheckVerdict.UNDECIDED),
        ([{**committed(2, 0), "producer_id": -1}], "not stored", CheckVerdict.VIOLATED),
    ],
)
def test_the_output_is_committed_and_the_offsets_are_not(
    make_trace: TraceMaker, stored: list[Row], kind: str, verdict: CheckVerdict
) -> None:
    rows = {**COPIED, "committed_offsets": stored}
    found = result(make_trace, Check.OUTPUT_WITHOUT_OFFSETS, rows)
    assert (found.verdict, found.evaluated) == (verdict, 1)
    assert [one.kind for one in found.examples] == [kind]


def test_a_transaction_that_is_aborted_in_all_places(make_trace: TraceMaker) -> None:
    aborted = [*without("replica_batches", 3), batch(2, 2, 0, "abort", **ID, **OUT)]
    rows = {**COPIED, "committed_offsets": [offsets_of("abort")], "replica_batches": aborted}
    rows["transactions"] = [*without("transactions", 4), of_copier("abort", "aborted", at=700)]
    for check in (Check.OFFSETS_WITHOUT_OUTPUT, Check.OUTPUT_WITHOUT_OFFSETS):
        assert result(make_trace, check, rows).verdict is CheckVerdict.NOT_EVALUABLE
    assert result(make_trace, Check.MISAPPLIED_MARKER, rows).verdict is CheckVerdict.HOLDS


def test_going_back_to_aborted_offsets_is_not_going_back_to_a_commit(
    make_trace: TraceMaker,
) -> None:
    rows = {**COPIED, "polls": [*polled(0, 1, at=520), *polled(1, at=650)]}
    for marker, verdict in (("commit", "permitted"), ("abort", "violated"), (None, "violated")):
        rows["committed_offsets"] = [offsets_of(marker, 1)]
        assert result(make_trace, Check.NONMONOTONIC_POLL, rows).verdict == verdict

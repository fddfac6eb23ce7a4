"""Order in histories of a few events: sent, polled, and seen by several readers (B)."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import HEALTHY, TRUNCATED, WENT_BACK, result
from micro import Row, changed, committed, led, polled, reset_reported, sent, survived

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000
# Read in one session, 0 to 3 of one epoch.
READ = {**HEALTHY, "resets": [], "polls": [*polled(0, 1), *polled(2, 3, at=300)]}


def by(group: str, rows: list[Row]) -> list[Row]:
    """Deliveries to another group."""
    return [{**row, "group": group, "member": f"{group}#1"} for row in rows]


def resent(offset: int, sequence: int, **fields: Any) -> Row:
    return {**sent(sequence)[0], "offset": offset, **fields}


# The value sent first lies behind the one sent after it.
TURNED = {**READ, "sends": [*sent(0, 1), resent(3, 2), resent(2, 3)]}
TURNED["replica_records"] = [
    *survived(0, 1),
    {**survived(2)[0], "offset": 3},
    {**survived(3)[0], "offset": 2},
]


@pytest.mark.parametrize(
    ("fields", "verdict", "kind"),
    [
        ({}, CheckVerdict.UNDECIDED, "between sends"),
        ({"transaction": 0}, CheckVerdict.VIOLATED, "within a transaction"),
        ({"acks": "1"}, CheckVerdict.PERMITTED, "between sends"),
        ({"is_idempotent": True, "in_flight_max": 5}, CheckVerdict.VIOLATED, "between sends"),
        # A retry may change places where several requests are in flight.
        ({"is_idempotent": False, "in_flight_max": 5}, CheckVerdict.PERMITTED, "between sends"),
        ({"is_idempotent": False, "in_flight_max": 1}, CheckVerdict.VIOLATED, "between sends"),
        ({"is_idempotent": False}, CheckVerdict.UNDECIDED, "between sends"),
        ({"is_idempotent": False, "acks": "1"}, CheckVerdict.PERMITTED, "between sends"),
    ],
)
def test_values_that_changed_places(
    make_trace: TraceMaker, fields: dict[str, Any], verdict: CheckVerdict, kind: str
) -> None:
    rows = {**TURNED, "sends": [{**row, **fields} for row in TURNED["sends"]]}
    found = result(make_trace, Check.NONMONOTONIC_SEND, rows)
    assert (found.verdict, found.evaluated) == (verdict, 4)
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == (kind, 2, 3)


def test_an_offset_that_was_free_again_is_no_reordering(make_trace: TraceMaker) -> None:
    rows = {**TRUNCATED, "sends": [*sent(0, 1, 2, 3), resent(2, 4), resent(3, 5)]}
    rows["replica_records"] = [
        *survived(0, 1),
        *[{**row, "offset": row["offset"] - 2} for row in survived(4, 5, epoch=1)],
    ]
    found = result(make_trace, Check.NONMONOTONIC_SEND, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 6)


def test_an_order_of_which_the_log_tells_no_more(make_trace: TraceMaker) -> None:
    bounds = [{**row, "log_start_offset": 4} for row in TURNED["log_starts"]]
    rows = {**TURNED, "log_starts": bounds, "replica_records": survived(4)}
    found = result(make_trace, Check.NONMONOTONIC_SEND, rows)
    assert found.verdict is CheckVerdict.UNDECIDED


@pytest.mark.parametrize("check", [Check.POLL_SKIP, Check.NONMONOTONIC_POLL])
def test_a_session_in_order(make_trace: TraceMaker, check: Check) -> None:
    found = result(make_trace, check, READ)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 4)


@pytest.mark.parametrize(
    ("polls", "kind"),
    [
        ([*polled(0), *polled(3, at=300)], "between polls"),
        (polled(0, 3), "within a poll"),
    ],
)
def test_records_that_a_session_skips(make_trace: TraceMaker, polls: list[Row], kind: str) -> None:
    found = result(make_trace, Check.POLL_SKIP, {**READ, "polls": polls})
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.group, one.offset_first, one.offset_last) == (kind, "g", 1, 2)


@pytest.mark.parametrize(
    "between",
    [
        {"group_events": [changed("assigned", at=250, position=3)]},
        {"group_events": [changed("revoked", at=250)]},
        {"resets": [reset_reported("out_of_range", 1, 0, 3, life=1, at=250)]},
        {"replica_records": survived(0, 3)},
        {"replica_records": [*survived(0, 3), *survived(1, 2, epoch=1)]},
        {"polls": [*polled(0), *polled(3, life=2, at=300)]},
    ],
    ids=["assigned", "revoked", "reset", "control records", "another branch", "another life"],
)
def test_gaps_that_skip_nothing(make_trace: TraceMaker, between: dict[str, Any]) -> None:
    rows = {**READ, "polls": [*polled(0), *polled(3, at=300)], **between}
    rows["group_events"] = [*HEALTHY["group_events"], *between.get("group_events", [])]
    assert result(make_trace, Check.POLL_SKIP, rows).verdict is CheckVerdict.HOLDS


def test_what_lies_between_a_reset_and_the_next_record_is_skipped(make_trace: TraceMaker) -> None:
    rows = {**READ, "polls": [*polled(0), *polled(3, at=300)]}
    rows["resets"] = [reset_reported("out_of_range", 1, 0, 2, life=1, at=250)]
    (one,) = result(make_trace, Check.POLL_SKIP, rows).examples
    assert (one.offset_first, one.offset_last) == (2, 2)


def test_a_session_goes_back(make_trace: TraceMaker) -> None:
    rows = {**READ, "polls": [*polled(0, 1, 2), *polled(1, 2, at=300)]}
    found = result(make_trace, Check.NONMONOTONIC_POLL, rows)
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == ("between polls", 1, 2)
    rows["polls"] = polled(0, 2, 1)
    (one,) = result(make_trace, Check.NONMONOTONIC_POLL, rows).examples
    assert one.kind == "within a poll"


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        ({"committed_offsets": [committed(1, 0, at=250)]}, CheckVerdict.PERMITTED),
        ({"committed_offsets": [committed(1, 0, at=60_000)]}, CheckVerdict.VIOLATED),
        ({"group_events": [changed("assigned", at=250, position=1)]}, CheckVerdict.HOLDS),
        ({"resets": [reset_reported("truncation", 3, 0, 1, life=1, at=250)]}, CheckVerdict.HOLDS),
        ({"polls": [*polled(0, 1, 2), *polled(1, 2, life=2, at=300)]}, CheckVerdict.HOLDS),
    ],
    ids=["its commit", "committed later", "assigned", "reset", "another life"],
)
def test_going_back_at_the_border_of_a_session(
    make_trace: TraceMaker, between: dict[str, Any], verdict: CheckVerdict
) -> None:
    rows = {**READ, "polls": [*polled(0, 1, 2), *polled(1, 2, at=300)], **between}
    rows["group_events"] = [*HEALTHY["group_events"], *between.get("group_events", [])]
    assert result(make_trace, Check.NONMONOTONIC_POLL, rows).verdict is verdict


@pytest.mark.parametrize("check", [Check.POLL_SKIP, Check.NONMONOTONIC_POLL])
def test_without_the_events_of_groups_no_session_is_known(
    make_trace: TraceMaker, check: Check
) -> None:
    found = result(make_trace, check, {**READ, "group_events": []})
    assert found.verdict is CheckVerdict.NOT_EVALUABLE


@pytest.mark.parametrize(
    ("unclean", "acks", "verdict"),
    [
        (True, "all", CheckVerdict.PERMITTED),
        (False, "1", CheckVerdict.PERMITTED),
        (False, "all", CheckVerdict.VIOLATED),
    ],
)
def test_an_offset_that_a_truncation_gave_to_another_value(
    make_trace: TraceMaker, *, unclean: bool, acks: str, verdict: CheckVerdict
) -> None:
    rows = {**WENT_BACK, "sends": [{**row, "acks": acks} for row in WENT_BACK["sends"]]}
    found = result(make_trace, Check.INCONSISTENT_OFFSET, rows, unclean_election=unclean)
    assert (found.verdict, found.evaluated) == (verdict, 8)
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == ("rewritten by a truncation", 2, 3)
    assert (one.evidence["epoch_first"], one.evidence["epoch_last"]) == (0, 1)


def test_two_values_at_one_offset_under_one_epoch(make_trace: TraceMaker) -> None:
    rows = {**READ, "polls": [*polled(0, 1), *polled(2, producer="q", at=300)]}
    found = result(make_trace, Check.INCONSISTENT_OFFSET, rows)
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == ("under one epoch", 2, 2)
    rows["leaderships"] = [led(0, at=10), led(0, at=250)]
    again = result(make_trace, Check.INCONSISTENT_OFFSET, rows)
    assert again.verdict is CheckVerdict.PERMITTED
    rows["polls"] = [*polled(0, 1), *polled(2, producer="q", epoch=-1, at=300)]
    rows["leaderships"] = [led(0, at=10)]
    untold = result(make_trace, Check.INCONSISTENT_OFFSET, rows)
    assert untold.verdict is CheckVerdict.UNDECIDED


def test_one_value_at_each_offset(make_trace: TraceMaker) -> None:
    for rows in (
        READ,
        {**READ, "polls": polled(0, 1)},
        {**READ, "polls": [*polled(0), *polled(0, at=9)]},
    ):
        found = result(make_trace, Check.INCONSISTENT_OFFSET, rows)
        assert found.verdict is CheckVerdict.HOLDS


def test_readers_of_two_branches(make_trace: TraceMaker) -> None:
    other = polled(0, 1, 2, 3, at=190)
    newer = [*polled(0, 1), *polled(2, 3, epoch=1, producer="q")]
    rows = {**TRUNCATED, "group_events": [changed("opened", at=1)]}
    rows["polls"] = [*newer, *by("h", other)]
    found = result(make_trace, Check.DIVERGENT_READERS, rows, groups=("g", "h"))
    assert (found.verdict, found.evaluated) == (CheckVerdict.PERMITTED, 8)
    (one,) = found.examples
    assert (one.kind, one.offset_first, one.offset_last) == ("different values", 2, 3)
    assert one.evidence["readers"] == "g, h"
    # Both read both.
    again = polled(2, 3, epoch=1, producer="q", life=2, at=500)
    both = [*polled(0, 1, 2, 3), *again]
    rows["polls"] = [*both, *by("h", both)]
    found = result(make_trace, Check.DIVERGENT_READERS, rows, groups=("g", "h"))
    assert found.verdict is CheckVerdict.HOLDS


def test_a_record_that_only_one_of_two_readers_was_given(make_trace: TraceMaker) -> None:
    rows = {**READ, "replica_records": [], "polls": [*polled(0, 3), *by("h", polled(0, 1, 2, 3))]}
    found = result(make_trace, Check.DIVERGENT_READERS, rows, groups=("g", "h"))
    assert found.verdict is CheckVerdict.VIOLATED
    (one,) = found.examples
    assert (one.kind, one.group, one.offset_first, one.offset_last) == (
        "delivered to one",
        "g",
        1,
        2,
    )
    # One that is given them in the wrong order is given them all the same.
    rows["polls"] = [*polled(0, 2, 1, 3), *by("h", polled(0, 1, 2, 3))]
    found = result(make_trace, Check.DIVERGENT_READERS, rows, groups=("g", "h"))
    assert found.verdict is CheckVerdict.HOLDS
    # One that stops early diverges from nobody.
    rows["polls"] = [*polled(0, 1), *by("h", polled(0, 1, 2, 3))]
    found = result(make_trace, Check.DIVERGENT_READERS, rows, groups=("g", "h"))
    assert found.verdict is CheckVerdict.HOLDS


def test_one_reader_diverges_from_nobody(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.DIVERGENT_READERS, READ)
    assert found.verdict is CheckVerdict.NOT_EVALUABLE


def stood(until: int) -> dict[str, Any]:
    """A member that read 0 and 1 at 1 s, and 2, which was acknowledged at 2 s, at 9 s."""
    commits = [
        {**committed(2, 0), "member": "g#1", "committed_micros": at * SECOND}
        for at in range(2, until + 1)
    ]
    for row in commits:
        for name in ("is_tombstone", "offsets_partition", "offsets_offset"):
            del row[name]
    return {
        **HEALTHY,
        "sends": [*sent(0, 1), *sent(2, at=2 * SECOND)],
        "polls": [*polled(0, 1, at=SECOND), *polled(2, at=9 * SECOND)],
        "commits": commits,
    }


def test_a_reader_that_stands_before_an_acknowledged_record(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.STALE_READ, stood(8))
    assert (found.verdict, found.evaluated) == (CheckVerdict.PERMITTED, 2)
    (one,) = found.examples
    assert (one.offset_first, one.evidence["seconds"]) == (2, 6.0)
    # From when it was assigned the partition, where it was given nothing before.
    rows = {**stood(8), "polls": polled(2, at=9 * SECOND)}
    rows["group_events"] = [changed("assigned", at=4 * SECOND, position=2)]
    (one,) = result(make_trace, Check.STALE_READ, rows).examples
    assert (one.offset_first, one.evidence["seconds"]) == (2, 4.0)


def test_a_reader_that_rests_or_waits_is_not_stale(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.STALE_READ, stood(3)).verdict is CheckVerdict.HOLDS
    rows = {**stood(8), "sends": [*sent(0, 1), *sent(2, at=8 * SECOND)]}
    assert result(make_trace, Check.STALE_READ, rows).verdict is CheckVerdict.HOLDS
    rows["group_events"] = []
    assert result(make_trace, Check.STALE_READ, rows).verdict is CheckVerdict.NOT_EVALUABLE

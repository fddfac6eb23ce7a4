"""Cells of the scenario conformance: a micro-history for each outcome; the noise of a control."""

from typing import Any

import msgspec
import pytest
from conftest import TraceMaker
from micro import Row, changed, committed, epochs, led, log_bounds, polled, sent, survived

from contract.errors import UsageError
from contract.run_folder import GroupPlan
from extras.conform.judging import outcomes
from extras.conform.vocabulary import (
    Cell,
    GroupOutcome,
    Hazard,
    Kind,
    Reader,
    batches,
    cell_of,
    kind_of,
    not_evaluable,
    readers_of,
    without_control,
)

SECOND = 1_000_000
FINAL = {
    "stage": "final read",
    "doing": "groups resume",
    "began_micros": 4 * SECOND,
    "ended_micros": 9 * SECOND,
    "limit_seconds": 120,
}
# Epoch 0 ends at 2; epoch 1 has 2 to 5. The group read 0 to 3 of epoch 0, and committed 4.
TRUNCATED: dict[str, list[Row]] = {
    "sends": [*sent(0, 1, 2, 3), *sent(2, 3, 4, 5, producer="q", at=3 * SECOND)],
    "replica_records": [*survived(0, 1), *survived(2, 3, 4, 5, epoch=1, producer="q")],
    "epoch_checkpoints": epochs((0, 0), (1, 2)),
    "leaderships": [led(0, at=10), led(1, at=2 * SECOND, leader=2)],
    "log_starts": log_bounds(0, 6),
    "phases": [FINAL],
}
READ_FIRST = polled(0, 1, 2, 3, at=SECOND)
PREPARED = [changed("opened", at=100), changed("caught_up", at=SECOND, position=4)]
COMMITTED = [committed(4, 0, at=SECOND + 100_000)]
REOPENED = changed("opened", life=2, at=5 * SECOND)


def found(
    make_trace: TraceMaker,
    events: list[Row],
    polls: list[Row],
    *,
    level: str = "positions",
    **tables: list[Row],
) -> GroupOutcome:
    rows: dict[str, Any] = {
        **TRUNCATED,
        "committed_offsets": COMMITTED,
        "group_events": [*PREPARED, *events],
        "polls": [*READ_FIRST, *polls],
        **tables,
    }
    (group,) = outcomes(make_trace(rows, level=level))
    return group


def read_again(*offsets: int) -> list[Row]:
    return polled(*offsets, epoch=1, producer="q", life=2, at=6 * SECOND)


ENDED = changed("caught_up", life=2, at=7 * SECOND, position=6)


def test_new_records_in_the_place_of_lost_ones_are_no_repeats(make_trace: TraceMaker) -> None:
    one = found(make_trace, [REOPENED, ENDED], read_again(2, 3, 4, 5))
    assert (kind_of(one), one.skipped, one.repeated) == ((Kind.KEEPS, ""), 0, 0)


def test_new_records_below_the_position_are_skipped(make_trace: TraceMaker) -> None:
    group = found(make_trace, [REOPENED, ENDED], read_again(4, 5))
    assert (kind_of(group), group.skipped) == ((Kind.SKIPS, ""), 2)


def test_records_that_were_committed_and_survived_are_repeated(make_trace: TraceMaker) -> None:
    again = polled(0, 1, life=2, at=6 * SECOND - 1)
    group = found(make_trace, [REOPENED, ENDED], [*again, *read_again(2, 3, 4, 5)])
    assert (kind_of(group), group.repeated) == ((Kind.REPEATS, ""), 2)


def test_records_that_were_not_committed_may_come_again(make_trace: TraceMaker) -> None:
    again = polled(0, 1, at=6 * SECOND - 1)
    rest = polled(2, 3, 4, 5, epoch=1, producer="q", at=6 * SECOND)
    ended = changed("caught_up", at=7 * SECOND, position=6)
    group = found(make_trace, [ended], [*again, *rest], committed_offsets=[])
    assert (kind_of(group), group.repeated) == ((Kind.KEEPS, ""), 0)


def test_records_come_again_after_a_close_without_a_commit(make_trace: TraceMaker) -> None:
    def kind(*, closed_at: int) -> tuple[Kind, int]:
        handed = [
            REOPENED,
            changed("caught_up", life=2, at=6 * SECOND + 1, position=6),
            changed("closed", life=2, at=closed_at),
            changed("opened", life=3, at=7 * SECOND),
            changed("caught_up", life=3, at=8 * SECOND, position=6),
        ]
        again = polled(4, 5, epoch=1, producer="q", life=3, at=7 * SECOND + 1)
        one = found(make_trace, handed, [*read_again(2, 3, 4, 5), *again])
        return kind_of(one)[0], one.repeated

    assert kind(closed_at=6 * SECOND + 2) == (Kind.REPEATS, 2)
    # Not closed in between, but killed.
    assert kind(closed_at=9 * SECOND) == (Kind.KEEPS, 0)


def test_a_member_that_does_not_reach_the_log_end_stands_still(make_trace: TraceMaker) -> None:
    stalled = changed("stalled", life=2, at=7 * SECOND, position=2)
    assert kind_of(found(make_trace, [REOPENED, stalled], []))[0] is Kind.STANDS_STILL


def test_a_cell_is_labelled_by_the_first_error_that_is_no_wait(make_trace: TraceMaker) -> None:
    names = ["_TRANSPORT", "AutoOffsetReset", "OffsetOutOfRange"]
    events = [
        changed("failed", life=2, at=6 * SECOND + at, exception=name, message="m")
        for at, name in enumerate(names)
    ]
    assert found(make_trace, [REOPENED, *events], []).exception == "AutoOffsetReset"
    assert found(make_trace, [REOPENED, *events[:1]], []).exception == "_TRANSPORT"


def failed_row(at: int) -> Row:
    return changed("failed", life=2, at=at, exception="LogTruncationException", message="m")


def test_an_error_is_an_outcome_if_the_log_end_is_not_reached(make_trace: TraceMaker) -> None:
    stalled = changed("stalled", life=2, at=8 * SECOND, position=2)
    for events in ([failed_row(6 * SECOND)], [failed_row(6 * SECOND), stalled]):
        group = found(make_trace, [REOPENED, *events], [])
        assert (kind_of(group)[0], group.exception) == (Kind.RAISES, "LogTruncationException")
    group = found(make_trace, [REOPENED, failed_row(5 * SECOND + 1), ENDED], read_again(2, 3, 4, 5))
    assert kind_of(group)[0] is Kind.KEEPS


@pytest.mark.parametrize(
    ("position", "kind"),
    [(4, Kind.KEEPS), (2, Kind.NOT_EVALUABLE), (None, Kind.NOT_EVALUABLE)],
)
def test_a_member_that_begins_at_the_log_end_may_fail_before_the_final_read(
    make_trace: TraceMaker, position: int | None, kind: Kind
) -> None:
    at = 2 * SECOND - 100_000
    begun = [
        changed("opened", life=2, at=at),
        changed("assigned", life=2, at=at + 1, position=position),
        failed_row(at + 2),
    ]
    group = found(make_trace, [*begun, ENDED], read_again(2, 3, 4, 5))
    assert kind_of(group)[0] is kind


def test_a_group_that_was_not_prepared_shows_nothing(make_trace: TraceMaker) -> None:
    behind = [committed(3, 0, at=SECOND + 100_000)]
    late = [committed(4, 0, at=8 * SECOND)]
    events, polls = [REOPENED, ENDED], read_again(4, 5)
    for commits in (behind, late, []):
        group = found(make_trace, events, polls, committed_offsets=commits)
        assert kind_of(group)[0] is Kind.NOT_EVALUABLE
    stalled = changed("stalled", at=SECOND + 1, position=2)
    group = found(make_trace, events, polls, group_events=[*PREPARED, stalled, *events])
    assert kind_of(group)[0] is Kind.NOT_EVALUABLE
    assert kind_of(found(make_trace, [], []))[0] is Kind.NOT_EVALUABLE


def test_a_member_that_has_no_position_at_the_log_end_was_there(make_trace: TraceMaker) -> None:
    def kind(at: int | None, **tables: list[Row]) -> Kind:
        waits = [changed("opened", life=2, at=SECOND + 200_000), stalled_row(at)]
        read = polled(2, 3, 4, 5, epoch=1, producer="q", life=2, at=6 * SECOND)
        end = changed("caught_up", life=2, at=7 * SECOND, position=6)
        return kind_of(found(make_trace, [*waits, end], read, **tables))[0]

    def stalled_row(at: int | None) -> Row:
        return changed("stalled", life=2, at=2 * SECOND, position=at)

    assert kind(None) is Kind.KEEPS
    assert kind(3) is Kind.NOT_EVALUABLE
    assert kind(None, committed_offsets=[]) is Kind.NOT_EVALUABLE
    more = sent(0, 1, 2, 3, 4, at=SECOND)
    assert kind(None, sends=more) is Kind.NOT_EVALUABLE


def without_positions(
    make_trace: TraceMaker,
    polls: list[Row],
    events: list[Row],
    *,
    level: str = "commits",
    **tables: list[Row],
) -> Kind:
    opened = [changed("opened", at=100), REOPENED, *events]
    group = found(make_trace, [], polls, level=level, group_events=opened, **tables)
    return kind_of(group)[0]


def test_a_guest_without_positions_is_judged_by_its_deliveries(make_trace: TraceMaker) -> None:
    whole, rest = read_again(2, 3, 4, 5), read_again(4, 5)
    assert without_positions(make_trace, whole, []) is Kind.KEEPS
    for epoch in (1, -1):
        shown = [{**row, "leader_epoch": epoch} for row in rest]
        assert without_positions(make_trace, shown, []) is Kind.SKIPS
    # One poll that returned records of two epochs ends with those of the newer one.
    both = [*polled(0, 1, life=2, at=6 * SECOND), *whole]
    in_order = [{**row, "position_in_poll": place} for place, row in enumerate(both)]
    assert without_positions(make_trace, in_order, []) is Kind.REPEATS
    assert without_positions(make_trace, [], []) is Kind.STANDS_STILL
    assert without_positions(make_trace, [], [failed_row(6 * SECOND)]) is Kind.RAISES
    assert without_positions(make_trace, whole, [], committed_offsets=[]) is Kind.NOT_EVALUABLE


def test_a_group_that_only_delivers_needs_no_commit(make_trace: TraceMaker) -> None:
    def kind(*polls: Row) -> Kind:
        return without_positions(make_trace, [*polls], [], level="delivers", committed_offsets=[])

    assert kind(*read_again(2, 3, 4, 5)) is Kind.KEEPS
    assert kind(*read_again(4, 5)) is Kind.SKIPS
    assert kind(*polled(0, 1, life=2, at=6 * SECOND - 1), *read_again(2, 3, 4, 5)) is Kind.REPEATS
    twice_before = polled(0, 1, at=2 * SECOND)
    assert kind(*twice_before, *read_again(2, 3, 4, 5)) is Kind.KEEPS


def test_records_deleted_before_the_member_resumed_are_not_skipped(make_trace: TraceMaker) -> None:
    one = found(
        make_trace,
        [REOPENED, ENDED],
        read_again(5),
        replica_records=survived(5, epoch=1, producer="q"),
        log_starts=log_bounds(5, 6),
    )
    assert (kind_of(one)[0], one.skipped) == (Kind.KEEPS, 0)


PLAN = GroupPlan(
    group="kafka-python.explicit.earliest.restart",
    client="kafka-python",
    topic="orders",
    commit_epoch="record",
    reset="earliest",
    labels={"meets": "restart", "commit": "explicit"},
)


def outcome(**changed_fields: Any) -> GroupOutcome:
    columns = {
        "group": PLAN.group,
        "ended": "caught_up",
        "exception": None,
        "is_prepared": True,
        "skipped": 0,
        "repeated": 0,
    }
    return msgspec.convert(columns | changed_fields, GroupOutcome)


def cell(**changed_fields: Any) -> Cell:
    return cell_of("truncation_above", PLAN, outcome(**changed_fields))


def test_a_cell_has_its_place_and_its_outcome_in_words() -> None:
    assert cell(skipped=100).place == "truncation_above.restart.explicit.earliest"
    assert cell().words == "keeps its place"
    assert cell(skipped=100, repeated=5).words == "skips 100"
    assert cell(repeated=5).words == "repeats 5"
    assert cell(ended="stalled").words == "stands still"
    assert cell(ended="failed", exception="E").words == "raises E"


def test_no_cell_of_a_story_counts_if_its_control_does_not_keep_its_place() -> None:
    kept = msgspec.structs.replace(cell(), client="java")
    noisy = msgspec.structs.replace(cell(repeated=1), client="java")
    mine = cell(skipped=100)
    assert without_control([kept, mine], "java") == [kept, mine]
    counted = without_control([noisy, mine], "java")
    assert {counted_cell.kind for counted_cell in counted} == {Kind.NOT_EVALUABLE}
    assert "the control java repeats 1" in counted[1].reason


def test_readers_are_read_as_they_are_written() -> None:
    text = "java,librdkafka//none,guest@franz-go/automatic/none/read_committed"
    assert ",".join(map(str, readers_of(text))) == text
    assert readers_of("java/explicit/earliest") == readers_of("java")
    assert readers_of("java") == [Reader(client="java")]
    for wrong, said in {
        "java/manual": "commit",
        "java/explicit/first": "reset",
        "java,java": "twice",
        "": "is not like",
        "java////all": "level",
        "java/////more": "is not like",
    }.items():
        with pytest.raises(UsageError, match=said):
            readers_of(wrong)


def test_readers_are_in_stories_of_a_few() -> None:
    many = [Reader(client=f"guest@client-{number}") for number in range(16)]
    assert [len(batch) for batch in batches(many)] == [7, 7, 2]
    long = [Reader(client=f"guest@{'n' * 99}-{number}") for number in range(3)]
    assert [len(batch) for batch in batches(long)] == [1, 1, 1]
    assert list(batches([])) == []


def test_a_story_that_shows_nothing_has_all_its_cells() -> None:
    cells = not_evaluable(Hazard.TRUNCATION_BELOW, [Reader(client="java")], "why")
    assert [(other.meets, other.kind) for other in cells] == [
        ("live", Kind.NOT_EVALUABLE),
        ("restart", Kind.NOT_EVALUABLE),
    ]

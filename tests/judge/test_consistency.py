"""Sources that contradict each other leave a run undecided, and accuse nobody."""

import pytest
from conftest import TraceMaker
from histories import HEALTHY, WENT_BACK, result
from micro import batch, changed, epochs, log_bounds, polled, reset_told

from contract.checks import Check
from contract.verdicts import CheckVerdict

END = "log ends differ"
OPENED = [changed("opened", at=150), changed("assigned", at=160, position=0)]


def test_positions_that_deliveries_confirm(make_trace: TraceMaker) -> None:
    for rows in (HEALTHY, WENT_BACK):
        found = result(make_trace, Check.HISTORY_CONSISTENT, rows)
        assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 2)


@pytest.mark.parametrize(
    ("assigned", "caught_up", "kinds"),
    [
        (0, 4, []),
        (0, 3, ["position behind"]),
        (0, 5, ["beyond the log"]),
        (2, 4, ["position ahead"]),
        (9, 4, ["beyond the log"]),
        # It was asked after the poll that brought 0 to 3.
        (4, 4, []),
    ],
)
def test_a_position_that_deliveries_contradict(
    make_trace: TraceMaker, assigned: int, caught_up: int, kinds: list[str]
) -> None:
    events = [
        changed("opened", at=150),
        changed("assigned", at=160, position=assigned),
        changed("caught_up", at=300, position=caught_up),
    ]
    rows = {**HEALTHY, "polls": polled(0, 1, 2, 3), "group_events": events, "resets": []}
    found = result(make_trace, Check.HISTORY_CONSISTENT, rows)
    assert sorted(one.kind for one in found.examples) == kinds
    assert {str(one.verdict) for one in found.examples} <= {"undecided"}


def test_a_reset_explains_a_position(make_trace: TraceMaker) -> None:
    """It went back from 4 to 2 after it had been given 3, and then to 0."""
    events = [*OPENED, changed("caught_up", at=300_000, position=2)]
    polls = [*polled(0, 1, 2, 3), *polled(0, 1, at=600_000)]
    resets = [reset_told("out_of_range", 4, 0, 2, life=1, at=250_000)]
    resets.append(reset_told("out_of_range", 2, 0, 0, life=1, at=500_000))
    rows = {**HEALTHY, "polls": polls, "group_events": events, "resets": resets}
    assert result(make_trace, Check.HISTORY_CONSISTENT, rows).verdict is CheckVerdict.HOLDS
    found = result(make_trace, Check.HISTORY_CONSISTENT, {**rows, "resets": []})
    assert found.verdict is CheckVerdict.UNDECIDED


def test_deliveries_of_a_partition_that_the_member_reports_no_assignment_of(
    make_trace: TraceMaker,
) -> None:
    other = [{**one, "partition": 1} for one in OPENED]
    rows = {**HEALTHY, "polls": polled(0, 1, 2, 3), "resets": []}
    found = result(make_trace, Check.HISTORY_CONSISTENT, {**rows, "group_events": other})
    assert [one.kind for one in found.examples] == ["not assigned"]
    assert {str(one.verdict) for one in found.examples} == {"undecided"}
    found = result(make_trace, Check.HISTORY_CONSISTENT, {**rows, "group_events": other[:1]})
    assert found.findings == 0


def test_records_between_a_position_and_the_nearest_deliveries(make_trace: TraceMaker) -> None:
    """It was given 2 alone, from position 0, and reports 4 at the end."""
    events = [*OPENED, changed("caught_up", at=300, position=4)]
    rows = {**HEALTHY, "polls": polled(2), "group_events": events, "resets": []}
    found = result(make_trace, Check.HISTORY_CONSISTENT, rows)
    assert [(one.kind, one.offset_first) for one in found.examples] == [
        ("records between", 0),
        ("records between", 4),
    ]
    assert {str(one.verdict) for one in found.examples} == {"undecided"}
    rows["group_events"] = [*OPENED, changed("caught_up", at=300, position=3)]
    rows["resets"] = [reset_told("out_of_range", 0, 2, 0, life=1, at=170)]
    assert result(make_trace, Check.HISTORY_CONSISTENT, rows).findings == 0


def test_a_start_of_an_epoch_that_its_leader_did_not_log(make_trace: TraceMaker) -> None:
    start = {"broker": 1, "topic": "t", "partition": 0, "leader_epoch": 1, "at_micros": 200}
    rows = {**HEALTHY, "epoch_checkpoints": epochs((0, 0), (1, 2))}
    for logged, kinds in ((2, []), (3, ["epoch starts differ"])):
        starts = [{**start, "start_offset": logged}]
        found = result(
            make_trace, Check.HISTORY_CONSISTENT, {**rows, "leader_epoch_starts": starts}
        )
        assert [one.kind for one in found.examples] == kinds
        assert {str(one.verdict) for one in found.examples} <= {"undecided"}
    rows["leader_epoch_starts"] = starts
    raised = [{**row, "log_start_offset": 2} for row in HEALTHY["log_starts"]]
    logged = [{**start, "log_start_offset": 2, "reason": "segment deletion"}]
    for told in ({"log_starts": raised}, {"log_start_changes": logged}):
        assert result(make_trace, Check.HISTORY_CONSISTENT, {**rows, **told}).examples == []


@pytest.mark.parametrize(("shift", "kinds"), [(-1, {END}), (0, set()), (1, {END})])
def test_a_replica_that_ends_elsewhere_than_its_last_batch(
    make_trace: TraceMaker, shift: int, kinds: set[str]
) -> None:
    rows = {
        **HEALTHY,
        "log_starts": log_bounds(0, 4 + shift),
        "replica_batches": [batch(0, 1), batch(2, 3, epoch=1)],
    }
    found = result(make_trace, Check.HISTORY_CONSISTENT, rows)
    assert {one.kind for one in found.examples if one.kind == END} == kinds
    assert result(make_trace, Check.ISR_INCOMPLETE, rows).findings == 0


def test_a_record_that_a_replica_truncated_and_has(make_trace: TraceMaker) -> None:
    (held, *_) = HEALTHY["replica_records"]
    for value, kinds in (("w:0:other", []), (held["value"], ["truncated but present"])):
        rows = {**HEALTHY, "cut_records": [{**held, "value": value, "taken_micros": 200}]}
        found = result(make_trace, Check.HISTORY_CONSISTENT, rows)
        assert [one.kind for one in found.examples] == kinds

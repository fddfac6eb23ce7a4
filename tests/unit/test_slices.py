"""Ranges of all sources, split at common offsets."""

from typing import Any

from conftest import TraceMaker
from histories import HEALTHY
from micro import committed, log_bounds, polled, sent, survived

ACKNOWLEDGED = "select * from sliced_acknowledged"
UNACKNOWLEDGED = "select * from sliced_unacknowledged"
POLLS = "select * from sliced_polls"
SURVIVING = "select * from surviving_records"
Rows = dict[str, list[dict[str, Any]]]


def spans(rows: list[dict[str, Any]]) -> set[tuple[int, int, str]]:
    return {(row["offset"], row["last_offset"], row["value"]) for row in rows}


def test_every_source_has_the_same_slices(make_trace: TraceMaker) -> None:
    rows: Rows = {
        "sends": sent(*range(10)),
        "replica_records": survived(*range(2, 10)),
        "polls": [*polled(*range(6)), *polled(*range(4, 10), life=2, at=600)],
        "log_starts": log_bounds(2, 10),
    }
    trace = make_trace(rows)
    whole = {(0, 1, "p:0"), (2, 3, "p:2"), (4, 5, "p:4"), (6, 9, "p:6")}
    assert spans(trace.ask(ACKNOWLEDGED)) == whole
    assert spans(trace.ask(POLLS)) == whole
    assert spans(trace.ask(SURVIVING)) == whole - {(0, 1, "p:0")}
    assert sum(row["records"] for row in trace.ask(POLLS)) == len(rows["polls"])


def test_an_offset_that_a_commit_names_is_a_slice_of_its_own(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "sends": sent(*range(10)), "committed_offsets": [committed(5, 0)]}
    found = spans(make_trace(rows).ask(ACKNOWLEDGED))
    assert (4, 4, "p:4") in found


def test_a_value_at_two_offsets_is_a_slice_of_its_own(make_trace: TraceMaker) -> None:
    again = [{**row, "offset": row["offset"] + 10} for row in survived(*range(3, 5))]
    rows: Rows = {
        "sends": sent(*range(10)),
        "replica_records": [*survived(*range(10)), *again],
        "log_starts": log_bounds(0, 15),
    }
    trace = make_trace(rows)
    kept = spans(trace.ask(SURVIVING))
    assert {(3, 3, "p:3"), (4, 4, "p:4"), (13, 13, "p:3"), (14, 14, "p:4")} <= kept
    assert {(0, 2, "p:0"), (5, 9, "p:5")} <= kept


def test_what_was_not_acknowledged_is_one_value_a_slice(make_trace: TraceMaker) -> None:
    failed = [{**row, "offset": None, "outcome": "unknown"} for row in sent(2, 3, 4)]
    rows: Rows = {
        "sends": [*sent(0, 1), *failed],
        "replica_records": survived(*range(5)),
        "log_starts": log_bounds(0, 5),
    }
    trace = make_trace(rows)
    unknown = trace.ask(UNACKNOWLEDGED)
    assert {row["value"] for row in unknown} == {"p:2", "p:3", "p:4"}
    assert {row["offset"] for row in unknown} == {None}
    # One of them may be in the log, so its value is to be found there.
    kept = {row["value"] for row in trace.ask(SURVIVING)}
    assert kept == {"p:0", "p:2", "p:3", "p:4"}


def test_a_damaged_value_is_quoted(make_trace: TraceMaker) -> None:
    (damaged,) = polled(1)
    rows = {"polls": [*polled(0), {**damaged, "value": "p:1", "is_intact": False}]}
    assert {row["value"] for row in make_trace(rows).ask(POLLS)} == {"p:0", '"p:1"'}

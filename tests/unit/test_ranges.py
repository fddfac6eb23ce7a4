"""Tables of records: their rows become ranges, and ranges become the same rows."""

import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.events import make_value
from contract.ranges import (
    RECORDS,
    count_rows,
    records_of,
    row_schema,
    to_ranges,
    to_records,
)
from contract.tables import DECLARED, TABLES

Row = dict[str, Any]
PRODUCERS = ("p", "q")
SENT = "sends"
OFFSET_MAX = 2**40

OF_ONE_RECORD = ("offset", "value", "producer", "sequence", "position_in_poll")
VALUES: dict[pa.DataType, tuple[Any, ...]] = {pa.string(): ("a", "b"), pa.bool_(): (True, False)}
COLUMNS: dict[str, dict[str, tuple[Any, ...]]] = {
    table: {
        column.name: (*((None,) if column.null else ()), *VALUES.get(column.type, (0, 1)))
        for column in DECLARED[table].columns
        if column.name in schema.names and column.name not in OF_ONE_RECORD
    }
    for table, schema in RECORDS.items()
}
"""By table: the columns that a range has once, with values to choose from."""


def content(table: str, rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=RECORDS[table])


def ranges(table: str, rows: list[Row]) -> list[Row]:
    made = to_ranges(table, content(table, rows))
    assert made.schema.equals(TABLES[table])
    return list(made.to_pylist())


def multiset(rows: list[Row]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def pick_row(table: str, index: int = 0) -> Row:
    """The columns that are equal in a whole range."""
    return {name: values[index % len(values)] for name, values in COLUMNS[table].items()}


def record(table: str, sequence: int | None, offset: int | None, **columns: Any) -> Row:
    """A record of producer p; the place in its poll is its sequence number."""
    value = None if sequence is None else make_value("p", sequence)
    row = pick_row(table) | {"offset": offset, "value": value}
    if table == SENT:
        row |= {"producer": "p", "sequence": sequence}
    if table == "polls":
        row |= {"position_in_poll": sequence}
    return row | columns


@st.composite
def records(draw: st.DrawFn, table: str) -> list[Row]:
    """Runs of records with gaps, damage and repetitions, in any order."""
    rows: list[Row] = []
    choice = st.fixed_dictionaries(
        {name: st.sampled_from(values) for name, values in COLUMNS[table].items()}
    )
    number = st.integers(0, 5) | st.integers(0, OFFSET_MAX)
    for _ in range(draw(st.integers(0, 4))):
        shared, producer = draw(choice), draw(st.sampled_from(PRODUCERS))
        sequence, offset, place = draw(number), draw(st.none() | number), draw(number) % 1000
        for _ in range(draw(st.integers(0, 6))):
            row = shared | {"offset": offset, "value": make_value(producer, sequence)}
            if table == SENT:
                row |= {"producer": producer, "sequence": sequence}
            if table == "polls":
                row |= {"position_in_poll": place}
            match draw(st.sampled_from(["", "", "", "", "damaged", "other", "none", "column"])):
                case "damaged":
                    row["value"] = draw(st.sampled_from(["", "x", row["value"] + "x", "p:-1:0"]))
                case "other":
                    row["value"] = make_value(*draw(st.tuples(st.sampled_from("pqr"), number)))
                case "none":
                    row["value"] = None
                case "column":
                    row |= draw(choice)
            rows += [row] * draw(st.sampled_from([1, 1, 1, 2]))
            step = draw(st.sampled_from([0, 1, 1, 1, 1, 2]))
            sequence, place = sequence + step, place + 1
            offset = None if offset is None else offset + draw(st.sampled_from([1, 1, 1, step]))
    return draw(st.permutations(rows))


def as_read_back(table: str, row: Row) -> Row:
    """A send has the value of its sequence number unless it names another one."""
    if table == SENT and row["value"] is None:
        return row | {"value": make_value(row["producer"], row["sequence"])}
    return row


@pytest.mark.parametrize("table", RECORDS)
@settings(max_examples=50)
@given(data=st.data())
def test_ranges_become_the_same_records(table: str, data: st.DataObject) -> None:
    rows = data.draw(records(table))
    made = to_ranges(table, content(table, rows))
    assert made.schema.equals(TABLES[table])
    read_back = to_records(table, made)
    assert read_back.schema.equals(RECORDS[table])
    given_rows = content(table, [as_read_back(table, row) for row in rows]).to_pylist()
    assert multiset(read_back.to_pylist()) == multiset(given_rows)
    assert count_rows(table, made) == len(rows)
    assert made.num_rows <= len(rows)


@pytest.mark.parametrize("table", RECORDS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_range_ends_only_where_it_must(table: str, data: st.DataObject) -> None:
    """Runs without damage, apart from each other, are one range each, in any order of rows."""
    rows, lengths = [], data.draw(st.lists(st.integers(1, 8), max_size=5))
    first = 0
    for length in lengths:
        rows += [record(table, first + i, 100 + first + i) for i in range(length)]
        first += length + data.draw(st.integers(1, 3))
    made = ranges(table, data.draw(st.permutations(rows)))
    assert [row["last_offset"] - row["first_offset"] + 1 for row in made] == lengths
    assert all(row["value"] is None for row in made)
    again = to_ranges(table, to_records(table, pa.Table.from_pylist(made, schema=TABLES[table])))
    assert again.to_pylist() == made


@pytest.mark.parametrize("table", RECORDS)
def test_a_damaged_value_stands_alone_with_its_text(table: str) -> None:
    rows = [record(table, number, 10 + number) for number in range(5)]
    rows[2]["value"] = "damaged"
    made = ranges(table, rows)
    spans = [(row["first_offset"], row["last_offset"], row["value"]) for row in made]
    assert spans == [(10, 11, None), (12, 12, "damaged"), (13, 14, None)]
    assert made[1]["producer"] == ("p" if table == SENT else None)
    assert made[1]["first_sequence"] == (2 if table == SENT else None)


@pytest.mark.parametrize("table", RECORDS)
def test_a_gap_in_the_offsets_ends_a_range(table: str) -> None:
    rows = [record(table, number, number + (number > 2)) for number in range(5)]
    spans = [(row["first_offset"], row["last_offset"]) for row in ranges(table, rows)]
    assert spans == [(0, 2), (4, 5)]


@pytest.mark.parametrize("table", [table for table in RECORDS if table != SENT])
def test_interleaved_producers_have_ranges_of_their_own(table: str) -> None:
    values = [make_value(producer, number // 2) for number, producer in enumerate("pqpqppp")]
    rows = [record(table, i, i, value=value) for i, value in enumerate(values)]
    rows[5]["value"], rows[6]["value"] = make_value("p", 3), make_value("p", 4)
    made = ranges(table, rows)
    spans = [(row["producer"], row["first_offset"], row["last_offset"]) for row in made]
    assert spans == [("p", 0, 0), ("q", 1, 1), ("p", 2, 2), ("q", 3, 3), ("p", 4, 6)]


@pytest.mark.parametrize(
    ("table", "column"),
    [(table, column) for table, columns in COLUMNS.items() for column in columns],
)
def test_records_of_a_range_are_equal_in_every_other_column(table: str, column: str) -> None:
    rows = [record(table, number, number) for number in range(4)]
    (whole,) = ranges(table, rows)
    values = COLUMNS[table][column]
    assert whole[column] == values[0]
    if len(values) > 1:
        rows[2][column] = rows[3][column] = values[1]
        assert [row[column] for row in ranges(table, rows)] == list(values[:2])


def test_a_poll_of_records_out_of_order_keeps_their_places() -> None:
    rows = [record("polls", n, n, position_in_poll=place) for place, n in enumerate((2, 0, 1))]
    made = ranges("polls", rows)
    assert [(row["first_offset"], row["first_place"]) for row in made] == [(0, 1), (2, 0)]


def test_sends_without_offsets_are_a_range_of_sequence_numbers() -> None:
    rows = [record(SENT, number, None) for number in range(3)]
    rows += [record(SENT, number, 7 + number) for number in range(3, 5)]
    acknowledged, unacknowledged = ranges(SENT, rows)
    assert (acknowledged["first_offset"], acknowledged["last_offset"]) == (10, 11)
    assert (unacknowledged["first_offset"], unacknowledged["last_offset"]) == (None, None)
    assert (unacknowledged["first_sequence"], unacknowledged["last_sequence"]) == (0, 2)


def test_a_send_that_names_no_value_has_that_of_its_sequence_number() -> None:
    rows = [record(SENT, number, number) for number in range(3)]
    rows[1]["value"] = None
    (whole,) = ranges(SENT, rows)
    assert (whole["first_sequence"], whole["last_sequence"], whole["value"]) == (0, 2, None)


def test_sends_without_sequence_numbers_keep_their_values() -> None:
    rows = [record(SENT, None, None, value=value) for value in ("x", "y", None, None)]
    made = to_ranges(SENT, content(SENT, rows))
    assert multiset(to_records(SENT, made).to_pylist()) == multiset(content(SENT, rows).to_pylist())


def test_rows_are_sorted_by_topic_partition_and_offset() -> None:
    places = [("u", 0, 5), ("t", 1, 0), ("t", 0, 9), ("t", 0, 3)]
    rows = [
        record("replica_records", 0, offset, topic=topic, partition=partition)
        for topic, partition, offset in places
    ]
    made = ranges("replica_records", rows)
    found = [(row["topic"], row["partition"], row["first_offset"]) for row in made]
    assert found == sorted(places)


def test_records_are_counted_by_offset_or_by_sequence_number() -> None:
    rows = [record(SENT, n, n if n < 4 else None) for n in range(6)]
    made = to_ranges(SENT, content(SENT, rows))
    assert records_of(made).to_pylist() == [4, 2]
    assert count_rows(SENT, made) == 6


def test_tables_without_ranges_stay_as_they_are() -> None:
    rows = pa.Table.from_pylist([{"what": "a leader"}], schema=TABLES["waits"])
    assert row_schema("waits") is TABLES["waits"]
    assert count_rows("waits", rows) == 1

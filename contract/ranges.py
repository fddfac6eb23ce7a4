"""Records as ranges: how many records of a table become one row, and become records again.

A value is its producer, a sequence number and a checksum (`contract.events`). So the first offset
and sequence number determine all records of one producer whose offsets and sequence numbers both
rise by one. The tables of records (`RECORDS`) have one row for each such range in which all else is
equal, times included. A value that is not intact, or not the one that its sequence number has,
is a range of its own and keeps its text in `value`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, count, repeat
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contract.events import make_value, parse_value
from contract.files import open_regular
from contract.tables import TABLES

_LONG = pa.int64()
_SPAN = ("first_offset", "last_offset", "first_sequence", "last_sequence")


@dataclass(frozen=True)
class _Kind:
    """How records of one table become ranges.

    Attributes:
        order: the columns by which consecutive records stand next to each other.
        place: the column that rises by one in a range besides offset and sequence, if any.
        is_sent: whether records name their producer and sequence number, besides the value.
    """

    order: tuple[str, ...]
    place: str = ""
    is_sent: bool = False


_KINDS = {
    "sends": _Kind(("topic", "partition", "producer", "sequence"), is_sent=True),
    "polls": _Kind(
        ("topic", "partition", "group", "member", "seq", "position_in_poll"), "position_in_poll"
    ),
    "replica_records": _Kind(("topic", "partition", "broker", "offset")),
    "cut_records": _Kind(("topic", "partition", "broker", "taken_micros", "offset")),
}


def _record_schema(name: str) -> pa.Schema:
    kind = _KINDS[name]
    fields = []
    for field in TABLES[name]:
        if field.name == "first_offset":
            fields.append(field.with_name("offset"))
        elif field.name == "first_sequence" and kind.is_sent:
            fields.append(field.with_name("sequence"))
        elif field.name == "first_place":
            fields.append(field.with_name(kind.place))
        elif field.name not in _SPAN and (kind.is_sent or field.name != "producer"):
            fields.append(field)
    return pa.schema(fields)


RECORDS: dict[str, pa.Schema] = {name: _record_schema(name) for name in _KINDS}
"""The columns of a single record, by table: what histories, replicas and tests have."""


def row_schema(table: str) -> pa.Schema:
    """Return the columns of one record, or of one row of a table that has no ranges."""
    return RECORDS.get(table, TABLES[table])


def to_ranges(table: str, records: pa.Table) -> pa.Table:
    """Return the same records in as few rows as possible.

    Args:
        table: a name of `RECORDS`.
        records: with the columns of `RECORDS[table]`, in any order of rows. A send without a value
            has that of its sequence number.

    Returns:
        Rows with the schema of `TABLES[table]`, sorted by topic, partition and offset.
    """
    kind = _KINDS[table]
    rows = records.sort_by([(name, "ascending") for name in kind.order]).combine_chunks()
    columns = {name: rows[name] for name in rows.column_names if name != "offset"}
    offset = rows["offset"]
    if kind.is_sent:
        expected = _values(rows["producer"], rows["sequence"])
        is_own = pc.fill_null(pc.equal(rows["value"], expected), fill_value=True)
        is_usual = pc.and_(is_own, pc.is_valid(expected))
        sequence = columns.pop("sequence")
    else:
        columns["producer"], sequence = _parse_values(rows["value"])
        is_usual = pc.is_valid(columns["producer"])
    columns["value"] = pc.if_else(is_usual, None, rows["value"])
    if kind.place:
        place = columns.pop(kind.place)
    rising = (offset, sequence, *((place,) if kind.place else ()))
    first = _beginnings(is_usual, tuple(columns.values()), rising)
    last = [*(place - 1 for place in first[1:]), rows.num_rows - 1] if first else []
    columns |= {"first_offset": offset, "first_sequence": sequence}
    if kind.place:
        columns["first_place"] = place
    firsts, lasts = pa.array(first, _LONG), pa.array(last, _LONG)
    made = {name: column.take(firsts) for name, column in columns.items()}
    made |= {"last_offset": offset.take(lasts), "last_sequence": sequence.take(lasts)}
    arrays = [made[field.name].cast(field.type) for field in TABLES[table]]
    return pa.Table.from_arrays(arrays, schema=TABLES[table]).sort_by(
        [(name, "ascending") for name in ("topic", "partition", "first_offset", *kind.order[2:3])]
    )


def to_records(table: str, ranges: pa.Table) -> pa.Table:
    """Return one row for each record of a table of ranges; see `to_ranges`."""
    kind = _KINDS[table]
    lengths = records_of(ranges).to_pylist()
    rows = ranges.take(pa.array(chain.from_iterable(map(repeat, count(), lengths)), _LONG))
    ahead = pa.array(chain.from_iterable(map(range, lengths)), _LONG)
    sequence = pc.add(rows["first_sequence"], ahead)
    made = {name: rows[name] for name in rows.column_names}
    made["offset"] = pc.add(rows["first_offset"], ahead)
    made["sequence"] = sequence
    made["value"] = pc.coalesce(rows["value"], _values(rows["producer"], sequence))
    if kind.place:
        made[kind.place] = pc.add(rows["first_place"], ahead)
    schema = RECORDS[table]
    arrays = [made[field.name].cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def count_rows(table: str, content: pa.Table) -> int:
    """Return the number of records of a table of ranges, or of rows of another table."""
    if table not in RECORDS:
        return int(content.num_rows)
    return int(pc.sum(records_of(content)).as_py() or 0)


def records_of(ranges: pa.Table) -> pa.ChunkedArray:
    """Return the number of records in each row of a table of ranges."""
    by_offset = pc.subtract(ranges["last_offset"], ranges["first_offset"])
    by_sequence = pc.subtract(ranges["last_sequence"], ranges["first_sequence"])
    return pc.add(pc.coalesce(by_offset, by_sequence, pa.scalar(0, _LONG)), 1)


def _parse_values(values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return producers and sequence numbers of values; null where a value is not intact."""
    known = _combine_chunks(values.dictionary_encode())
    parsed = [parse_value(text) for text in known.dictionary.to_pylist()]
    producers = pa.array([pair and pair[0] for pair in parsed], pa.string())
    sequences = pa.array([pair and pair[1] for pair in parsed], _LONG)
    return producers.take(known.indices), sequences.take(known.indices)


def _values(producers: pa.ChunkedArray, sequences: pa.ChunkedArray) -> pa.Array:
    pairs = zip(producers.to_pylist(), sequences.to_pylist(), strict=True)
    return pa.array(
        [
            None if producer is None or number is None else make_value(producer, number)
            for producer, number in pairs
        ],
        pa.string(),
    )


def _beginnings(
    is_usual: pa.ChunkedArray | pa.Array,
    same: Iterable[pa.ChunkedArray],
    rising: Iterable[pa.ChunkedArray],
) -> list[int]:
    """Return the places of the rows that begin a range.

    Args:
        is_usual: whether a row's value follows from its producer and sequence number.
        same: columns that are equal within a range.
        rising: columns that rise by one within a range.
    """
    usual = _combine_chunks(is_usual)
    if len(usual) == 0:
        return []
    goes_on = pc.and_(usual[1:], usual[:-1])
    for column in same:
        goes_on = pc.and_(goes_on, pc.invert(_differs(column)))
    for column in rising:
        goes_on = pc.and_(goes_on, _rises(column))
    return [0, *(place + 1 for place in pc.indices_nonzero(pc.invert(goes_on)).to_pylist())]


def _combine_chunks(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _differs(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return whether each value but the first differs from the one before; null equals null."""
    whole = _combine_chunks(column)
    one, other = whole[1:], whole[:-1]
    unequal = pc.fill_null(pc.not_equal(one, other), fill_value=False)
    return pc.or_(unequal, pc.xor(pc.is_null(one), pc.is_null(other)))


def _rises(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return whether each value but the first is one more than the one before, or both are null."""
    whole = _combine_chunks(column).cast(_LONG)
    one, other = whole[1:], whole[:-1]
    is_next = pc.fill_null(pc.equal(pc.subtract(one, other), 1), fill_value=False)
    return pc.or_(is_next, pc.and_(pc.is_null(one), pc.is_null(other)))


# What tables of earlier releases had, by which their runs are refused and left as they are.


_REFUSED = "an earlier release collected this run, and only that release can judge it"
_HAD = (
    (RECORDS, "offset", "a row for each record"),
    (("faults",), "target", "targets of faults as texts"),
)
"""Tables, a column that they have no more, and what it says."""


def of_earlier_release(table: str, columns: Collection[str]) -> str:
    """Why a table with these columns is refused, in words; empty if it is of no earlier release."""
    for tables, column, had in _HAD:
        if table in tables and column in columns:
            return f"has {had}: {_REFUSED}"
    return ""


def is_of_earlier_release(file: Path) -> bool:
    """Whether a table's file is of an earlier release; false where it can't be read."""
    try:
        with open_regular(file) as content:
            names = pq.read_schema(content).names
    except (pa.ArrowException, OSError):
        return False
    return bool(of_earlier_release(file.stem, names))

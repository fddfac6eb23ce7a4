"""Whether the rows of tables are what the contract declares: not missing, out of range or unknown.

One statement for all tables, on any engine. From a table that breaks its contract nothing is
concluded: a negative offset, or a row that is there twice, would look like a fault of Kafka or of a
client.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import msgspec
import pyarrow as pa

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal, text_of
from analysis.engine.frames import Engine, Frame, Row
from contract.regular_files import is_of_storage
from contract.table_columns import Column, Table
from contract.tables import DECLARED

KEY_ROWS_MAX = 1_000_000
"""Keys of larger tables are not compared, as each row's would have to be kept."""
_TOLD_MAX = 3
_FIRST_AND_LAST = (
    ("first_offset", "last_offset", 0),
    ("first_sequence", "last_sequence", 0),
    ("base_offset", "last_offset", 1),
)
"""A batch of no record may end where it begins, exclusive."""
_SPANS = ("last_sequence - first_sequence", "last_offset - first_offset")
_TABLE, _BROKEN, _TWICE = "table", "broken", "twice"


@dataclass(frozen=True)
class _Rule:
    """What no row may have.

    Attributes:
        sql: holds for a row that has it; it may be null for others.
        words: what such a row has.
    """

    sql: str
    words: str


def broken_tables(
    engine: Engine, tables: Mapping[str, Frame], rows: Mapping[str, int]
) -> dict[str, str]:
    """Why tables break their contract, in words, by name.

    Args:
        engine: of the tables.
        tables: those that have rows.
        rows: their numbers.
    """
    asked = {name: _counted(name, table, rows[name]) for name, table in tables.items()}
    answers = _answers(engine, asked)
    told = {name: _told(name, tables[name], answer) for name, answer in answers.items()}
    return {name: f"table {name} {words}" for name, words in told.items() if words}


def _counted(name: str, table: Frame, rows: int) -> Frame:
    """How many rows break a rule, and how many have the key of another one."""
    rules = " or ".join(f"({rule.sql})" for rule in _rules(DECLARED[name]))
    twice = F.lit(0)
    if (key := DECLARED[name].key) and rows <= KEY_ROWS_MAX:
        names = ", ".join(map(text_of, key))
        twice = F.expr(f"count(1) - count(distinct xxhash64({names}))")
    broken = F.count_if(F.expr(rules)).alias(_BROKEN)
    return table.agg(broken, twice.cast("bigint").alias(_TWICE)).withColumn(_TABLE, F.lit(name))


def _answers(engine: Engine, asked: Mapping[str, Frame]) -> dict[str, Row | Exception]:
    """The counts of all tables, in one statement; of each alone if one of them can't be read."""
    if not asked:
        return {}
    try:
        return {row[_TABLE]: row for row in reduce(Frame.union, asked.values()).collect()}
    except Exception:  # noqa: BLE001 - which table it is, and why, is asked next
        alone = engine.run_all(list(asked.values()))
    return {
        name: one if isinstance(one, Exception) else Row(one.to_pylist()[0])
        for name, one in zip(asked, alone, strict=True)
    }


def _told(name: str, table: Frame, counts: Row | Exception) -> str:
    if isinstance(counts, Exception):
        return _unread(counts)
    told = list(_of_rules(name, table)) if counts[_BROKEN] else []
    if counts[_TWICE]:
        key = ", ".join(DECLARED[name].key)
        told.append(f"{_rows(counts[_TWICE])} with the {key} of another one")
    told += _of_json(DECLARED[name], table)
    more = f", and {len(told) - _TOLD_MAX} more" if len(told) > _TOLD_MAX else ""
    return f"breaks its contract: {', '.join(told[:_TOLD_MAX])}{more}" if told else ""


def _unread(error: Exception) -> str:
    """In words.

    Raises:
        Exception: the error, if something can't be written.
    """
    if is_of_storage(error):
        raise error
    first_line = str(error).strip().partition("\n")[0]
    return f"can't be read: {first_line}"


def _of_rules(name: str, table: Frame) -> Iterator[str]:
    """Which rules are broken, with the number of rows."""
    rules = list(_rules(DECLARED[name]))
    counts = [F.count_if(F.expr(one.sql)).alias(f"rule_{at}") for at, one in enumerate(rules)]
    (found,) = table.agg(*counts).collect()
    for at, rule in enumerate(rules):
        if number := found[f"rule_{at}"]:
            yield f"{rule.words} in {_rows(number)}"


def _of_json(declared: Table, table: Frame) -> Iterator[str]:
    for column in declared.columns:
        if column.is_json:
            texts = [row[column.name] for row in table.select(column.name).collect()]
            if number := sum(not _is_object(text) for text in texts):
                yield f"{column.name} is no JSON object in {_rows(number)}"


def _is_object(text: str | None) -> bool:
    try:
        return text is None or isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def _rows(number: int) -> str:
    return f"{number:,} row" if number == 1 else f"{number:,} rows"


def _rules(table: Table) -> Iterator[_Rule]:
    for column in table.columns:
        yield from _rules_of(column)
    names = {column.name for column in table.columns}
    for first, last, less in _FIRST_AND_LAST:
        if {first, last} <= names:
            yield _Rule(f"{last} < {first} - {less}", f"{last} is below {first}")
    if {"first_sequence", "first_offset"} <= names:
        yield _Rule(" <> ".join(_SPANS), "offsets and sequence numbers differ in length")


def _rules_of(column: Column) -> Iterator[_Rule]:
    name, sql = column.name, text_of(column.name)
    if not column.null:
        yield _Rule(f"{sql} is null", f"{name} is missing")
    if pa.types.is_list(column.type):
        yield _Rule(
            f"exists({sql}, one -> one is null or one < {column.least})",
            f"{name} has an element that is missing or below {column.least}",
        )
        return
    if column.least is not None:
        yield _Rule(f"{sql} < {literal(column.least)}", f"{name} is below {column.least}")
    if column.most is not None:
        yield _Rule(f"{sql} > {literal(column.most)}", f"{name} is above {column.most}")
    if column.values:
        known = ", ".join(map(literal, column.values))
        words = f"{name} is none of {', '.join(column.values)}"
        yield _Rule(f"{sql} not in ({known})", words)

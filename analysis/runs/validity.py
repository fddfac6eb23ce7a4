"""Whether the rows of tables are what the contract declares: not missing, out of range or unknown.

One statement for all tables. From a table that breaks its contract nothing is
concluded: a negative offset, or a row that is there twice, would look like a fault of Kafka or of a
client.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from analysis.engine.duckdb import DuckDBEngine
from contract.files import is_of_storage
from contract.table_columns import Column, Table
from contract.tables import DECLARED

KEY_ROWS_MAX = 1_000_000
"""Keys of larger tables are not compared, as each row's would have to be kept."""
_REPORTED_MAX = 3
_FIRST_AND_LAST = (
    ("first_offset", "last_offset", 0),
    ("first_sequence", "last_sequence", 0),
    ("base_offset", "last_offset", 1),
)
"""A batch of no record may end where it begins, exclusive."""
_SPANS = ("last_sequence - first_sequence", "last_offset - first_offset")
_Counts = dict[str, Any]


@dataclass(frozen=True)
class _Rule:
    """What no row may have.

    Attributes:
        sql: holds for a row that has it; it may be null for others.
        words: what such a row has.
    """

    sql: str
    words: str


def broken_tables(engine: DuckDBEngine, rows: Mapping[str, int]) -> dict[str, str]:
    """Why tables break their contract, in words, by name."""
    asked = {name: _counting_statement(name, number) for name, number in rows.items()}
    answers = _answers(engine, asked)
    reported = {name: _problem_of(engine, name, answer) for name, answer in answers.items()}
    return {name: f"table {name} {words}" for name, words in reported.items() if words}


def statements() -> Iterator[str]:
    """What is asked of every table that is not too large."""
    for name in DECLARED:
        yield _counting_statement(name, 0)


def _counting_statement(name: str, rows: int) -> str:
    """A statement: how many rows break a rule, and how many have the key of another one.

    It reads every page of every column: a damaged one is found here, whatever asks for it later.
    """
    columns = ", ".join(_quote(column.name) for column in DECLARED[name].columns)
    rules = " or ".join(f"({rule.sql})" for rule in _rules(DECLARED[name]))
    twice = "0"
    if (key := DECLARED[name].key) and rows <= KEY_ROWS_MAX:
        names = ", ".join(map(_quote, key))
        twice = f"count(1) - count(distinct xxhash64({names}))"
    return (
        f"select '{name}' as table_name, count_if({rules}) as broken,"
        f" cast({twice} as bigint) as twice, bit_xor(xxhash64({columns})) as content from {name}"
    )


def _answers(engine: DuckDBEngine, asked: Mapping[str, str]) -> dict[str, _Counts | Exception]:
    """The counts of all tables, in one statement; of each alone if one of them can't be read."""
    if not asked:
        return {}
    try:
        rows = engine.rows(*asked.values(), numbers={}).to_pylist()
        return {row["table_name"]: row for row in rows}
    except Exception:  # noqa: BLE001 - which table it is, and why, is asked next
        return {name: _answer(engine, statement) for name, statement in asked.items()}


def _answer(engine: DuckDBEngine, statement: str) -> _Counts | Exception:
    try:
        row: _Counts = engine.rows(statement, numbers={}).to_pylist()[0]
    except Exception as error:  # noqa: BLE001 - the other tables have theirs
        return error
    return row


def _problem_of(engine: DuckDBEngine, name: str, counts: _Counts | Exception) -> str:
    if isinstance(counts, Exception):
        return _unread(counts)
    reported = list(_of_rules(engine, name)) if counts["broken"] else []
    if counts["twice"]:
        key = ", ".join(DECLARED[name].key)
        reported.append(f"{_rows(counts['twice'])} with the {key} of another one")
    reported += _of_json(engine, name)
    rest = len(reported) - _REPORTED_MAX
    more = f", and {rest} more" if rest > 0 else ""
    return f"breaks its contract: {', '.join(reported[:_REPORTED_MAX])}{more}" if reported else ""


def _unread(error: Exception) -> str:
    """In words.

    Raises:
        Exception: the error, if something can't be written.
    """
    if is_of_storage(error):
        raise error
    first_line = str(error).strip().partition("\n")[0]
    return f"can't be read: {first_line}"


def _of_rules(engine: DuckDBEngine, name: str) -> Iterator[str]:
    """Which rules are broken, with the number of rows."""
    rules = list(_rules(DECLARED[name]))
    counts = ", ".join(f"count_if({rule.sql}) as rule_{at}" for at, rule in enumerate(rules))
    (found,) = engine.rows(f"select {counts} from {name}", numbers={}).to_pylist()
    for at, rule in enumerate(rules):
        if number := found[f"rule_{at}"]:
            yield f"{rule.words} in {_rows(number)}"


def _of_json(engine: DuckDBEngine, name: str) -> Iterator[str]:
    for column in DECLARED[name].columns:
        if column.is_json:
            rows = engine.rows(f"select `{column.name}` from {name}", numbers={})
            texts = rows[column.name].to_pylist()
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
    name, sql = column.name, _quote(column.name)
    if not column.null:
        yield _Rule(f"{sql} is null", f"{name} is missing")
    if pa.types.is_list(column.type):
        if column.least is None:
            has_none = f"exists({sql}, one -> one is null)"
            yield _Rule(has_none, f"{name} has an element that is missing")
            return
        yield _Rule(
            f"exists({sql}, one -> one is null or one < {column.least})",
            f"{name} has an element that is missing or below {column.least}",
        )
        return
    if column.least is not None:
        yield _Rule(f"{sql} < {_number(column.least)}", f"{name} is below {column.least}")
    if column.most is not None:
        yield _Rule(f"{sql} > {_number(column.most)}", f"{name} is above {column.most}")
    if column.values:
        known = ", ".join(f"'{value}'" for value in column.values)
        words = f"{name} is none of {', '.join(column.values)}"
        yield _Rule(f"{sql} not in ({known})", words)


def _quote(name: str) -> str:
    return f"`{name}`"


def _number(value: int) -> str:
    """A bound in Spark's SQL."""
    return str(value) if -(2**31) <= value < 2**31 else f"{value}L"

"""A lie: one place of a genuine run that is changed, and the check that must notice it."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.lies.genuine import Row, Tables
from contract.checks import Check
from contract.verdicts import FindingVerdict

Change = Callable[[Tables, Random], None]
"""Changes tables in one place, which it chooses by chance among those that fit."""
Where = Callable[[Row], bool]

VIOLATION, UNDECIDED, PERMITTED = (
    FindingVerdict.VIOLATION,
    FindingVerdict.UNDECIDED,
    FindingVerdict.PERMITTED,
)


class Verb(enum.StrEnum):
    """The kind of a change."""

    DROP = "drop"
    REPEAT = "repeat"
    ALTER = "alter"
    SHIFT = "shift"
    SWAP = "swap"
    ADD = "add"
    EMPTY = "empty"
    REMOVE = "remove"
    RENAME = "rename"
    RETYPE = "retype"
    TRUNCATE = "truncate"


class NoPlaceError(Exception):
    """A genuine run has no row in which a lie could be planted."""


@dataclass(frozen=True, kw_only=True)
class Lie:
    """One lie about rows.

    Attributes:
        name: the lie in words.
        table: of the rows, or the first of them.
        story: of which genuine run, by its name in `bench.lies.stories`.
        check: must notice it; named from the definitions, before any run.
        verdict: of the finding that it must make. `undecided`: the lie damages evidence only, so
            no check may accuse anybody because of it.
    """

    name: str
    verb: Verb
    table: str
    story: str
    check: Check
    verdict: FindingVerdict
    change: Change


def lie(
    name: str,
    verb: Verb,
    table: str,
    check: Check,
    change: Change,
    *,
    story: str,
    verdict: FindingVerdict = VIOLATION,
) -> Lie:
    """A lie, which a check must notice as a violation if nothing else is named."""
    return Lie(
        name=name, verb=verb, table=table, story=story, check=check, verdict=verdict, change=change
    )


def anywhere(_: Row) -> bool:
    """Any row will do."""
    return True


def having(**values: Any) -> Where:
    """Rows that have these values."""
    return lambda row: all(row[name] == value for name, value in values.items())


def within(first: int, last: int, column: str = "offset", **values: Any) -> Where:
    """Rows that have these values, and between two numbers in a column."""
    fits = having(**values)
    return lambda row: fits(row) and row[column] is not None and first <= row[column] <= last


def fitting(tables: Tables, table: str, where: Where) -> list[Row]:
    """The rows in which a lie may be planted.

    Raises:
        NoPlaceError: there is none.
    """
    rows = [row for row in tables[table] if where(row)]
    if not rows:
        raise NoPlaceError(f"no fitting row in {table}")
    return rows


def chosen(
    tables: Tables, table: str, where: Where, random: Random, same: tuple[str, ...] = ()
) -> list[Row]:
    """A row by chance, with all that have the same values in some columns, if any are named."""
    one = random.choice(fitting(tables, table, where))
    if not same:
        return [one]
    return [row for row in tables[table] if all(row[name] == one[name] for name in same)]


def without(rows: list[Row], gone: list[Row]) -> list[Row]:
    """All rows but some, which are compared as objects."""
    ids = {id(row) for row in gone}
    return [row for row in rows if id(row) not in ids]


def drop(table: str, where: Where = anywhere, *, same: tuple[str, ...] = ()) -> Change:
    """Drop a row, and those that are the same in some columns."""

    def change(tables: Tables, random: Random) -> None:
        tables[table] = without(tables[table], chosen(tables, table, where, random, same))

    return change


def drop_all(table: str, where: Where) -> Change:
    """Drop every row that fits."""

    def change(tables: Tables, _: Random) -> None:
        tables[table] = without(tables[table], fitting(tables, table, where))

    return change


def alter(
    table: str, where: Where = anywhere, *, same: tuple[str, ...] = (), **values: Any
) -> Change:
    """Give a row, and those that are the same in some columns, other values.

    A value that can be called makes the new one from the row.
    """

    def change(tables: Tables, random: Random) -> None:
        for row in chosen(tables, table, where, random, same):
            row.update(made(row, values))

    return change


def alter_all(table: str, where: Where, **values: Any) -> Change:
    """Give every row that fits other values."""

    def change(tables: Tables, _: Random) -> None:
        for row in fitting(tables, table, where):
            row.update(made(row, values))

    return change


def repeat(
    table: str, where: Where = anywhere, *, same: tuple[str, ...] = (), **values: Any
) -> Change:
    """Repeat a row, and those that are the same in some columns, with other values."""

    def change(tables: Tables, random: Random) -> None:
        for row in chosen(tables, table, where, random, same):
            tables[table].append({**row, **made(row, values)})

    return change


def swap(table: str, where: Where, *columns: str, by: str) -> Change:
    """Swap what two rows that follow each other, ordered by a column, have in some columns."""

    def change(tables: Tables, random: Random) -> None:
        rows = sorted(fitting(tables, table, where), key=lambda row: row[by])
        if len(rows) < 2:  # noqa: PLR2004 - a swap takes two
            raise NoPlaceError(f"no two fitting rows in {table}")
        first = random.randrange(len(rows) - 1)
        one, other = rows[first], rows[first + 1]
        for column in columns:
            one[column], other[column] = other[column], one[column]

    return change


def both(*changes: Change) -> Change:
    """Several changes that make up one lie."""

    def change(tables: Tables, random: Random) -> None:
        for one in changes:
            one(tables, random)

    return change


def made(row: Row, values: dict[str, Any]) -> Row:
    """The new values of a row."""
    return {name: value(row) if callable(value) else value for name, value in values.items()}


def plus(column: str, more: int) -> Callable[[Row], int]:
    """The value of a column plus `more`."""
    return lambda row: int(row[column]) + more

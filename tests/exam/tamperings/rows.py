"""Changes rows of a genuine run: each step of a tampering is a statement of DuckDB."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

from contract.errors import FencepostError
from tests.exam.tamperings.tampering import Step
from tests.exam.world import Row

_NAMED = re.compile(r"\{(\w+)\}")


class NoPlaceError(FencepostError):
    """A genuine run has no row, or line, that could be tampered with."""


class Rows:
    """The rows of a genuine run's tables, which are changed and put back."""

    def __init__(self, tables: Mapping[str, pa.Table], views: Mapping[str, str]) -> None:
        """Take the tables, with views that tamperings read."""
        self._conn = duckdb.connect()
        self._conn.execute("set threads = 1")
        self._columns = {table: content.column_names for table, content in tables.items()}
        for table, content in tables.items():
            self._conn.register("content", content)
            self._conn.execute(f'create table "{table}" as select * from content')
        for name, statement in views.items():
            self._conn.execute(f'create view "{name}" as {_normalize(statement)}')

    @contextmanager
    def change_rows(self, steps: Iterable[Step], random: Random) -> Iterator[dict[str, list[Row]]]:
        """The changed tables' rows after some steps, which are undone at the end.

        Raises:
            NoPlaceError: no row can be chosen.
        """
        first: Row = {}
        self._conn.begin()
        try:
            for step in steps:
                chosen = self._do(step, first, random)
                first = first or chosen
            tables = {step.of for step in steps if step.verb != "pick"}
            yield {table: self._rows(f'select * from "{table}"') for table in sorted(tables)}
        finally:
            self._conn.rollback()

    def _do(self, step: Step, first: Row, random: Random) -> Row:
        """Do one step; returns the row that it chose."""
        table, values = f'"{step.of}"', _expressions(step.set, first)
        if step.verb == "add":
            names, row = (", ".join(each) for each in (_quote(values), values.values()))
            self._conn.execute(f"insert into {table} ({names}) values ({row})")
            return {}
        where = _normalize(_fill(step.where or "true", first))
        fitting = self._rows(f"select *, rowid as place from {table} where {where} order by rowid")
        if step.verb == "swap":
            self._swap(step, fitting, random)
            return {}
        if not fitting:
            raise NoPlaceError(f"no fitting row in {step.of}")
        chosen = fitting[0] if step.all else random.choice(fitting)
        which = _any([row["place"] for row in fitting] if step.all else [chosen["place"]])
        if step.same:
            which = " and ".join(
                f"{name} is not distinct from {_literal(chosen[column])}"
                for column, name in zip(step.same, _quote(step.same), strict=True)
            )
        if step.verb == "drop":
            self._conn.execute(f"delete from {table} where {which}")
        elif step.verb == "change":
            changes = ", ".join(f'"{name}" = {value}' for name, value in values.items())
            self._conn.execute(f"update {table} set {changes} where {which}")
        elif step.verb == "repeat":
            columns = ", ".join(values.get(name, f'"{name}"') for name in self._columns[step.of])
            numbers = f"range(1, {step.times + 1}) as numbers(number)"
            self._conn.execute(
                f"insert into {table} select {columns} from {table}, {numbers} where {which}"
            )
        return chosen

    def _swap(self, step: Step, fitting: list[Row], random: Random) -> None:
        """Swap what two rows that follow each other have in some columns."""
        (by,) = {*step.set.values()}
        rows = sorted(fitting, key=lambda row: row[by])
        if len(rows) < 2:
            raise NoPlaceError(f"no two fitting rows in {step.of}")
        first = random.randrange(len(rows) - 1)
        pair = rows[first], rows[first + 1]
        for one, other in (pair, pair[::-1]):
            values = ", ".join(f'"{name}" = {_literal(other[name])}' for name in step.set)
            self._conn.execute(f'update "{step.of}" set {values} where rowid = {one["place"]}')

    def _rows(self, statement: str) -> list[Row]:
        rows: list[Row] = self._conn.sql(statement).to_arrow_table().to_pylist()
        return rows


def _expressions(values: Mapping[str, Any], first: Row) -> dict[str, str]:
    """By column, the expression of its new value."""
    return {
        name: _normalize(_fill(value[1:], first))
        if isinstance(value, str) and value.startswith("=")
        else _literal(value)
        for name, value in values.items()
    }


def _quote(names: Iterable[str]) -> list[str]:
    return [f'"{name}"' for name in names]


def _any(places: list[int]) -> str:
    return f"rowid in ({', '.join(map(str, places))})"


def _fill(text: str, row: Row) -> str:
    """A text with the values of the row that the first step chose."""
    return _NAMED.sub(lambda found: _literal(row[found[1]]), text)


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def _normalize(text: str) -> str:
    """A statement or an expression as DuckDB spells it."""
    spelled: str = sqlglot.parse_one(text, read="spark").sql("duckdb", identify=True)
    return spelled

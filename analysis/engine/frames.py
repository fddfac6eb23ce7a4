"""Frames: tables, and SELECTs over other frames, in Spark's SQL.

A frame is built without a session: it only knows the names of its columns. What it is made of
becomes one statement (`analysis.engine.statements`) when its rows are asked for, so that a session
parses, analyzes and plans it once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from analysis.engine.columns import Column, expression, text_of

_T = TypeVar("_T")
_R = TypeVar("_R")
JOINS = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "full_outer": "FULL OUTER JOIN",
    "left_semi": "LEFT SEMI JOIN",
    "left_anti": "LEFT ANTI JOIN",
    "cross": "CROSS JOIN",
}
"""In SQL, by what Spark's DataFrames call them."""
_WITHOUT_RIGHT = ("left_semi", "left_anti")


class Row(dict[str, Any]):
    """One row, by its columns' names."""


class Engine(Protocol):
    """What runs statements. Only it knows how large a trace is."""

    def run(self, frame: "Frame") -> pa.Table:
        """The rows of a frame."""
        ...

    def run_all(self, frames: Sequence["Frame"]) -> list[pa.Table | Exception]:
        """The rows of several frames, or why they can't be had.

        What only one of them uses once is computed as a part of it.
        """
        ...

    def table(self, content: pa.Table) -> "Frame":
        """Rows that Python has."""
        ...

    def parquet(self, place: Path | str, schema: pa.Schema, rows: int) -> "Frame":
        """Rows of a Parquet file at a path or URI, by a schema, and as many as `rows`."""
        ...

    def materialized(self, frame: "Frame") -> "Frame":
        """The rows of a frame, computed at most once, for whatever frames are made of it."""
        ...

    def each(self, ask: Callable[[_T], _R], of: Iterable[_T]) -> list[_R]:
        """What is asked of each, in their order."""
        ...


class View:
    """A table that an engine keeps as long as a frame refers to it."""

    def __init__(self, name: str) -> None:
        """Refer to it.

        Args:
            name: in statements.
        """
        self.name = name


@dataclass(frozen=True)
class Joined:
    """A frame on the right side of a join.

    Attributes:
        how: the kind, as Spark's DataFrames call it.
        on: the clause USING or ON; empty of a cross join.
    """

    frame: "Frame"
    how: str
    on: str


@dataclass(frozen=True)
class Select:
    """A SELECT, by its clauses.

    Attributes:
        items: of the select list, each a name and its SQL; empty as long as they are all columns,
            as they are.
        tail: GROUP BY, ORDER BY or LIMIT.
        is_distinct: whether each row comes once.
        is_aggregated: whether it makes one row of many.
    """

    source: "Frame"
    joined: tuple[Joined, ...] = ()
    where: tuple[str, ...] = ()
    items: tuple[tuple[str, str], ...] = ()
    tail: str = ""
    is_distinct: bool = False
    is_aggregated: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a further clause can be added; else it goes into a SELECT around this one."""
        return not (self.items or self.tail or self.is_distinct)


@dataclass(frozen=True)
class Union:
    """The rows of several frames, columns by their place."""

    parts: tuple["Frame", ...]


@dataclass(frozen=True)
class Text:
    """A statement in Spark's SQL, and the frames that it names."""

    sql: str
    named: tuple[tuple[str, "Frame"], ...]


@dataclass(eq=False)
class Shared:
    """Rows that several frames may use: see `analysis.engine.sharing`.

    Attributes:
        frame: what they are made of.
        computed: the table that has them; None until they are needed.
        error: why they can't be computed, if so.
        is_changing: held while they are computed.
    """

    frame: "Frame"
    computed: "Frame | None" = None
    error: Exception | None = None
    is_changing: Lock = field(default_factory=Lock)


@dataclass(frozen=True, eq=False)
class Frame:
    """A table or a query.

    The methods are those of Spark's `DataFrame` that the checks use. Where Spark would only fail
    when the name is used, a column without a name, or two of one name, are refused at once.

    Attributes:
        engine: runs it.
        columns: their names, in their order.
        body: what it is made of.
        is_empty: whether it is known to have no rows; False if it is not known.
    """

    engine: Engine
    columns: tuple[str, ...]
    body: View | Select | Union | Text | Shared
    is_empty: bool = False

    @property
    def inputs(self) -> Iterator["Frame"]:
        """The frames that it is made of directly."""
        if isinstance(self.body, Union):
            yield from self.body.parts
        elif isinstance(self.body, Text):
            yield from (frame for _, frame in self.body.named)
        elif isinstance(self.body, Select):
            yield self.body.source
            yield from (one.frame for one in self.body.joined)

    def select(self, *wanted: Any) -> "Frame":
        """These columns: names, columns, or `*` for all."""
        return self.listed(self.named(wanted))

    def selectExpr(self, *wanted: str) -> "Frame":
        """These columns, in Spark's SQL."""
        return self.listed(self.named(one if one == "*" else expression(one) for one in wanted))

    def withColumn(self, name: str, column: Column) -> "Frame":
        """One column more, or another in its place."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Column]) -> "Frame":
        """More columns, or others in their place; none reads another of them."""
        items = {one: text_of(one) for one in self.columns}
        items |= {name: column.sql for name, column in columns.items()}
        return self.listed(list(items.items()))

    def withColumnRenamed(self, old: str, new: str) -> "Frame":
        """One column under another name."""
        return self.withColumnsRenamed({old: new})

    def withColumnsRenamed(self, names: Mapping[str, str]) -> "Frame":
        """Some columns under other names."""
        return self.toDF(*(names.get(name, name) for name in self.columns))

    def toDF(self, *names: str) -> "Frame":
        """All columns under other names."""
        return self.listed(list(zip(names, map(text_of, self.columns), strict=True)))

    def drop(self, *names: str) -> "Frame":
        """All columns but these."""
        return self.select(*(name for name in self.columns if name not in names))

    def where(self, condition: str | Column) -> "Frame":
        """Rows for which it holds."""
        text = f"({condition})" if isinstance(condition, str) else condition.sql
        clauses = self._clauses()
        return self._with(replace(clauses, where=(*clauses.where, text)))

    def distinct(self) -> "Frame":
        """Each row once."""
        body = self.body
        clauses = body if isinstance(body, Select) and not body.tail else Select(self)
        return self._with(replace(clauses, is_distinct=True))

    def orderBy(self, *order: Any) -> "Frame":
        """In this order, nulls first where it ascends."""
        return self._with(Select(self, tail=f"ORDER BY {', '.join(map(text_of, order))}"))

    def limit(self, rows: int) -> "Frame":
        """At most this many rows."""
        return self._with(Select(self, tail=f"LIMIT {rows}"))

    def groupBy(self, *keys: Any) -> "Grouped":
        """Rows of equal keys together."""
        return Grouped(self, keys)

    def agg(self, *columns: Column) -> "Frame":
        """All rows as one."""
        return Grouped(self, ()).agg(*columns)

    def union(self, other: "Frame") -> "Frame":
        """The rows of both, columns by their place."""
        if len(self.columns) != len(other.columns):
            raise ValueError(f"a union of {self.columns} and {other.columns}")
        parts = [
            part
            for one in (self, other)
            for part in (one.body.parts if isinstance(one.body, Union) else (one,))
        ]
        return Frame(self.engine, self.columns, Union(tuple(parts)))

    def unionByName(
        self,
        other: "Frame",
        *,
        allowMissingColumns: bool = False,
    ) -> "Frame":
        """The rows of both, columns by their names."""
        mine, theirs = self, other
        if allowMissingColumns:
            mine = _with_nulls(mine, theirs.columns)
            theirs = _with_nulls(theirs, mine.columns)
        return mine.union(theirs.select(*mine.columns))

    def crossJoin(self, other: "Frame") -> "Frame":
        """Each row with each of the other's."""
        return self._joined(Joined(other, "cross", ""), ())

    def join(self, other: "Frame", on: Any, how: str = "inner") -> "Frame":
        """Rows that belong together.

        Args:
            other: the right side.
            on: the keys that are equal on both sides, which the result has once; or a condition.
            how: inner, left, full_outer, left_semi or left_anti.
        """
        if isinstance(on, Column):
            return self._joined(Joined(other, how, f"ON {on.sql}"), ())
        keys = (on,) if isinstance(on, str) else tuple(on)
        using = f"USING ({', '.join(map(text_of, keys))})"
        return self._joined(Joined(other, how, using), keys)

    def collect(self) -> list[Row]:
        """All rows, in Python."""
        return [Row(row) for row in self.toArrow().to_pylist()]

    def toArrow(self) -> pa.Table:
        """All rows."""
        return self.engine.run(self)

    def isEmpty(self) -> bool:
        """Whether there is no row."""
        return not self.limit(1).toArrow().num_rows

    def count(self) -> int:
        """How many rows there are."""
        (row,) = self.agg(Column("count(1)", "rows")).collect()
        return int(row["rows"])

    def named(self, wanted: Iterable[Any]) -> list[tuple[str, str]]:
        """The name and the SQL of each of some columns, with `*` for all.

        Raises:
            ValueError: a column has no name.
        """
        items: list[tuple[str, str]] = []
        for one in _flat(wanted):
            if isinstance(one, str):
                names = self.columns if one == "*" else [one]
                items += [(name.rpartition(".")[2], text_of(name)) for name in names]
            elif one.name:
                items.append((one.name, one.sql))
            else:
                raise ValueError(f"a column needs a name: {one.sql}")
        return items

    def listed(
        self, items: Sequence[tuple[str, str]], tail: str = "", *, is_aggregated: bool = False
    ) -> "Frame":
        """A SELECT of items, each a name and its SQL.

        Raises:
            ValueError: two have one name.
        """
        clauses = replace(
            self._clauses(), items=tuple(items), tail=tail, is_aggregated=is_aggregated
        )
        return replace(self._with(clauses), columns=_distinct_names([name for name, _ in items]))

    def _clauses(self) -> Select:
        """The clauses to which a further one can be added."""
        body = self.body
        return body if isinstance(body, Select) and body.is_open else Select(self)

    def _with(self, body: Select) -> "Frame":
        return replace(self, body=body, is_empty=False)

    def _joined(self, right: Joined, keys: tuple[str, ...]) -> "Frame":
        theirs = () if right.how in _WITHOUT_RIGHT else right.frame.columns
        rest = [name for name in (*self.columns, *theirs) if name not in keys]
        clauses = self._clauses()
        if clauses.where:
            clauses = Select(self)
        frame = self._with(replace(clauses, joined=(*clauses.joined, right)))
        return replace(frame, columns=_distinct_names([*keys, *rest]))


@dataclass(frozen=True)
class Grouped:
    """Rows of equal keys."""

    frame: Frame
    keys: tuple[Any, ...]

    def agg(self, *columns: Column) -> Frame:
        """One row of each."""
        keys = self.frame.named(self.keys)
        places = ", ".join(str(place) for place in range(1, len(keys) + 1))
        tail = f"GROUP BY {places}" if keys else ""
        return self.frame.listed([*keys, *self.frame.named(columns)], tail, is_aggregated=True)


def _distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names of a frame's columns.

    Raises:
        ValueError: some are equal.
    """
    if several := [name for name, number in Counter(names).items() if number > 1]:
        raise ValueError(f"several columns are called {', '.join(several)}")
    return tuple(names)


def _with_nulls(frame: Frame, names: Iterable[str]) -> Frame:
    return frame.withColumns({name: Column("null") for name in names if name not in frame.columns})


def _flat(wanted: Iterable[Any]) -> Iterator[Any]:
    for one in wanted:
        if isinstance(one, list | tuple):
            yield from one
        else:
            yield one

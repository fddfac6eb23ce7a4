"""Frames: each a SELECT over others, with the names and aliases of its columns kept beside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count as counting
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from bench.on_duckdb.columns import Column, named, ordered, tree_of
from bench.on_duckdb.columns import sql as parsed
from bench.on_duckdb.dialect import text
from bench.on_duckdb.names import Attribute, find, keyed, known, name_of, resolved

_NUMBERS = counting(1)
_LEFT, _RIGHT = "_left", "_right"
_JOINS = {
    "inner": "INNER",
    "left": "LEFT",
    "full": "FULL",
    "outer": "FULL",
    "cross": "CROSS",
    "left_semi": "SEMI",
    "left_anti": "ANTI",
}
_OF_LEFT_ONLY = ("SEMI", "ANTI")

Item = tuple[Attribute, exp.Expression]
"""A column to select, and its expression."""


class Row(dict[str, Any]):
    """One row, by its columns' names."""

    def asDict(self) -> dict[str, Any]:
        """The same as a plain dict."""
        return dict(self)


@dataclass(frozen=True, eq=False)
class DataFrame:
    """A table, or a SELECT over other frames.

    Attributes:
        conn: where it is computed.
        attributes: its columns in their order.
        query: the SELECT.
        inputs: the frames that the SELECT names, by these names.
        table: the table or view that it is all of; empty if it is none.
        name: what other frames' SELECTs call it.
    """

    conn: duckdb.DuckDBPyConnection
    attributes: tuple[Attribute, ...]
    query: str
    inputs: dict[str, "DataFrame"] = field(default_factory=dict)
    table: str = ""
    name: str = field(default_factory=lambda: f"f{next(_NUMBERS)}")

    @property
    def columns(self) -> list[str]:
        """Names."""
        return [one.name for one in self.attributes]

    @property
    def sql(self) -> str:
        """One statement; whether it computes a common table expression once, DuckDB decides."""
        steps = ", ".join(f"{name} AS ({frame.query})" for name, frame in self._ancestry())
        return f"WITH {steps} {self.query}" if steps else self.query

    def select(self, *wanted: Any) -> "DataFrame":
        """These columns."""
        return self._selected(self.items(_flat(wanted)))

    def selectExpr(self, *wanted: str) -> "DataFrame":
        """These columns, in Spark's SQL."""
        return self.select(*(Column(exp.Star() if one == "*" else parsed(one)) for one in wanted))

    def withColumn(self, name: str, column: Any) -> "DataFrame":
        """One column more, or another in its place."""
        return self.withColumns({name: column})

    def withColumns(self, columns: dict[str, Any]) -> "DataFrame":
        """More columns, or others in their place; none reads another of them."""
        told = {name: column.alias(name) for name, column in columns.items()}
        kept = [told.pop(one.name, None) or Column(known(one)) for one in self.attributes]
        return self.select(*kept, *told.values())

    def withColumnRenamed(self, old: str, new: str) -> "DataFrame":
        """One column under another name."""
        return self.withColumnsRenamed({old: new})

    def withColumnsRenamed(self, names: dict[str, str]) -> "DataFrame":
        """Some columns under other names."""
        return self.toDF(*(names.get(name, name) for name in self.columns))

    def toDF(self, *names: str) -> "DataFrame":
        """All columns under other names."""
        pairs = zip(self.attributes, names, strict=True)
        return self.select(*(Column(known(one)).alias(name) for one, name in pairs))

    def drop(self, *names: str) -> "DataFrame":
        """All columns but these."""
        return self.select(*(Column(known(a)) for a in self.attributes if a.name not in names))

    def alias(self, name: str) -> "DataFrame":
        """The same, whose columns are also known as `name.column`."""
        of = frozenset({name})
        return replace(self, attributes=tuple(replace(one, of=of) for one in self.attributes))

    def where(self, condition: Any) -> "DataFrame":
        """Rows for which it holds."""
        tree = parsed(condition) if isinstance(condition, str) else condition.tree
        return self._derived(self.attributes, "*", f" WHERE {self._text(tree)}")

    def distinct(self) -> "DataFrame":
        """Each row once."""
        return self._derived(self.attributes, "DISTINCT *")

    def orderBy(self, *order: Any) -> "DataFrame":
        """In this order, nulls first where it ascends."""
        told = ", ".join(self._text(ordered(tree_of(one))) for one in order)
        return self._derived(self.attributes, "*", f" ORDER BY {told}")

    def limit(self, rows: int) -> "DataFrame":
        """At most this many rows."""
        return self._derived(self.attributes, "*", f" LIMIT {rows}")

    def coalesce(self, _partitions: int) -> "DataFrame":
        """The same: DuckDB has no partitions."""
        return self

    def groupBy(self, *keys: Any) -> "Grouped":
        """Rows of equal keys together."""
        return Grouped(self, _flat(keys))

    def agg(self, *columns: Any) -> "DataFrame":
        """All rows as one."""
        return Grouped(self, []).agg(*columns)

    def union(self, other: "DataFrame") -> "DataFrame":
        """The rows of both, columns by their place."""
        (mine, inputs), (theirs, others) = self.source(), other.source()
        own = ", ".join(_quoted(one.key) for one in self.attributes)
        told = ", ".join(_quoted(one.key) for one in other.attributes)
        query = f"SELECT {own} FROM {mine} UNION ALL SELECT {told} FROM {theirs}"
        attributes = tuple(replace(one, of=frozenset()) for one in self.attributes)
        return DataFrame(self.conn, attributes, query, inputs | others)

    def unionByName(self, other: "DataFrame", *, allowMissingColumns: bool = False) -> "DataFrame":
        """The rows of both, columns by their names."""
        mine, theirs = self, other
        if allowMissingColumns:
            nothing = Column(exp.Null())
            mine = mine.withColumns({n: nothing for n in theirs.columns if n not in mine.columns})
            theirs = theirs.withColumns(
                {n: nothing for n in mine.columns if n not in theirs.columns}
            )
        return mine.union(theirs.select(*mine.columns))

    def crossJoin(self, other: "DataFrame") -> "DataFrame":
        """Each row with each of the other's."""
        return self.join(other, how="cross")

    def join(self, other: "DataFrame", on: Any = None, how: str = "inner") -> "DataFrame":
        """Rows that belong together, by keys of both or by a condition."""
        kind = _JOINS[how]
        (mine, inputs), (theirs, others) = self.source(), other.source()
        left = [replace(one, side=_LEFT) for one in self.attributes]
        right = [replace(one, side=_RIGHT) for one in other.attributes]
        keys = _flat([on]) if isinstance(on, str | list | tuple) else []
        items: list[Item] = []
        conditions = [] if on is None or keys else [resolved(on.tree, (*left, *right))]
        for key in keys:
            one, its = _found(key, left), _found(key, right)
            both = exp.Coalesce(this=one.tree, expressions=[its.tree])
            items.append((replace(one, of=one.of | its.of), both if kind == "FULL" else one.tree))
            conditions.append(exp.EQ(this=one.tree, expression=its.tree))
        rest = left if kind in _OF_LEFT_ONLY else [*left, *right]
        items += [(one, one.tree) for one in rest if one.name not in keys]
        attributes, told = _told(items)
        query = f"SELECT {told} FROM {mine} AS {_LEFT} {kind} JOIN {theirs} AS {_RIGHT}"
        if conditions:
            query += f" ON {' AND '.join(text(one) for one in conditions)}"
        return DataFrame(self.conn, attributes, query, inputs | others)

    def toArrow(self) -> pa.Table:
        """All rows."""
        return self.conn.sql(self.sql).to_arrow_table().rename_columns(self.columns)

    def collect(self) -> list[Row]:
        """All rows, as Python's values."""
        return [Row(row) for row in self.toArrow().to_pylist()]

    def count(self) -> int:
        """Return the number of rows."""
        (row,) = self.agg(Column(exp.alias_(exp.Count(this=exp.Star()), "rows"))).collect()
        return int(row["rows"])

    def isEmpty(self) -> bool:
        """Whether there is no row."""
        return not self.limit(1).count()

    def types(self) -> list[Any]:
        """DuckDB's, of its columns."""
        return list(self.conn.sql(self.sql).types)

    def items(self, wanted: Sequence[Any]) -> list[Item]:
        """Columns to select, with stars and generators expanded."""
        return [item for one in wanted for item in self._items(tree_of(one))]

    def grouped(self, items: list[Item], keys: int) -> "DataFrame":
        """One row for equal values of the first items."""
        attributes, told = _told(items)
        places = ", ".join(str(place + 1) for place in range(keys))
        return self._derived(attributes, told, f" GROUP BY {places}" if places else "")

    def source(self) -> tuple[str, dict[str, "DataFrame"]]:
        """The source of a select, and the inputs that it names."""
        return (self.table, {}) if self.table else (self.name, {self.name: self})

    def _items(self, tree: exp.Expression) -> list[Item]:
        if isinstance(tree, exp.Star):
            return [(one, one.tree) for one in self.attributes]
        if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
            of_frame = [(one, one.tree) for one in self.attributes if tree.table in one.of]
            struct = resolved(named(tree.table), self.attributes) if not of_frame else None
            return of_frame or _fields(struct, self._fields_of(struct))
        if isinstance(tree, exp.Aliases):
            structs = resolved(tree.this.this, self.attributes)
            fields = _fields(exp.Explode(this=structs), self._fields_of(structs))
            names = [one.name for one in tree.args["expressions"]]
            return [(Attribute(name), one) for name, (_, one) in zip(names, fields, strict=True)]
        bare = tree.unalias()
        attribute = find(tree, self.attributes)
        of = attribute.of if attribute is not None else frozenset()
        return [(Attribute(name_of(tree), of), resolved(bare, self.attributes))]

    def _fields_of(self, column: exp.Expression | None) -> list[str]:
        """The fields of a column of structs, or of arrays of structs, as DuckDB knows them."""
        (kind,) = self._derived((), text(column)).limit(0).types()
        struct = kind.child if kind.id == "list" else kind
        return [name for name, _ in struct.children]

    def _text(self, tree: exp.Expression) -> str:
        return text(resolved(tree, self.attributes))

    def _selected(self, items: list[Item]) -> "DataFrame":
        return self._derived(*_told(items))

    def _derived(self, attributes: Sequence[Attribute], told: str, tail: str = "") -> "DataFrame":
        source, inputs = self.source()
        return DataFrame(self.conn, tuple(attributes), f"SELECT {told} FROM {source}{tail}", inputs)

    def _ancestry(self) -> Iterator[tuple[str, "DataFrame"]]:
        seen: set[str] = set()

        def visit(frame: DataFrame) -> Iterator[tuple[str, DataFrame]]:
            for name, one in frame.inputs.items():
                if name not in seen:
                    seen.add(name)
                    yield from visit(one)
                    yield name, one

        return visit(self)


@dataclass(frozen=True)
class Grouped:
    """Rows of equal keys."""

    frame: DataFrame
    keys: list[Any]

    def agg(self, *columns: Any) -> DataFrame:
        """One row of each."""
        return self.frame.grouped(self.frame.items([*self.keys, *columns]), len(self.keys))

    def count(self) -> DataFrame:
        """Return the number of rows of each."""
        return self.agg(Column(exp.alias_(exp.Count(this=exp.Star()), "count")))


def _flat(wanted: Sequence[Any]) -> list[Any]:
    return [each for one in wanted for each in (one if isinstance(one, list | tuple) else [one])]


def _fields(struct: exp.Expression | None, names: list[str]) -> list[Item]:
    return [
        (Attribute(name), exp.Dot(this=struct.copy(), expression=exp.to_identifier(name)))
        for name in names
        if struct is not None
    ]


def _found(key: str, attributes: Sequence[Attribute]) -> Attribute:
    attribute = find(named(key), attributes)
    if attribute is None:
        raise LookupError(f"no column {key} among {[one.name for one in attributes]}")
    return attribute


def _told(items: list[Item]) -> tuple[tuple[Attribute, ...], str]:
    attributes = keyed([attribute for attribute, _ in items])
    pairs = zip(attributes, items, strict=True)
    return attributes, ", ".join(f"{text(tree)} AS {_quoted(a.key)}" for a, (_, tree) in pairs)


def _quoted(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'

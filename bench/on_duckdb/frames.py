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

_NUMBERS = counting(1)
_LEFT, _RIGHT = "_left", "_right"


class Row(dict[str, Any]):
    """One row, by its columns' names."""

    def asDict(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The same as a plain dict."""
        return dict(self)


@dataclass(frozen=True)
class Attribute:
    """A column of a frame.

    Attributes:
        name: what the checks call it.
        of: the aliases of the frame that it came from.
        key: what it is called in SQL, unique in its frame.
        side: of which input of a join it is, while that is told.
    """

    name: str
    of: frozenset[str] = frozenset()
    key: str = ""
    side: str = ""

    @property
    def sql(self) -> exp.Expression:
        """The column in SQL."""
        table = exp.to_identifier(self.side) if self.side else None
        return exp.Column(this=exp.to_identifier(self.key, quoted=True), table=table)


@dataclass(frozen=True, eq=False)
class DataFrame:
    """A table's rows, or those of a SELECT over other frames.

    Attributes:
        conn: where it is computed.
        attributes: its columns in their order.
        select: the SELECT, or the name of a table or view.
        inputs: the frames that the SELECT names, by these names.
    """

    conn: duckdb.DuckDBPyConnection
    attributes: tuple[Attribute, ...]
    select_sql: str
    inputs: dict[str, "DataFrame"] = field(default_factory=dict)
    table: str = ""

    @property
    def columns(self) -> list[str]:
        """Names."""
        return [one.name for one in self.attributes]

    # What it is in SQL

    @property
    def sql(self) -> str:
        """One statement: each frame that it builds on is a common table expression."""
        steps: dict[str, str] = {}
        for name, frame in self._ancestry():
            steps.setdefault(name, frame.select_sql)
        told = ", ".join(f"{name} AS ({step})" for name, step in steps.items())
        return f"WITH {told} {self.select_sql}" if told else self.select_sql

    def _ancestry(self) -> Iterator[tuple[str, "DataFrame"]]:
        seen: set[str] = set()

        def visit(frame: DataFrame) -> Iterator[tuple[str, DataFrame]]:
            for name, one in frame.inputs.items():
                if name not in seen:
                    seen.add(name)
                    yield from visit(one)
                    yield name, one

        return visit(self)

    def _source(self) -> tuple[str, dict[str, "DataFrame"]]:
        """What to select from, and the inputs that this names."""
        if self.table:
            return self.table, {}
        return self._name, {self._name: self}

    @property
    def _name(self) -> str:
        if "_told" not in self.__dict__:
            self.__dict__["_told"] = f"f{next(_NUMBERS)}"
        return str(self.__dict__["_told"])

    def _derived(
        self, attributes: Sequence[Attribute], items: Sequence[str], tail: str = "", head: str = ""
    ) -> "DataFrame":
        source, inputs = self._source()
        select = f"SELECT {head}{', '.join(items)} FROM {source}{tail}"
        return DataFrame(self.conn, tuple(attributes), select, inputs)

    def _kept(self, tail: str, head: str = "") -> "DataFrame":
        return self._derived(self.attributes, ["*"], tail, head)

    # How names in expressions are found

    def _resolved(self, tree: exp.Expression) -> str:
        return text(_resolve(tree, self.attributes))

    def _items(self, wanted: Sequence[Any]) -> list[tuple[Attribute, exp.Expression]]:
        """Columns to select, stars and generators told one by one."""
        found: list[tuple[Attribute, exp.Expression]] = []
        for one in wanted:
            tree = tree_of(one)
            if isinstance(tree, exp.Star):
                found += [(each, each.sql) for each in self.attributes]
            elif isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
                found += self._starred(tree.table)
            elif isinstance(tree, exp.Aliases):
                found += self._inlined(tree)
            else:
                bare = tree.this if isinstance(tree, exp.Alias) else tree
                known = _find(bare, self.attributes) if tree is bare else None
                of = known.of if known is not None else frozenset()
                found.append((Attribute(_name_of(tree), of), _resolve(bare, self.attributes)))
        return found

    def _starred(self, name: str) -> list[tuple[Attribute, exp.Expression]]:
        of_frame = [(one, one.sql) for one in self.attributes if name in one.of]
        if of_frame:
            return of_frame
        struct = named(name)
        fields = self._fields(name)
        return [
            (Attribute(one), _resolve(exp.Dot(this=struct.copy(), expression=exp.to_identifier(one)), self.attributes))
            for one in fields
        ]

    def _fields(self, name: str) -> list[str]:
        """The fields of a struct, as DuckDB knows them."""
        key = _resolve(named(name), self.attributes).name
        kinds = dict(zip((a.key for a in self.attributes), self.conn.sql(self.sql).types, strict=True))
        return [field_name for field_name, _ in kinds[key].children]

    def _inlined(self, tree: exp.Expression) -> list[tuple[Attribute, exp.Expression]]:
        """`inline(structs) as (a, b)`: the structs' fields under other names, a row each."""
        structs = tree.this.this
        fields = self._list_fields(structs.name)
        exploded = exp.Explode(this=_resolve(structs, self.attributes))
        return [
            (Attribute(told.name), exp.Dot(this=exploded.copy(), expression=exp.to_identifier(one)))
            for told, one in zip(tree.args["expressions"], fields, strict=True)
        ]

    def _list_fields(self, name: str) -> list[str]:
        key = _resolve(named(name), self.attributes).name
        kinds = dict(zip((a.key for a in self.attributes), self.conn.sql(self.sql).types, strict=True))
        return [field_name for field_name, _ in kinds[key].child.children]

    # Spark's methods

    def select(self, *wanted: Any) -> "DataFrame":
        """These columns."""
        items = self._items([each for one in wanted for each in (one if isinstance(one, list) else [one])])
        attributes = _keyed([attribute for attribute, _ in items])
        told = [f"{text(tree)} AS {_quoted(one.key)}" for one, (_, tree) in zip(attributes, items, strict=True)]
        return self._derived(attributes, told)

    def selectExpr(self, *wanted: str) -> "DataFrame":  # noqa: N802 - Spark's name
        """These columns, in Spark's SQL."""
        return self.select(*(Column(exp.Star() if one == "*" else parsed(one)) for one in wanted))

    def withColumn(self, name: str, column: Any) -> "DataFrame":  # noqa: N802 - Spark's name
        """One column more, or another in its place."""
        new = column.alias(name)
        if name not in self.columns:
            return self.select(Column(exp.Star()), new)
        return self.select(*(new if one.name == name else _known(one) for one in self.attributes))

    def withColumns(self, columns: dict[str, Any]) -> "DataFrame":  # noqa: N802 - Spark's name
        """More columns, none of which reads another."""
        kept = [_known(one) for one in self.attributes if one.name not in columns]
        return self.select(*kept, *(one.alias(name) for name, one in columns.items()))

    def withColumnRenamed(self, old: str, new: str) -> "DataFrame":  # noqa: N802 - Spark's name
        """One column under another name."""
        return self.toDF(*(new if name == old else name for name in self.columns))

    def toDF(self, *names: str) -> "DataFrame":  # noqa: N802 - Spark's name
        """All columns under other names."""
        return self.select(*(_known(one).alias(name) for one, name in zip(self.attributes, names, strict=True)))

    def drop(self, *names: str) -> "DataFrame":
        """All columns but these."""
        return self.select(*(_known(one) for one in self.attributes if one.name not in names))

    def alias(self, name: str) -> "DataFrame":
        """The same, whose columns are also known as `name.column`."""
        of = frozenset({name})
        return replace(self, attributes=tuple(replace(one, of=of) for one in self.attributes))

    def where(self, condition: Any) -> "DataFrame":
        """Rows for which it holds."""
        tree = parsed(condition) if isinstance(condition, str) else condition.tree
        return self._kept(f" WHERE {self._resolved(tree)}")

    def distinct(self) -> "DataFrame":
        """Each row once."""
        return self._kept("", "DISTINCT ")

    def orderBy(self, *order: Any) -> "DataFrame":  # noqa: N802 - Spark's name
        """In this order, nulls first where it ascends."""
        told = ", ".join(self._resolved(ordered(tree_of(one))) for one in order)
        return self._kept(f" ORDER BY {told}")

    def limit(self, rows: int) -> "DataFrame":
        """So many rows at most."""
        return self._kept(f" LIMIT {rows}")

    def coalesce(self, _partitions: int) -> "DataFrame":
        """The same: DuckDB has no partitions."""
        return self

    def groupBy(self, *keys: Any) -> "Grouped":  # noqa: N802 - Spark's name
        """Rows of equal keys together."""
        return Grouped(self, [each for one in keys for each in (one if isinstance(one, list) else [one])])

    def agg(self, *columns: Any) -> "DataFrame":
        """All rows as one."""
        return Grouped(self, []).agg(*columns)

    def union(self, other: "DataFrame") -> "DataFrame":
        """The rows of both, columns by their place."""
        (mine, inputs), (theirs, others) = self._source(), other._source()
        keys = [_quoted(one.key) for one in self.attributes]
        told = ", ".join(keys)
        others_keys = ", ".join(_quoted(one.key) for one in other.attributes)
        select = f"SELECT {told} FROM {mine} UNION ALL SELECT {others_keys} FROM {theirs}"
        attributes = tuple(replace(one, of=frozenset()) for one in self.attributes)
        return DataFrame(self.conn, attributes, select, inputs | others)

    def unionByName(self, other: "DataFrame", *, allowMissingColumns: bool = False) -> "DataFrame":  # noqa: N802, N803 - Spark's names
        """The rows of both, columns by their names."""
        mine, theirs = self, other
        if allowMissingColumns:
            nothing = Column(exp.Null())
            for name in [name for name in theirs.columns if name not in mine.columns]:
                mine = mine.withColumn(name, nothing)
            for name in [name for name in mine.columns if name not in theirs.columns]:
                theirs = theirs.withColumn(name, nothing)
        return mine.union(theirs.select(*mine.columns))

    def crossJoin(self, other: "DataFrame") -> "DataFrame":  # noqa: N802 - Spark's name
        """Each row with each of the other's."""
        return self.join(other, how="cross")

    def join(self, other: "DataFrame", on: Any = None, how: str = "inner") -> "DataFrame":
        """Rows that belong together, by keys of both or by a condition."""
        (mine, inputs), (theirs, others) = self._source(), other._source()
        left = [replace(one, side=_LEFT) for one in self.attributes]
        right = [replace(one, side=_RIGHT) for one in other.attributes]
        keys = [on] if isinstance(on, str) else on if isinstance(on, list | tuple) else []
        if keys:
            pairs = [(_find(named(key), left), _find(named(key), right)) for key in keys]
            condition = " AND ".join(f"{text(a.sql)} = {text(b.sql)}" for a, b in pairs if a and b)
        else:
            condition = text(_resolve(on.tree, (*left, *right))) if on is not None else ""
        kind = _JOINS[how]
        told: list[tuple[Attribute, str]] = []
        for key in keys:
            a, b = _find(named(key), left), _find(named(key), right)
            one = replace(a, of=a.of | b.of)
            told.append((one, f"COALESCE({text(a.sql)}, {text(b.sql)})" if kind == "FULL" else text(a.sql)))
        rest = left if kind in ("SEMI", "ANTI") else [*left, *right]
        told += [(one, text(one.sql)) for one in rest if one.name not in keys]
        attributes = _keyed([attribute for attribute, _ in told])
        items = ", ".join(f"{item} AS {_quoted(one.key)}" for one, (_, item) in zip(attributes, told, strict=True))
        select = f"SELECT {items} FROM {mine} AS {_LEFT} {kind} JOIN {theirs} AS {_RIGHT}"
        return DataFrame(
            self.conn, attributes, f"{select} ON {condition}" if condition else select, inputs | others
        )

    # What computes

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """All rows."""
        found = self.conn.sql(self.sql).to_arrow_table()
        return found.rename_columns(self.columns)

    def collect(self) -> list[Row]:
        """All rows, as Python's values."""
        return [Row(row) for row in self.toArrow().to_pylist()]

    def count(self) -> int:
        """How many rows there are."""
        return int(self.conn.sql(f"SELECT count(*) FROM ({self.sql})").fetchall()[0][0])

    def isEmpty(self) -> bool:  # noqa: N802 - Spark's name
        """Whether there is no row."""
        return not self.limit(1).count()


@dataclass(frozen=True)
class Grouped:
    """Rows of equal keys."""

    frame: DataFrame
    keys: list[Any]

    def agg(self, *columns: Any) -> DataFrame:
        """One row of each."""
        items = self.frame._items([*self.keys, *columns])
        attributes = _keyed([attribute for attribute, _ in items])
        told = [f"{text(tree)} AS {_quoted(one.key)}" for one, (_, tree) in zip(attributes, items, strict=True)]
        places = ", ".join(str(place + 1) for place in range(len(self.keys)))
        return self.frame._derived(attributes, told, f" GROUP BY {places}" if places else "")

    def count(self) -> DataFrame:
        """How many rows there are of each."""
        return self.agg(Column(exp.alias_(exp.Count(this=exp.Literal.number(1)), "count")))


_JOINS = {
    "inner": "INNER",
    "left": "LEFT",
    "full": "FULL",
    "outer": "FULL",
    "cross": "CROSS",
    "left_semi": "SEMI",
    "left_anti": "ANTI",
}


def _quoted(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'


def _known(attribute: Attribute) -> Column:
    """A column of its frame, whatever else is called so there."""
    tree = attribute.sql
    tree.meta["attribute"] = attribute
    return Column(tree)


def _keyed(attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    """The attributes with keys of their own."""
    taken: set[str] = set()
    told = []
    for one in attributes:
        key = one.name
        while key.lower() in taken:
            key += "_"
        taken.add(key.lower())
        told.append(Attribute(one.name, one.of, key))
    return tuple(told)


def _name_of(tree: exp.Expression) -> str:
    """What Spark calls a column that nobody named."""
    if isinstance(tree, exp.Alias):
        return tree.alias
    if "attribute" in tree.meta:
        return tree.meta["attribute"].name
    if isinstance(tree, exp.Column | exp.Dot):
        return tree.name if isinstance(tree, exp.Column) else tree.expression.name
    return "col" if isinstance(tree, exp.Explode) else tree.sql()


def _find(tree: exp.Expression, attributes: Sequence[Attribute]) -> Attribute | None:
    """The attribute that a column's tree names, if it does."""
    if not isinstance(tree, exp.Column):
        return None
    if "attribute" in tree.meta:
        return tree.meta["attribute"]
    of, name = tree.table.lower(), tree.name.lower()
    found = [
        one for one in attributes if one.name.lower() == name and (not of or of in one.of)
    ]
    if len(found) > 1:
        raise LookupError(f"{tree.sql()} is ambiguous")
    return found[0] if found else None


def _resolve(tree: exp.Expression, attributes: Sequence[Attribute]) -> exp.Expression:
    """The tree with each column as SQL calls it."""

    def one(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Struct):
            return _with_names(node, attributes)
        if isinstance(node, exp.ArraysZip):
            node.meta["names"] = [_name_of(array) for array in node.expressions or [node.this]]
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        if "attribute" in node.meta:
            return node.meta["attribute"].sql
        parts = [part.name for part in node.parts]
        for taken in (2, 1):
            known = _find(named(".".join(parts[:taken])), attributes) if len(parts) >= taken else None
            if known is not None:
                found = known.sql
                for name in parts[taken:]:
                    found = exp.Dot(this=found, expression=exp.to_identifier(name))
                return found
        raise LookupError(f"no column {node.sql()} among {[a.name for a in attributes]}")

    return tree.copy().transform(one)


def _with_names(struct: exp.Expression, attributes: Sequence[Attribute]) -> exp.Expression:
    fields = [
        exp.PropertyEQ(
            this=exp.to_identifier(name, quoted=True),
            expression=_resolve(value, attributes),
        )
        for name, value in (_field(one, place) for place, one in enumerate(struct.expressions, 1))
    ]
    return exp.Struct(expressions=fields)


def _field(tree: exp.Expression, place: int) -> tuple[str, exp.Expression]:
    if isinstance(tree, exp.PropertyEQ):
        return tree.this.name, tree.expression
    if isinstance(tree, exp.Alias):
        return tree.alias, tree.this
    if isinstance(tree, exp.Column | exp.Dot):
        return _name_of(tree), tree
    return f"col{place}", tree

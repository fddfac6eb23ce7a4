"""Trees of Spark's SQL as DuckDB's text, where sqlglot alone would not keep the meaning."""

import re
from collections.abc import Callable

import duckdb
from sqlglot import exp
from sqlglot.dialects import DuckDB

MACROS = (
    "arrays_overlap(one, other) as list_has_any(one, other)",
    "shiftrightunsigned(number, bits) as number >> bits",
    "get(elements, place) as list_extract(elements, place + 1)",
    "substring_index(whole, delimiter, parts) as array_to_string(case when parts >= 0"
    " then string_split(whole, delimiter)[:parts] else string_split(whole, delimiter)[parts:] end,"
    " delimiter)",
)
"""Functions of Spark's that DuckDB calls otherwise, by their signatures."""

_SPECIFIER = re.compile(r"%[-0-9.]*([a-z])")


class Dialect(DuckDB):
    """DuckDB's SQL, with aggregates and lambdas that mean what Spark's do."""

    class Generator(DuckDB.Generator):
        """What differs from sqlglot's own."""

        TRANSFORMS = {  # noqa: RUF012 - as sqlglot has it
            **DuckDB.Generator.TRANSFORMS,
            exp.ArgMax: lambda self, tree: self.func("ARG_MAX_NULL", tree.this, tree.expression),
            exp.ArgMin: lambda self, tree: self.func("ARG_MIN_NULL", tree.this, tree.expression),
            exp.BitmapBucketNumber: lambda self, tree: f"(({self.sql(tree, 'this')} - 1) // 32768)",
            exp.BitmapBitPosition: lambda self, tree: f"(({self.sql(tree, 'this')} - 1) % 32768)",
            exp.BitmapConstructAgg: lambda self, tree: self.func("LIST", exp.Distinct(expressions=[tree.this])),
            exp.BitmapCount: lambda self, tree: self.func("LEN", tree.this),
            exp.CountIf: lambda self, tree: f"COUNT(CASE WHEN {self.sql(tree, 'this')} THEN 1 END)",
            exp.Exists: lambda self, tree: self.func("LEN", exp.ArrayFilter(this=tree.this, expression=tree.expression)) + " > 0",
        }

        def lambda_sql(self, expression: exp.Lambda, *args: object, **kwargs: object) -> str:
            """In the syntax that DuckDB 2 asks for."""
            told = expression.copy()
            told.set("colon", True)
            return str(super().lambda_sql(told, *args, **kwargs))


_DIALECT = Dialect(version=duckdb.__version__)


def text(tree: exp.Expression) -> str:
    """A resolved tree as DuckDB's SQL."""
    told = exp.Paren(this=tree.copy())
    for node in reversed(list(told.walk(bfs=True))):
        rule = _RULES.get(type(node))
        if rule is not None:
            node.replace(rule(node.copy()))
    return str(told.this.sql(dialect=_DIALECT))


def _format(node: exp.Expression) -> exp.Expression:
    """Text with values in it; what is null is told so."""
    template = node.this.this
    kinds = _SPECIFIER.findall(template)
    return exp.Anonymous(
        this="printf",
        expressions=[
            exp.Literal.string(template.replace("%d", "%s")),
            *(_printed(kind, one) for kind, one in zip(kinds, node.expressions, strict=True)),
        ],
    )


def _printed(kind: str, value: exp.Expression) -> exp.Expression:
    if kind == "f":
        return exp.cast(value, "double")
    told = exp.cast(value, "text")
    return exp.Coalesce(this=told, expressions=[exp.Literal.string("null")])


def _field(node: exp.Expression) -> exp.Expression:
    """A field of a struct; of an array of structs, that field of each."""
    name = exp.Literal.string(node.expression.name)
    if isinstance(node.this, exp.ArrayFilter):
        element = exp.to_identifier("one")
        of_each = exp.Anonymous(this="struct_extract", expressions=[element, name])
        return exp.Transform(
            this=node.this, expression=exp.Lambda(this=of_each, expressions=[element.copy()])
        )
    return exp.Anonymous(this="struct_extract", expressions=[node.this, name])


def _zip(node: exp.Expression) -> exp.Expression:
    """Arrays of one length as one array of structs, with the arrays' names."""
    index = exp.to_identifier("place")
    arrays = [one.unalias() for one in node.expressions or [node.this]]
    fields = [
        exp.PropertyEQ(
            this=exp.to_identifier(name, quoted=True),
            expression=exp.Anonymous(this="list_extract", expressions=[array, index.copy()]),
        )
        for array, name in zip(arrays, node.meta["names"], strict=True)
    ]
    places = exp.Anonymous(
        this="range", expressions=[exp.Literal.number(1), exp.Anonymous(this="len", expressions=[arrays[0].copy()]) + 1]
    )
    return exp.Transform(
        this=places, expression=exp.Lambda(this=exp.Struct(expressions=fields), expressions=[index])
    )


def _renamed(node: exp.Expression) -> exp.Expression:
    """The hash that DuckDB has: hashes are only ever compared with each other."""
    if node.name.lower() == "xxhash64":
        node.set("this", "hash")
    return node


def _size(node: exp.Expression) -> exp.Expression:
    """How many different values a window has, which DuckDB counts faster than it lists them."""
    window = node.this
    if not isinstance(window, exp.Window) or not isinstance(window.this, exp.ArrayUniqueAgg):
        return node
    window.set("this", exp.Count(this=exp.Distinct(expressions=[window.this.this])))
    return window


def _replaced(node: exp.Expression) -> exp.Expression:
    """Spark removes what it has no replacement for."""
    if node.args.get("replacement") is None:
        node.set("replacement", exp.Literal.string(""))
    return node


_RULES: dict[type[exp.Expression], Callable[[exp.Expression], exp.Expression]] = {
    exp.Format: _format,
    exp.Dot: _field,
    exp.ArraysZip: _zip,
    exp.Anonymous: _renamed,
    exp.ArraySize: _size,
    exp.Replace: _replaced,
}

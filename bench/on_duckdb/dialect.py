"""Trees of Spark's SQL as DuckDB's text, where sqlglot alone would not keep the meaning."""

import re
from collections.abc import Callable

from sqlglot import exp

_SUBSTRING_INDEX = """\
substring_index(whole, delimiter, parts) as array_to_string(
    case when parts >= 0 then string_split(whole, delimiter)[:parts]
         else string_split(whole, delimiter)[parts:] end, delimiter)"""
MACROS = (
    "arrays_overlap(one, other) as list_has_any(one, other)",
    "monotonically_increasing_id() as row_number() over ()",
    "shiftrightunsigned(number, bits) as number >> bits",
    "get(elements, place) as list_extract(elements, place + 1)",
    _SUBSTRING_INDEX,
)
"""Functions of Spark's that DuckDB calls otherwise, by their signatures."""

_SPECIFIER = re.compile(r"%[-0-9.]*([a-z])")


def text(tree: exp.Expression) -> str:
    """A resolved tree as DuckDB's SQL."""
    told = exp.Paren(this=tree.copy())
    for node in reversed(list(told.walk(bfs=True))):
        rule = _RULES.get(type(node))
        if rule is not None:
            node.replace(rule(node.copy()))
    return str(told.this.sql(dialect="duckdb"))


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _format(node: exp.Expression) -> exp.Expression:
    """Text with values in it; null is written as such."""
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
        of_each = _call("struct_extract", element, name)
        return exp.Transform(
            this=node.this, expression=exp.Lambda(this=of_each, expressions=[element.copy()])
        )
    return _call("struct_extract", node.this, name)


def _zip(node: exp.Expression) -> exp.Expression:
    """Arrays of one length as one array of structs, with the arrays' names."""
    index = exp.to_identifier("place")
    arrays = [one.unalias() for one in node.expressions or [node.this]]
    fields = [
        exp.PropertyEQ(
            this=exp.to_identifier(name, quoted=True),
            expression=_call("list_extract", array, index.copy()),
        )
        for array, name in zip(arrays, node.meta["names"], strict=True)
    ]
    places = _call("range", exp.Literal.number(1), _call("len", arrays[0].copy()) + 1)
    return exp.Transform(
        this=places, expression=exp.Lambda(this=exp.Struct(expressions=fields), expressions=[index])
    )


def _renamed(node: exp.Expression) -> exp.Expression:
    """The hash that DuckDB has: hashes are only ever compared with each other."""
    if node.name.lower() == "xxhash64":
        node.set("this", "hash")
    return node


def _size(node: exp.Expression) -> exp.Expression:
    """Count the different values of a window; in DuckDB this is faster than a list of them."""
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


def _counted(node: exp.Expression) -> exp.Expression:
    """Count the rows for which it holds: 0, not null, if there are none."""
    when = exp.Case().when(node.this, exp.Literal.number(1))
    return exp.Count(this=when)


def _any(node: exp.Expression) -> exp.Expression:
    kept = exp.ArrayFilter(this=node.this, expression=node.expression)
    return exp.Paren(this=exp.GT(this=_call("len", kept), expression=exp.Literal.number(0)))


_BITMAP = exp.Literal.number(32768)
"""Offsets of one bitmap. Where Spark has bitmaps, a list of different numbers does as well."""

_RULES: dict[type[exp.Expression], Callable[[exp.Expression], exp.Expression]] = {
    exp.Anonymous: _renamed,
    exp.ArgMax: lambda node: _call("arg_max_null", node.this, node.expression),
    exp.ArgMin: lambda node: _call("arg_min_null", node.this, node.expression),
    exp.ArraySize: _size,
    exp.ArraysZip: _zip,
    exp.BitmapBitPosition: lambda node: _call("mod", node.this, _BITMAP.copy()),
    exp.BitmapBucketNumber: lambda node: _call("divide", node.this, _BITMAP.copy()),
    exp.BitmapConstructAgg: lambda node: exp.ArrayUniqueAgg(this=node.this),
    exp.BitmapCount: lambda node: _call("len", node.this),
    exp.CountIf: _counted,
    exp.Dot: _field,
    exp.Exists: _any,
    exp.Format: _format,
    exp.Replace: _replaced,
}

"""Spark's SQL in DuckDB's spelling, where sqlglot alone would not keep the meaning."""

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

_SUBSTRING_INDEX = """\
substring_index(whole, delimiter, parts) as array_to_string(
    case when parts >= 0 then string_split(whole, delimiter)[:parts]
         else string_split(whole, delimiter)[parts:] end, delimiter)"""
_IN_PLACES = """\
in_places(number, places) as
    case when signbit(cast(number as double)) then '-' else '' end
    || cast(round(try_cast(cast(abs(cast(number as double)) as varchar) as decimal(38, 12)), places)
            as varchar)"""
MACROS = (
    "arrays_overlap(one, other) as list_has_any(one, other)",
    "monotonically_increasing_id() as row_number() over ()",
    "shiftrightunsigned(number, bits) as number >> bits",
    "get(elements, place) as list_extract(elements, place + 1)",
    _SUBSTRING_INDEX,
    _IN_PLACES,
)
"""Functions of Spark's that DuckDB calls otherwise, by their signatures.

`in_places` rounds a number as Java does: half up, by its shortest decimal digits.
"""

_TYPES = ("bigint", "int", "string", "boolean")
_SPECIFIER = re.compile(r"%(?:(,)|\.([0-9]+))?([a-z])")
_NUMBER = re.compile(r"(?<!:)[:$]([a-z_]+_micros)\b")
"""A parameter, in Spark's spelling or in DuckDB's."""


def with_numbers(statement: str, numbers: Mapping[str, int]) -> str:
    """A statement, in either spelling, with the values of its parameters.

    Raises:
        KeyError: a parameter has no value.
    """
    return _NUMBER.sub(lambda name: str(numbers[name[1]]), statement)


def has_parameters(statement: str) -> bool:
    """Whether a statement has parameters."""
    return _NUMBER.search(statement) is not None


def in_duckdb(tree: exp.Expression) -> str:
    """A statement in Spark's SQL as one in DuckDB's; the tree is changed."""
    for node in reversed(list(tree.walk(bfs=True))):
        rule = _RULES.get(type(node))
        if rule is not None:
            node.replace(rule(node.copy()))
    for node in list(tree.find_all(exp.ArrayAgg, exp.ArrayUniqueAgg)):
        _never_null(node)
    return str(tree.sql(dialect="duckdb"))


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _never_null(collected: exp.Expression) -> None:
    """A list of no rows is empty, and not null."""
    whole = collected
    while isinstance(whole.parent, exp.Filter | exp.Window):
        whole = whole.parent
    known = exp.Coalesce(expressions=[exp.Array()])
    whole.replace(known)
    known.set("this", whole)


def _format(node: exp.Expression) -> exp.Expression:
    """Text with values in it; null is written as such."""
    template = node.this.this
    specifiers = _SPECIFIER.finditer(template)
    values = [_printed(*pair) for pair in zip(specifiers, node.expressions, strict=True)]
    return _call("printf", exp.Literal.string(_SPECIFIER.sub("%s", template)), *values)


def _printed(specifier: re.Match[str], value: exp.Expression) -> exp.Expression:
    """A value as text; as a precision also limits the characters of null."""
    null = "null"
    if specifier[1]:
        text = _call("format", exp.Literal.string("{:,}"), value)
    elif specifier[3] != "f":
        text = exp.cast(value, "text")
    else:
        text = _call("in_places", value, exp.Literal.number(specifier[2]))
        null = null[: int(specifier[2])]
    return exp.Coalesce(this=text, expressions=[exp.Literal.string(null)])


def _struct(node: exp.Expression) -> exp.Expression:
    """A struct whose fields have the names that Spark gives them."""
    fields = []
    for place, one in enumerate(node.expressions, 1):
        if isinstance(one, exp.PropertyEQ):
            fields.append(one)
            continue
        name = one.alias_or_name or f"col{place}"
        identifier = exp.to_identifier(name, quoted=True)
        fields.append(exp.PropertyEQ(this=identifier, expression=one.unalias()))
    return exp.Struct(expressions=fields)


def _field(node: exp.Expression) -> exp.Expression:
    """A field of a struct; of an array of structs, that field of each."""
    name = exp.Literal.string(node.expression.name)
    if isinstance(node.this.unnest(), exp.ArrayFilter):
        element = exp.to_identifier("one")
        of_each = _call("struct_extract", element, name)
        return exp.Transform(
            this=node.this, expression=exp.Lambda(this=of_each, expressions=[element.copy()])
        )
    return _call("struct_extract", node.this, name)


def _renamed(node: exp.Expression) -> exp.Expression:
    """A type that is used as a function; or a hash, which is only ever compared with others."""
    name = node.name.lower()
    if name in _TYPES:
        return exp.cast(node.expressions[0], name, dialect="spark")
    if name == "xxhash64":
        node.set("this", "hash")
    return node


def _json(node: exp.Expression) -> exp.Expression:
    """JSON without the fields that are null, which Spark leaves out."""
    known = _call("json_merge_patch", exp.Literal.string("{}"), _call("to_json", node.this))
    return exp.cast(known, "text")


def _replaced(node: exp.Expression) -> exp.Expression:
    """Spark removes what it has no replacement for."""
    if node.args.get("replacement") is None:
        node.set("replacement", exp.Literal.string(""))
    return node


def _counted(node: exp.Expression) -> exp.Expression:
    """Count the rows for which it holds: 0, not null, if there are none."""
    return exp.Count(this=exp.Case().when(node.this, exp.Literal.number(1)))


def _any(node: exp.Expression) -> exp.Expression:
    kept = exp.ArrayFilter(this=node.this, expression=node.expression)
    return exp.Paren(this=exp.GT(this=_call("len", kept), expression=exp.Literal.number(0)))


def _is_of_array(node: exp.Expression) -> bool:
    return not isinstance(node.this, exp.Subquery | exp.Select)


_RULES: dict[type[exp.Expression], Callable[[exp.Expression], exp.Expression]] = {
    exp.Anonymous: _renamed,
    exp.ArgMax: lambda node: _call("arg_max_null", node.this, node.expression),
    exp.ArgMin: lambda node: _call("arg_min_null", node.this, node.expression),
    exp.CountIf: _counted,
    exp.Dot: _field,
    exp.Exists: lambda node: _any(node) if _is_of_array(node) else node,
    exp.Format: _format,
    exp.JSONFormat: _json,
    exp.Replace: _replaced,
    exp.Struct: _struct,
}

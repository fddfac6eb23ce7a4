"""What is known of a statement without a run: what it reads, and how DuckDB spells it.

The spelling has rules where sqlglot alone would not keep the meaning.

That takes seconds for all checks and facts, so it is made once (`analysis.prepare`) into a file, by
the text of each statement: in a checkout at set-up, of an installation by the first analysis. A
statement that is not in it is prepared when it runs.
"""

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import sqlglot
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from contract.errors import StatementError
from contract.files import cache_folder, replace_file
from contract.packages import IS_INSTALLED, python

_RELEASES = f"{sqlglot.__version__} {duckdb.__version__}"
_BY = sha256(Path(__file__).read_bytes() + _RELEASES.encode()).hexdigest()
"""What makes the file: a release of these modules."""
FILE = (
    cache_folder() / f"prepared-{_BY[:12]}.msgpack"
    if IS_INSTALLED
    else Path(__file__).with_name("prepared.msgpack")
)
_KEPT_MAX = 2048
"""Statements that are kept: more than twice as many as all checks have."""


def ensure() -> None:
    """Make what an installation lacks; without it, each analysis takes longer."""
    if IS_INSTALLED and not FILE.exists():
        command = python("analysis.prepare")
        subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL)


class Prepared(msgspec.Struct, frozen=True):
    """A statement, parsed and translated.

    Attributes:
        tables: those that it reads, sorted by name, without its own steps.
        needed: those of `tables` that have to have rows for the statement to return any.
        in_duckdb: its text for DuckDB.
    """

    tables: tuple[str, ...]
    needed: tuple[str, ...]
    in_duckdb: str


class _File(msgspec.Struct):
    """What set-up made.

    Attributes:
        by: what made it.
        statements: by the hash of their text.
        schemas: of what statements return, by the hash of all that these depend on.
    """

    by: str = ""
    statements: dict[str, Prepared] = {}
    schemas: dict[str, bytes] = {}


@lru_cache(_KEPT_MAX)
def prepared(text: str) -> Prepared:
    """Parse and translate a statement in Spark's SQL.

    Raises:
        StatementError: it can't be parsed.
    """
    return _made().statements.get(_hashed(text)) or _prepared(text)


def prepared_at(place: Path, text: str) -> Prepared:
    """A statement of a file, prepared.

    Raises:
        StatementError: it can't be parsed; the message names the file.
    """
    try:
        return prepared(text)
    except StatementError as error:
        raise StatementError(f"{place}: {error}") from error


def prepared_schema(by: str) -> pa.Schema | None:
    """The columns that a statement returns, by the hash of all that these depend on, if derived."""
    schema = _made().schemas.get(by)
    return schema and pa.ipc.read_schema(pa.py_buffer(schema))


def derived_schema(text: str, read: Mapping[str, pa.Schema]) -> pa.Schema:
    """The columns that a statement returns, as DuckDB derives them of tables without rows.

    Raises:
        StatementError: it is no statement, or names what there is not.
    """
    engine = _without_rows()
    for name, schema in read.items():
        engine.register(name, schema.empty_table())
    statement = with_numbers(prepared(text).in_duckdb, dict.fromkeys(NUMBERS, 0))
    try:
        return engine.sql(statement).to_arrow_table().schema
    except duckdb.Error as error:
        raise StatementError(str(error)) from error


@cache
def _without_rows() -> duckdb.DuckDBPyConnection:
    return connected({})


def connected(config: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open a database in memory, with these settings, that has the functions of statements."""
    engine = duckdb.connect(config=dict(config))
    for macro in _MACROS:
        engine.execute(f"CREATE MACRO {macro}")
    return engine


def write(texts: Iterable[str], schemas: Mapping[str, pa.Schema]) -> None:
    """Prepare statements for all processes to come.

    Args:
        texts: of the statements.
        schemas: of what they return, by the hash of all that these depend on.

    Raises:
        StatementError: one is none.
        OSError: the file can't be written.
    """
    statements = {_hashed(text): _prepared(text) for text in texts}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    derived = {by: schema.serialize().to_pybytes() for by, schema in schemas.items()}
    replace_file(FILE, msgspec.msgpack.encode(_File(_BY, statements, derived)))


@cache
def _made() -> _File:
    """What set-up made; nothing if another release of these modules did."""
    try:
        file = msgspec.msgpack.decode(FILE.read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError):
        return _File()
    return file if file.by == _BY else _File()


def _hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _prepared(text: str) -> Prepared:
    try:
        tree = parse_one(text, read="spark")
    except SqlglotError as error:
        raise StatementError(str(error)) from error
    own = {one.alias for one in tree.find_all(exp.CTE)}
    tables = {one.name for one in tree.find_all(exp.Table)} - own
    needed = _needed(tree, {}) & tables
    return Prepared(tuple(sorted(tables)), tuple(sorted(needed)), in_duckdb(tree))


def _needed(query: exp.Expression, steps: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The tables of which each must have rows for a query to have any.

    Args:
        query: of any kind.
        steps: the same of the steps around it, by their names.
    """
    within = dict(steps)
    for step in query.ctes if isinstance(query, exp.Query) else ():
        within[step.alias] = _needed(step.this, within)
    if isinstance(query, exp.Table):
        return within.get(query.name, frozenset([query.name]))
    if isinstance(query, exp.Subquery):
        return _of_joins(_needed(query.this, within), query, within)
    if isinstance(query, exp.Union):
        return _needed(query.left, within) & _needed(query.right, within)
    if isinstance(query, exp.Select) and (source := query.args.get("from_")) is not None:
        if _is_one_row(query):
            return frozenset()
        return _of_joins(_needed(source.this, within), query, within)
    return frozenset()


def _of_joins(
    first: frozenset[str], query: exp.Expression, steps: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    needed = first
    for join in query.args.get("joins") or ():
        other = _needed(join.this, steps)
        if join.side == "RIGHT":
            needed = other
        elif join.side == "FULL":
            needed &= other
        elif join.kind != "ANTI" and (join.side != "LEFT" or join.kind == "SEMI"):
            needed |= other
    return needed


def _is_one_row(select: exp.Select) -> bool:
    """Whether it may return a row of no rows: of an aggregation without keys."""
    group = select.args.get("group")
    aggregated = list(map(_is_aggregated, select.expressions))
    if group is None:
        return any(aggregated) or select.args.get("having") is not None
    return all(aggregated) or group.find(exp.GroupingSets, exp.Cube, exp.Rollup) is not None


def _is_aggregated(item: exp.Expression) -> bool:
    """Whether an item aggregates rows, otherwise than in windows and subqueries."""
    if isinstance(item, exp.Query):
        return False
    if isinstance(item, exp.Window):
        return any(map(_is_aggregated, item.this.iter_expressions()))
    return isinstance(item, exp.AggFunc) or any(map(_is_aggregated, item.iter_expressions()))


_SUBSTRING_INDEX = """\
substring_index(whole, delimiter, parts) as array_to_string(
    case when parts >= 0 then string_split(whole, delimiter)[:parts]
         else string_split(whole, delimiter)[parts:] end, delimiter)"""
_IN_PLACES = """\
in_places(number, places) as
    case when signbit(cast(number as double)) then '-' else '' end
    || cast(round(try_cast(cast(abs(cast(number as double)) as varchar) as decimal(38, 12)), places)
            as varchar)"""
_MACROS = (
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
NUMBERS = ("clock_micros", "skew_micros", "jump_micros")
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

"""What is known of a statement without a run: what it reads, and how DuckDB spells it.

That takes seconds for all checks and facts, so set-up makes it once (`analysis.prepare`) into a
file, by the text of each statement. A statement that is not in it is prepared when it runs.
"""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec
import sqlglot
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from analysis.engine.spelling import in_duckdb
from contract.regular_files import replace_file

FILE = Path(__file__).with_name("prepared.msgpack")
_KEPT_MAX = 2048
"""Statements that are kept: more than twice as many as all checks have."""


class StatementError(ValueError):
    """What is no statement, or no file of one."""


class Prepared(msgspec.Struct, frozen=True):
    """A statement.

    Attributes:
        tables: that it names, and does not define itself, in the order of their names.
        needed: those of them without whose rows it has none.
        in_duckdb: its spelling.
    """

    tables: tuple[str, ...]
    needed: tuple[str, ...]
    in_duckdb: str


class _File(msgspec.Struct):
    """What set-up made.

    Attributes:
        by: what made it.
        statements: by the hash of their text.
        columns: that statements return, by the hash of all that these depend on.
    """

    by: str = ""
    statements: dict[str, Prepared] = {}
    columns: dict[str, tuple[str, ...]] = {}


@lru_cache(_KEPT_MAX)
def prepared(text: str) -> Prepared:
    """What is known of a statement in Spark's SQL.

    Raises:
        StatementError: it is none.
    """
    return _made().statements.get(_hashed(text)) or _prepared(text)


def prepared_columns(by: str) -> tuple[str, ...]:
    """The columns that a statement returns, by all that these depend on; empty if not prepared."""
    return _made().columns.get(_hashed(by), ())


def write(texts: Iterable[str], columns: Mapping[str, tuple[str, ...]]) -> None:
    """Prepare statements for all processes to come.

    Args:
        texts: of the statements.
        columns: that statements return, by all that these depend on.

    Raises:
        StatementError: one is none.
        OSError: the file can't be written.
    """
    statements = {_hashed(text): _prepared(text) for text in texts}
    by_hash = {_hashed(by): names for by, names in columns.items()}
    replace_file(FILE, msgspec.msgpack.encode(_File(_maker(), statements, by_hash)))


@cache
def _made() -> _File:
    """What set-up made; nothing if another release of these modules did."""
    try:
        file = msgspec.msgpack.decode(FILE.read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError):
        return _File()
    return file if file.by == _maker() else _File()


@cache
def _maker() -> str:
    modules = (Path(__file__), Path(__file__).with_name("spelling.py"))
    own = b"".join(module.read_bytes() for module in modules)
    return sha256(own + sqlglot.__version__.encode()).hexdigest()


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

"""The columns of statements, which are known without a run."""

from functools import cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from analysis.engine.prepared import StatementError, prepared_columns
from analysis.engine.statement_files import Source
from analysis.facts.library import facts
from analysis.facts.plan import PLANNED
from contract.tables import TABLES


@cache
def output_columns(source: Source) -> tuple[str, ...]:
    """The columns that a statement returns.

    Raises:
        StatementError: it names a column that none, or several, of its tables have.
    """
    return prepared_columns(depends_on(source)) or tuple(resolved(source).named_selects)


def depends_on(source: Source) -> str:
    """All that the columns that a statement returns depend on, as text."""
    columns = (f"{name}({', '.join(_columns(source, name))})" for name in source.tables)
    return "\n".join([source.text, *columns])


def resolved(source: Source) -> exp.Query:
    """A statement in which each column has its table.

    Raises:
        StatementError: a column has none, or several.
    """
    schema = MappingSchema(dialect="spark")
    for name in source.tables:
        schema.add_table(name, dict.fromkeys(_columns(source, name), "unknown"), dialect="spark")
    try:
        return qualify(
            parse_one(source.text, read="spark"),
            schema=schema,
            dialect="spark",
            quote_identifiers=False,
        )
    except SqlglotError as error:
        raise StatementError(f"{source.path}: {error}") from error


def _columns(source: Source, name: str) -> tuple[str, ...]:
    if name in TABLES:
        return tuple(TABLES[name].names)
    if name in PLANNED:
        return tuple(PLANNED[name].names)
    if name in facts():
        return tuple(facts()[name].schema.names)
    raise StatementError(f"{source.path}: no table or fact is called {name}")

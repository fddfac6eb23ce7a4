"""The columns of statements, which are known without a run."""

from functools import cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from analysis.engine.statement_files import Source, StatementError
from analysis.facts.stated import columns_of_fact
from analysis.facts.trace import PLANNED
from contract.tables import TABLES


@cache
def output_columns(source: Source) -> tuple[str, ...]:
    """The columns that a statement returns, after every column in it was found.

    Raises:
        StatementError: it names a column that none, or several, of its tables have.
    """
    tree = resolved(source)
    return tuple(tree.named_selects)


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
    try:
        return tuple(column.name for column in columns_of_fact(name))
    except KeyError as error:
        raise StatementError(f"{source.path}: no table or fact is called {name}") from error

"""Facts by their statements: `analysis/facts/<name>.sql`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import msgspec
import pyarrow as pa
from sqlglot import exp

from analysis import facts
from analysis.engine.frames import Frame, Text
from analysis.engine.statement_files import (
    Source,
    StatementError,
    expanded,
    sources,
    tables_of,
    with_parameters,
)
from analysis.facts.declared import FACTS, Fact
from analysis.facts.trace import PLANNED, Trace, declaring
from contract.table_columns import Column
from contract.tables import DECLARED, TABLES

_COLUMN = re.compile(r"(\w+) (\S+)(?:: (.+))?")
_TYPES = {
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.INT: pa.int32(),
    exp.DataType.Type.DOUBLE: pa.float64(),
    exp.DataType.Type.BOOLEAN: pa.bool_(),
    exp.DataType.Type.TEXT: pa.string(),
}


class FactHeader(msgspec.Struct, forbid_unknown_fields=True):
    """What the header of a fact says.

    Attributes:
        about: what a row is.
        subject: under which it stands in docs/facts.md.
        like: a table or fact whose columns it has, before its own.
        columns: its own, one a line: name, type of Spark's, and after a colon what it means.
        is_kept: whether its rows are computed once, for all that ask for them.
        optional: tables that may be missing; then they count as empty.
        regardless: those in which, besides, a gap can't make the fact wrong.
    """

    about: str
    subject: str
    like: str = ""
    columns: str = ""
    is_kept: bool = msgspec.field(default=True, name="kept")
    optional: tuple[str, ...] = ()
    regardless: tuple[str, ...] = ()


@cache
def fact_named(name: str) -> Callable[[Trace], Frame]:
    """The rows of a fact, by the name that it has in statements.

    Raises:
        KeyError: there is no such fact.
    """
    source = sources("facts").get(name)
    if source is None:
        return _in_python(name)
    header = _header(source)
    columns = columns_of_fact(name)
    names = [column.name for column in columns]
    listed = ", ".join(f"`{name}`" for name in names)
    text = f"select {listed} from ({source.text})"

    def rows(trace: Trace) -> Frame:
        return stated(
            text,
            source.path,
            trace,
            names,
            optional=header.optional,
            regardless=header.regardless,
        )

    fact = Fact(header.subject, name, header.about, columns, header.is_kept)
    return declaring(fact, rows)


@cache
def columns_of_fact(name: str) -> tuple[Column, ...]:
    """The columns of a fact.

    Raises:
        KeyError: there is no such fact.
        StatementError: its header declares what is no column, or names no table or fact.
    """
    source = sources("facts").get(name)
    if source is None:
        return _fact_in_python(name).columns
    header = _header(source)
    return (*_columns_like(source, header.like), *columns_of(source, header.columns))


def _columns_like(source: Source, name: str) -> tuple[Column, ...]:
    if not name:
        return ()
    if name in DECLARED:
        return tuple(replace(column, null=True) for column in DECLARED[name].columns)
    try:
        return columns_of_fact(name)
    except KeyError as error:
        raise StatementError(f"{source.path}: no table or fact is called {name}") from error


@cache
def _header(source: Source) -> FactHeader:
    return source.header_as(FactHeader)


def _in_python(name: str) -> Callable[[Trace], Frame]:
    fact = _fact_in_python(name)
    module = import_module(f"{facts.__name__}.{fact.subject}")
    found: Callable[[Trace], Frame] = getattr(module, fact.name)
    return found


def _fact_in_python(name: str) -> Fact:
    for module in iter_modules(facts.__path__, f"{facts.__name__}."):
        import_module(module.name)
    return {fact.name: fact for fact in FACTS.values()}[name]


def computed(
    *columns: Column, proved_by: tuple[str, ...] = (), **reads: str
) -> Callable[[Callable[..., Iterable[Mapping[str, Any]]]], Callable[[Trace], Frame]]:
    """Declare a fact that Python computes, where SQL would say it badly.

    The function takes the rows of each read by its name, and returns rows of the columns. Its
    docstring says what a row is.

    Args:
        columns: of the fact.
        proved_by: tables in which a gap makes its rows wrong, but not that it has none.
        reads: a statement each, which may use macros.
    """

    def declare(compute: Callable[..., Iterable[Mapping[str, Any]]]) -> Callable[[Trace], Frame]:
        subject = compute.__module__.rpartition(".")[2]
        fact = Fact(subject, compute.__name__, getdoc(compute) or "", columns, is_kept=True)
        place = Path(subject).with_suffix(".py")

        def rows(trace: Trace) -> Frame:
            read = {
                name: stated(expanded(text, place), place, trace, []).collect()
                for name, text in reads.items()
            }
            made = pa.Table.from_pylist([dict(row) for row in compute(**read)], schema=fact.schema)
            if made.num_rows:
                for table in proved_by:
                    trace.present(table)
            return trace.engine.table(made)

        return declaring(fact, rows)

    return declare


def stated(
    text: str,
    place: Path,
    trace: Trace,
    columns: list[str],
    *,
    optional: tuple[str, ...] = (),
    regardless: tuple[str, ...] = (),
) -> Frame:
    """The rows of a statement.

    Args:
        text: the statement.
        place: where it stands, for errors.
        trace: the run.
        columns: of the rows; may be left out of those that are collected.
        optional: see `FactHeader`, as `regardless`.
        regardless: see there.

    Raises:
        StatementError: it names a table or fact that does not exist.
        TableError: a table is missing or unreadable.
    """

    def rows(name: str) -> Frame:
        if name in PLANNED:
            return trace.planned(name)
        if name in regardless:
            return trace.unrecorded(name)
        if name in optional:
            return trace.present(name)
        if name in TABLES:
            return trace[name]
        try:
            build = fact_named(name)
        except KeyError as error:
            raise StatementError(f"{place}: no table or fact is called {name}") from error
        return build(trace)

    # Tables first: what is missing is reported without building what depends on it.
    named = sorted(tables_of(text, str(place)), key=lambda name: name not in TABLES)
    body = Text(with_parameters(text, trace.numbers), tuple((name, rows(name)) for name in named))
    return Frame(trace.engine, tuple(columns), body)


def columns_of(source: Source, text: str) -> Iterator[Column]:
    """The columns that a header declares.

    Raises:
        StatementError: a line is no column.
    """
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and lines:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    for line in lines:
        parts = _COLUMN.fullmatch(line)
        if parts is None:
            raise StatementError(f"{source.path}: no column: {line}")
        yield Column(parts[1], _type_of(source, parts[2]), parts[3] or "", null=True)


def _type_of(source: Source, text: str) -> pa.DataType:
    def converted(kind: exp.DataType) -> pa.DataType:
        if kind.this == exp.DataType.Type.ARRAY:
            return pa.list_(converted(kind.expressions[0]))
        if kind.this == exp.DataType.Type.STRUCT:
            return pa.struct([(one.name, converted(one.args["kind"])) for one in kind.expressions])
        return _TYPES[kind.this]

    try:
        return converted(exp.DataType.build(text, dialect="spark"))
    except (KeyError, ValueError) as error:
        raise StatementError(f"{source.path}: no type: {text}") from error

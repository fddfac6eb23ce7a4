"""A run's tables, and what statements ask of them and of the facts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa

from analysis.engine.prepared import (
    NUMBERS,
    derived_schema,
    has_parameters,
    prepared,
    prepared_at,
    prepared_schema,
)
from analysis.statements.files import Fact, facts
from analysis.statements.plan import PLANNED, planned_rows
from contract.errors import StatementError, TableError
from contract.run_folder import GENERATED, NO_KAFKA, Plan, RunDescription
from contract.table_columns import Column
from contract.tables import ADDED, TABLES

if TYPE_CHECKING:
    from analysis.engine.duckdb import DuckDBEngine

_T = TypeVar("_T")
Row = dict[str, Any]
CLOCK_MICROS = 50_000
"""Times of different nodes are compared at least within this bound; inside, nothing is decided."""
_APART = "select max(ahead_micros) - min(behind_micros) as micros from clocks"
_JUMP = "select max(clock_jump_micros) as micros from histories"


class _Built(NamedTuple):
    value: Any
    error: Exception | None
    sources: frozenset[str]


class Memo:
    """A memo: each named value is built once, with the sources that it was made of.

    A value that can't be built raises the same error each time. Values may ask for others while
    they are built, though never in a circle.
    """

    def __init__(self) -> None:
        """Nothing is built yet."""
        self._built: dict[str, _Built] = {}
        self._sources: set[str] = set()

    def source(self, name: str) -> None:
        """Record that a source is asked for."""
        self._sources.add(name)

    @contextmanager
    def sources(self) -> Iterator[set[str]]:
        """The sources that are asked for meanwhile, also by way of what is built already."""
        outer, inner = self._sources, set[str]()
        self._sources = inner
        try:
            yield inner
        finally:
            self._sources = outer
            outer.update(inner)

    def get(self, name: str, build: Callable[[], _T]) -> _T:
        """The value of that name."""
        if name not in self._built:
            self._built[name] = self._build(build)
        value, error, sources = self._built[name]
        self._sources.update(sources)
        if error is not None:
            raise error
        built: _T = value
        return built

    def _build(self, build: Callable[[], Any]) -> _Built:
        with self.sources() as sources:
            try:
                return _Built(build(), None, frozenset(sources))
            except Exception as error:  # noqa: BLE001 - raised to all callers
                return _Built(None, error, frozenset())


def columns_of(fact: Fact) -> tuple[Column, ...]:
    """The columns of a fact, with what they mean."""
    about = fact.described
    return fact.declared or tuple(
        Column(typed.name, typed.type, about.get(typed.name, ""), null=True)
        for typed in schema_of(fact)
    )


def schema_of(fact: Fact) -> pa.Schema:
    """The names and types of a fact's columns: declared, or those that its statement returns.

    Raises:
        StatementError: it is no statement, or names what there is not.
    """
    if fact.compute is None:
        return returned_by(fact.text, fact.place)
    return pa.schema([(column.name, column.type) for column in fact.declared])


@cache
def returned_by(text: str, place: Path) -> pa.Schema:
    """The columns that a statement returns: as set-up derived them, or as DuckDB does now.

    Raises:
        StatementError: it is no statement, or names what there is not.
    """
    if (known := prepared_schema(depends_on(text, place))) is not None:
        return known
    read = {name: _schema_of(name, place) for name in prepared_at(place, text).tables}
    try:
        return derived_schema(text, read)
    except StatementError as error:
        raise StatementError(f"{place}: {error}") from error


@cache
def depends_on(text: str, place: Path) -> str:
    """All that the columns that a statement returns depend on: it, and all that it reads."""
    read = (_depends_on(name, place) for name in prepared_at(place, text).tables)
    return sha256("\n".join([text, *read]).encode()).hexdigest()


def _depends_on(name: str, place: Path) -> str:
    fact = facts().get(name)
    return depends_on(fact.text, fact.place) if fact and fact.text else str(_schema_of(name, place))


def _schema_of(name: str, place: Path) -> pa.Schema:
    if (schema := TABLES.get(name) or PLANNED.get(name)) is not None:
        return schema
    if name in facts():
        return schema_of(facts()[name])
    raise StatementError(f"{place}: no table or fact is called {name}")


@dataclass(frozen=True)
class Trace:
    """All that is known of a run.

    Attributes:
        engine: runs statements.
        plan: what the scenario set out to do.
        run: under which conditions.
        load: names a table of the contract in the engine; asked once for each that is used.
        rows: count of rows by table; 0 where a table is missing or unreadable.
        missing: the tables whose file does not exist.
        unreadable: why a table's file can't be read, by table.
        raw: the folders of raw sources that the run has: history, segments, brokers.
        alterations: reads all of its files; says in words which are not as they were collected.
        asked: the rows of `asked_findings`.
    """

    engine: "DuckDBEngine"
    plan: Plan
    run: RunDescription
    load: Callable[[str], None]
    rows: dict[str, int]
    missing: frozenset[str] = frozenset()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    raw: frozenset[str] = frozenset()
    alterations: Callable[[], Iterable[str]] = tuple
    asked: list[Row] = field(default_factory=list)
    _memo: Memo = field(default_factory=Memo)
    _more: dict[str, Fact] = field(default_factory=dict)

    def query(
        self,
        text: str,
        *,
        place: Path = Path(),
        optional: tuple[str, ...] = (),
        regardless: tuple[str, ...] = (),
    ) -> "Query":
        """A statement about the tables and facts that it names.

        Args:
            text: in Spark's SQL.
            place: the file in which it stands, for errors.
            optional: tables that may be missing, and facts that may lack a table; then they count
                as empty.
            regardless: tables in which, besides, a gap can't make the answer wrong: `touched` does
                not report them.

        Raises:
            StatementError: it names a table or fact that does not exist.
            TableError: a table is missing or unreadable.
        """
        self._use_all(text, place, optional, regardless)
        return Query(self, text)

    def ask(
        self, text: str, *, optional: tuple[str, ...] = (), regardless: tuple[str, ...] = ()
    ) -> list[Row]:
        """The rows of a statement, in Python: see `query`."""
        return self.query(text, optional=optional, regardless=regardless).collect()

    def ask_each(self, texts: Sequence[str], *, regardless: tuple[str, ...] = ()) -> list[Row]:
        """The rows of several statements that have the same columns: see `query`."""
        if not texts:
            return []
        for text in texts:
            self._use_all(text, Path(), (), regardless)
            self.name_all(text)
        numbers = self.numbers_of(" ".join(texts))
        rows: list[Row] = self.engine.rows(*texts, numbers=numbers).to_pylist()
        return rows

    def with_rows(self, fact: Fact) -> None:
        """Let statements about this trace name further rows, which are no fact of all traces."""
        self._more[fact.name] = fact

    def touch(self, table: str) -> None:
        """Let `touched` report a table."""
        self._memo.source(table)

    def watch_tables(self) -> AbstractContextManager[set[str]]:
        """The tables that are asked for meanwhile, by way of facts too."""
        return self._memo.sources()

    def once(self, name: str, build: Callable[[], _T]) -> _T:
        """A value by its name, built once a trace; `touched` reports its tables to every caller."""
        return self._memo.get(name, build)

    def problem(self, table: str) -> str:
        """Why a table can't be used, in words; empty if it can."""
        if table in self.missing - ADDED:
            return f"table {table} is missing"
        return self.unreadable.get(table, "")

    def lacks(self, needs: tuple[str, ...]) -> str:
        """Which tables of those that must have rows have none, and why; empty if all have some."""
        problems = {table: self.problem(table) for table in needs}
        empty = [table for table, problem in problems.items() if not (problem or self.rows[table])]
        unusable = [problem for problem in problems.values() if problem]
        return ", ".join([*unusable, *(f"table {table} is empty" for table in empty)])

    @property
    def is_generated(self) -> bool:
        """Whether this history was generated: its description says so, and it has no raw files."""
        return (self.run.cluster, self.run.kafka) == (GENERATED, NO_KAFKA) and not self.raw

    @property
    def clock_micros(self) -> int:
        """The bound within which times of different nodes are compared.

        How far apart any two nodes' clocks may have been, as measured, or CLOCK_MICROS if that is
        less, or unknown; and how far one of them was set meanwhile.
        """
        apart = self.once("clocks", lambda: self._read_micros(_APART, "clocks"))
        return max(CLOCK_MICROS, apart) + self.jump_micros

    @property
    def jump_micros(self) -> int:
        """How far the wall clock of a worker was set while it ran; 0 within CLOCK_MICROS."""
        jump = self.once("jumps", lambda: self._read_micros(_JUMP, "histories"))
        return jump if jump > CLOCK_MICROS else 0

    @property
    def skew_micros(self) -> int:
        """What `clock_micros` is above CLOCK_MICROS: 0 where all clocks were close and steady."""
        return self.clock_micros - CLOCK_MICROS

    def _read_micros(self, text: str, table: str) -> int:
        ((micros,),) = self.query(text, regardless=(table,)).tuples()
        return micros or 0

    def numbers_of(self, text: str) -> dict[str, int]:
        """The values of the parameters of a statement."""
        return {name: getattr(self, name) for name in NUMBERS} if has_parameters(text) else {}

    def is_without_rows(self, text: str) -> bool:
        """Whether a statement has no rows for certain, since a table or fact has none.

        Computes facts, if they may show it. What is not computed then is what only it needs.
        """
        # Tables and the plan first, so that no fact is computed in vain.
        needed = sorted(prepared(text).needed, key=self._is_fact)
        return any(map(self._is_empty, needed))

    def name_all(self, text: str) -> None:
        """Let the engine know all that a statement names."""
        for name in prepared(text).tables:
            self._memo.get(f"named {name}", partial(self._name, name))

    def _is_fact(self, name: str) -> bool:
        return name in self._more or name in facts()

    def _fact(self, name: str) -> Fact:
        return self._more.get(name) or facts()[name]

    def _planned_rows(self, name: str) -> pa.Table:
        return self.once(f"plan {name}", lambda: planned_rows(name, self.plan, self.run))

    def _use_all(
        self, text: str, place: Path, optional: tuple[str, ...], regardless: tuple[str, ...]
    ) -> None:
        # Tables first: what is missing is reported before a fact is computed.
        for name in sorted(prepared_at(place, text).tables, key=lambda name: name not in TABLES):
            if name in TABLES:
                if name not in (*optional, *regardless) and (problem := self.problem(name)):
                    raise TableError(problem)
                if name not in regardless:
                    self.touch(name)
            elif self._is_fact(name):
                self._use_fact(self._fact(name), is_optional=name in optional)
            elif name not in PLANNED:
                raise StatementError(f"{place}: no table or fact is called {name}")

    def _use_fact(self, fact: Fact, *, is_optional: bool) -> None:
        try:
            self._memo.get(f"use of {fact.name}", partial(self._use, fact))
        except TableError:
            if not is_optional:
                raise
            # A statement that needs it raises the same error, and never reads it as empty.
            self._add(fact, [])

    def _use(self, fact: Fact) -> None:
        """Ask for what a fact is derived from."""
        if fact.compute is None:
            self._use_all(fact.text, fact.place, fact.optional, fact.regardless)
        else:
            self._add(fact, [dict(row) for row in fact.compute(self)])

    def _add(self, fact: Fact, rows: list[Row]) -> None:
        made = pa.Table.from_pylist(rows, schema=schema_of(fact))
        self._memo.get(f"empty {fact.name}", lambda: not rows)
        self._memo.get(f"named {fact.name}", lambda: self.engine.add(fact.name, made))

    def _is_empty(self, name: str) -> bool:
        if name in TABLES:
            return not self.rows[name]
        if name in PLANNED:
            return not self._planned_rows(name).num_rows
        return self._memo.get(f"empty {name}", lambda: self._has_no_rows(self._fact(name)))

    def _has_no_rows(self, fact: Fact) -> bool:
        """Whether a fact has no rows for certain; one that is kept is computed."""
        if self.is_without_rows(fact.text):
            return True
        if not fact.is_kept:
            return False
        self.name_all(fact.text)
        return not self.engine.keep(fact.name, fact.text, self.numbers_of(fact.text))

    def _name(self, name: str) -> None:
        """Let the engine know a table or fact."""
        if name in TABLES:
            self.load(name)
        elif name in PLANNED:
            self.engine.add(name, self._planned_rows(name))
        else:
            self._name_fact(self._fact(name))

    def _name_fact(self, fact: Fact) -> None:
        if self.is_without_rows(fact.text):
            self.engine.add(fact.name, schema_of(fact).empty_table())
        elif fact.is_kept:
            self._is_empty(fact.name)  # which computes it
        else:
            self.name_all(fact.text)
            self.engine.define(fact.name, fact.text, self.numbers_of(fact.text))


@dataclass(frozen=True)
class Query:
    """A statement about a trace, which the engine can run."""

    trace: Trace
    text: str

    @property
    def is_without_rows(self) -> bool:
        """Whether it has no rows for certain: see `Trace.is_without_rows`."""
        return self.trace.is_without_rows(self.text)

    def table(self, limit: int | None = None) -> pa.Table:
        """All rows, or the first ones up to a limit."""
        self.trace.name_all(self.text)
        numbers = self.trace.numbers_of(self.text)
        return self.trace.engine.rows(self.text, numbers=numbers, limit=limit)

    def collect(self) -> list[Row]:
        """All rows, in Python."""
        rows: list[Row] = self.table().to_pylist()
        return rows

    def tuples(self) -> list[tuple[Any, ...]]:
        """All rows, by the places of their columns."""
        return [tuple(row.values()) for row in self.collect()]

    def of(self, text: str) -> "Query":
        """Another statement, about the rows of this one, which it names `check_rows`."""
        return Query(self.trace, f"with check_rows as ({self.text}) {text}")

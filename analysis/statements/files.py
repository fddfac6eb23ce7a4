"""Files of facts and checks, and the facts by their names.

A file is a header in YAML as a comment, then a statement in Spark's SQL.

The statement is a template of jinja, which may use every macro and variable of `analysis/macros`.
`:clock_micros`, `:skew_micros` and `:jump_micros` stand for the numbers of a trace.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import jinja2
import msgspec
from sqlglot.tokens import Tokenizer, TokenType

from contract.errors import StatementError
from contract.table_columns import Column
from contract.tables import DECLARED, MICROS_PER_SECOND, OFFSETS_TOPIC
from contract.terms import BY_HAND

_T = TypeVar("_T")
ROOT = Path(__file__).resolve().parents[1]
_FILE = re.compile(r"\A/\*\n(.*?)\n\*/\n(.*)\Z", re.DOTALL)
_OF_TEMPLATES = re.compile(r"\{[{%#]")


@dataclass(frozen=True)
class Source:
    """A statement as it is in its file.

    Attributes:
        path: of the file.
        header: the YAML.
        text: the statement, with its macros expanded.
        statement: as it is written.
    """

    path: Path
    header: str
    text: str
    statement: str = ""

    @property
    def name(self) -> str:
        """Of the file, which is that of the fact or check."""
        return self.path.stem

    def header_as(self, kind: type[_T]) -> _T:
        """The header, by its declaration.

        Raises:
            StatementError: it is another one.
        """
        try:
            return msgspec.yaml.decode(self.header, type=kind)
        except msgspec.MsgspecError as error:
            raise StatementError(f"{self.path}: header: {error}") from error


@cache
def sources(folder: str) -> Mapping[str, Source]:
    """The statements of a folder of `analysis`, by their names."""
    return {path.stem: read(path) for path in sorted((ROOT / folder).glob("*.sql"))}


def read(path: Path) -> Source:
    """Read a file.

    Raises:
        StatementError: it has no header, or its template can't be expanded.
    """
    parts = _FILE.match(path.read_text(encoding="utf-8"))
    if parts is None:
        raise StatementError(f"{path}: it does not begin with a header: /*, YAML, */")
    return Source(path, parts[1], expand(parts[2], path), parts[2])


@cache
def parts_of(source: Source) -> tuple[str, str]:
    """The steps of a statement (its WITH; empty if it has none), and its last SELECT.

    Raises:
        StatementError: the statement has no SELECT.
    """
    depth = 0
    for token in Tokenizer(dialect="spark").tokenize(source.text):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0 and token.token_type == TokenType.SELECT:
            return source.text[: token.start], source.text[token.start :]
    raise StatementError(f"{source.path}: it has no SELECT")


@cache
def expand(text: str, path: Path) -> str:
    """A text in which macros and variables are replaced.

    Raises:
        StatementError: one of them does not exist, or is used wrongly.
    """
    if not _OF_TEMPLATES.search(text):
        return text.strip()
    try:
        return environment().from_string(text).render().strip()
    except (jinja2.TemplateError, TypeError) as error:
        raise StatementError(f"{path}: {error}") from error


@cache
def environment() -> jinja2.Environment:
    """Of statements: with the macros and variables of all files, which may use each other's."""
    made = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - the text is SQL of this package, not a page
    )
    made.globals |= {
        "micros_per_second": MICROS_PER_SECOND,
        "offsets_topic": f"'{OFFSETS_TOPIC}'",
        "by_hand": f"'{BY_HAND}'",
    }
    files = sorted((ROOT / "macros").glob("*.sql"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    made.globals |= {
        name: value
        for name, value in vars(made.from_string(text).module).items()
        if not name.startswith("_")
    }
    return made


if TYPE_CHECKING:
    from analysis.statements.trace import Trace

Compute = Callable[["Trace"], Iterable[Mapping[str, Any]]]


class FactHeader(msgspec.Struct, forbid_unknown_fields=True):
    """What the header of a fact says.

    Attributes:
        about: what a row is.
        subject: under which it stands in docs/facts.md.
        like: a table or fact that describes columns of the same names.
        columns: what those mean whose names do not say it.
        is_kept: whether its rows are computed once, for all that ask for them.
        optional: tables that may be missing, and facts that may lack a table; then they count as
            empty.
        regardless: tables in which, besides, a gap can't make the fact wrong.
    """

    about: str
    subject: str
    like: str = ""
    columns: dict[str, str] = {}
    is_kept: bool = msgspec.field(default=True, name="kept")
    optional: tuple[str, ...] = ()
    regardless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fact:
    """What is derived from the tables of a run, and from other facts.

    Attributes:
        subject: under which it stands in docs/facts.md.
        name: in statements.
        about: what a row is.
        text: the statement; empty if Python computes it.
        declared: the columns, if Python computes it.
        described: what columns of a statement mean, by their names.
        place: the file, for errors.
        is_kept: see `FactHeader`, as the following.
        optional: see there.
        regardless: see there.
        compute: the function of Python, if it is one.
    """

    subject: str
    name: str
    about: str
    text: str = ""
    declared: tuple[Column, ...] = ()
    described: Mapping[str, str] = field(default_factory=dict)
    place: Path = Path()
    is_kept: bool = True
    optional: tuple[str, ...] = ()
    regardless: tuple[str, ...] = ()
    compute: Compute | None = None


_COMPUTED: dict[str, Fact] = {}


def computed(*columns: Column) -> Callable[[Compute], Compute]:
    """Declare a fact that Python computes, where SQL would say it badly.

    The function takes the trace, and returns rows of the columns. Its docstring says what a row is.
    """

    def declare(compute: Compute) -> Compute:
        subject = compute.__module__.rpartition(".")[2]
        about = getdoc(compute) or ""
        name = compute.__name__
        _COMPUTED[name] = Fact(subject, name, about, declared=columns, compute=compute)
        return compute

    return declare


@cache
def facts() -> Mapping[str, Fact]:
    """Every fact, by its name.

    Raises:
        StatementError: a file is wrong.
    """
    for path in sorted((ROOT / "facts").glob("*.py")):
        import_module(f"analysis.facts.{path.stem}")
    stated = {name: _fact_of_statement(source) for name, source in sources("facts").items()}
    if twice := stated.keys() & _COMPUTED.keys():
        raise StatementError(f"a statement and Python have the fact {', '.join(sorted(twice))}")
    return stated | _COMPUTED


def _fact_of_statement(source: Source) -> Fact:
    header = _header(source)
    return Fact(
        header.subject,
        source.name,
        header.about,
        source.text,
        described=_column_descriptions(source),
        place=source.path,
        is_kept=header.is_kept,
        optional=header.optional,
        regardless=header.regardless,
    )


@cache
def _header(source: Source) -> FactHeader:
    return source.header_as(FactHeader)


def _column_descriptions(source: Source) -> dict[str, str]:
    header = _header(source)
    like = header.like
    if not like:
        return header.columns
    if like in DECLARED:
        return {column.name: column.about for column in DECLARED[like].columns} | header.columns
    if like in sources("facts"):
        return _column_descriptions(sources("facts")[like]) | header.columns
    raise StatementError(f"{source.path}: no table or fact is called {like}")

"""A file of a fact or a check: a header in YAML as a comment, then a statement in Spark's SQL.

The statement is a template of jinja, which may use every macro and variable of `analysis/macros`.
`:clock_micros`, `:skew_micros` and `:jump_micros` stand for the numbers of a trace.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import jinja2
import msgspec
from sqlglot.tokens import Tokenizer, TokenType

from analysis.engine.prepared import Prepared, StatementError, prepared
from contract.tables import MICROS_PER_SECOND, OFFSETS_TOPIC

_T = TypeVar("_T")
ROOT = Path(__file__).resolve().parents[1]
_FILE = re.compile(r"\A/\*\n(.*?)\n\*/\n(.*)\Z", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """A statement, by what its file says.

    Attributes:
        path: of the file.
        header: the YAML.
        text: the statement, with its macros expanded.
    """

    path: Path
    header: str
    text: str

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

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables and facts that the statement reads, in the order of their names.

        Raises:
            StatementError: it can't be parsed.
        """
        return prepared_at(self.path, self.text).tables


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
    return Source(path, parts[1], expanded(parts[2], path))


def prepared_at(place: Path, text: str) -> Prepared:
    """A statement of a file, prepared.

    Raises:
        StatementError: it can't be parsed; the message names the file.
    """
    try:
        return prepared(text)
    except StatementError as error:
        raise StatementError(f"{place}: {error}") from error


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
def expanded(text: str, path: Path) -> str:
    """A text in which macros and variables are replaced.

    Raises:
        StatementError: one of them does not exist, or is used wrongly.
    """
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
    }
    files = sorted((ROOT / "macros").glob("*.sql"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    made.globals |= {
        name: value
        for name, value in vars(made.from_string(text).module).items()
        if not name.startswith("_")
    }
    return made

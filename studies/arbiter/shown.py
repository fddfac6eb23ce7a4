"""What the pages show, before they are Markdown. All text is Markdown of one line."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from studies.arbiter.predictions import said
from studies.arbiter.rows import Row


@dataclass(frozen=True)
class Cell:
    """A cell of a table, or a sentence, with what shows that it is so.

    Attributes:
        text: what it says.
        stories: the runs that show it, by name.
        line: of `predictions.yml`, that says it; 0 for none.
        source: the address of the line of Kafka's source, or the page, that says it; may be empty.
    """

    text: str
    stories: tuple[str, ...] = ()
    line: int = 0
    source: str = ""


@dataclass(frozen=True)
class Table:
    """A table; each row has as many cells as the head."""

    head: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    caption: str = ""

    def cells(self, shown: Callable[[Cell], str]) -> list[list[str]]:
        """Return the cells of its rows, each as a function shows it."""
        return [[shown(one) for one in row] for row in self.rows]


@dataclass(frozen=True)
class Section:
    """A part of the page: sentences, text that says what the tables count, then tables.

    Attributes:
        is_detail: it is on docs/arbiter-runs.md, and not on the page that is read first.
    """

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    sentences: Sequence[Cell] = ()
    is_detail: bool = False


class OfStory(Protocol):
    """A row that one run shows."""

    @property
    def story(self) -> str:
        """The run's name."""
        ...


def cell(text: object, rows: Iterable[OfStory] = (), source: str = "") -> Cell:
    """Return a cell with the runs that its rows are from."""
    return of_stories(text, (row.story for row in rows), source)


def of_stories(text: object, stories: Iterable[str], source: str = "") -> Cell:
    """Return a cell with the names of the runs that show it."""
    return Cell(str(text), tuple(sorted(set(stories))), source=source)


COUNTS = ("groups", "stories")
"""The last columns of a table of groups: how many its row is drawn from."""


def counts(rows: Sequence[Row]) -> tuple[Cell, Cell]:
    """Return the cells of COUNTS."""
    return Cell(str(len(rows))), cell(len({row.story for row in rows}), rows)


def counted(values: Iterable[Hashable]) -> str:
    """Return a value that all have, or each with its count."""
    counts = Counter(map(str, values))
    if len(counts) == 1:
        return next(iter(counts))
    total = counts.total()
    return "; ".join(f"{value}: {count} of {total}" for value, count in counts.most_common())


def cost(rows: Sequence[Row]) -> Cell:
    """Return what groups paid: records skipped, or read again."""
    return cell(counted(map(_said_cost, rows)), rows) if rows else Cell("not run")


def _said_cost(row: Row) -> str:
    words = said(row)
    if row.exception is not None or row.resumed_at is None:
        return words
    return ", ".join(words.split(", ")[1:]) or "0"

"""docs/arbiter.md, of which the tables are made, and docs/arbiter.html, which is made whole."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.arbiter.html_page import html_page
from bench.arbiter.race import race_rows
from bench.arbiter.rows import HAZARDS, RACE, rows_of, stories_of
from bench.arbiter.sections import sections
from bench.arbiter.shown import Cell, Section
from contract.errors import UsageError
from contract.made_pages import MadePage
from contract.markdown import table_row
from contract.regular_files import replace_file

MADE = MadePage("arbiter.md", "make arbiter")


def write(folders: Sequence[Path]) -> list[Path]:
    """Write both pages from the runs below some folders; returns their paths.

    Raises:
        UsageError: there is none.
    """
    hazards = list(stories_of(HAZARDS, folders))
    rows = [row for story in hazards for row in rows_of(story)]
    if not rows:
        raise UsageError("no judged run of commit_hazards there: python -m bench.arbiter run")
    races = list(stories_of(RACE, folders))
    raced = [race_rows(story) for story in races]
    stories = [*hazards, *races]
    shown = list(
        sections(stories, rows, [row for some, _ in raced for row in some], [a for _, a in raced])
    )
    text = MADE.filled(MADE.path.read_text(), "\n".join(markdown(shown)))
    replace_file(MADE.path, text.encode())
    page = MADE.path.with_suffix(".html")
    replace_file(page, html_page(text, shown, stories, rows, page.parent).encode())
    return [MADE.path, page]


def markdown(shown: Iterable[Section]) -> Iterator[str]:
    """Return the lines of sections."""
    for section in shown:
        yield f"## {section.title}\n"
        for paragraph in section.text:
            yield f"{paragraph}\n"
        for table in section.tables:
            if table.caption:
                yield f"{table.caption}\n"
            yield table_row(*table.head)
            yield "|---" * len(table.head) + "|"
            yield from (table_row(*map(_cell, row)) for row in table.rows)
            yield ""


def _cell(one: Cell) -> str:
    if not one.line:
        return one.text
    return f"[{one.text}](../bench/arbiter/predictions.yml#L{one.line})"

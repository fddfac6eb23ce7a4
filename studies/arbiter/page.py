"""docs/arbiter.md and arbiter-runs.md, of which parts are made, and arbiter.html, made whole."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from contract.errors import UsageError
from contract.regular_files import replace_file
from studies.arbiter.html_page import html_page
from studies.arbiter.markdown import RUNS_PAGE, runs_as_markdown, sections_as_markdown
from studies.arbiter.race import race_rows
from studies.arbiter.rows import HAZARDS, RACE, rows_of, stories_of
from studies.arbiter.runs_shown import runs_shown
from studies.arbiter.sections import sections
from studies.made_pages import MadePage

MADE = MadePage("arbiter.md", "make arbiter")
RUNS = MadePage(RUNS_PAGE, "make arbiter")


def write(folders: Sequence[Path]) -> list[Path]:
    """Write the three pages from the runs below some folders; returns their paths.

    Raises:
        UsageError: there is none.
    """
    hazards = list(stories_of(HAZARDS, folders))
    rows = [row for story in hazards for row in rows_of(story)]
    if not rows:
        raise UsageError("no judged run of commit_hazards there: python -m studies.arbiter run")
    races = list(stories_of(RACE, folders))
    raced = [race_rows(story) for story in races]
    stories = [*hazards, *races]
    shown = list(
        sections(stories, rows, [row for some, _ in raced for row in some], [a for _, a in raced])
    )
    runs = list(runs_shown(stories, rows, MADE.path.parent))
    _fill(MADE, sections_as_markdown(one for one in shown if not one.is_detail))
    details = sections_as_markdown(one for one in shown if one.is_detail)
    _fill(RUNS, [*details, "## Every run\n", *runs_as_markdown(runs)])
    page = MADE.path.with_suffix(".html")
    replace_file(page, html_page(MADE.path.read_text(), shown, runs).encode())
    return [MADE.path, RUNS.path, page]


def _fill(page: MadePage, lines: Iterable[str]) -> None:
    replace_file(page.path, page.filled(page.path.read_text(), "\n".join(lines)).encode())

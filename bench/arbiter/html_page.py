"""docs/arbiter.html: the text and the tables of docs/arbiter.md, and the groups of every run."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jinja2 import ChoiceLoader, FileSystemLoader
from markdown_it import MarkdownIt
from markupsafe import Markup

from analysis.report.page import environment
from bench.arbiter.predictions import (
    committed,
    differences,
    predictions,
    resumption,
    said,
    said_commit,
    said_epoch,
)
from bench.arbiter.rows import Row, Story
from bench.arbiter.shown import Section
from contract.outcomes import Manner
from contract.tables import MICROS_PER_SECOND

_TEMPLATE = "arbiter.html.j2"
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_PREDICTIONS = "../bench/arbiter/predictions.yml"
_MADE = "<!--"


@dataclass(frozen=True)
class GroupShown:
    """A group of a run. is_otherwise: it came out otherwise than predicted."""

    row: Row
    commits: str
    came_out: str
    predicted: str
    because: str
    line: int
    is_otherwise: bool


@dataclass(frozen=True)
class RunShown:
    """A run, with what shows it: its folder, and the outcome of each group."""

    story: Story
    anchor: str
    command: str
    folder: str
    seconds: str
    jars: Sequence[str]
    groups: Sequence[GroupShown]


def html_page(
    text: str,
    shown: Sequence[Section],
    stories: Sequence[Story],
    rows: Sequence[Row],
    beside: Path,
) -> str:
    """Return the page.

    Args:
        text: of docs/arbiter.md; what stands outside of its made part is taken over.
        shown: the made part.
        stories: all runs.
        rows: of the groups.
        beside: the folder that the page will be in, from which links lead to the runs' folders.
    """
    before, after = _by_hand(text)
    title, _, question = before.partition("\n")
    pages = environment()
    pages.loader = ChoiceLoader([pages.loader, FileSystemLoader(Path(__file__).parent)])  # type: ignore[list-item]
    return pages.get_template(_TEMPLATE).render(
        title=title.removeprefix("# "),
        question=_html(question),
        after=_html(after),
        sections=shown,
        runs=list(_runs(stories, rows, beside)),
        inline=_inline,
        anchor=anchor,
        predictions=_PREDICTIONS,
    )


def anchor(name: str) -> str:
    """Return where the page has a run, or a section, of this name."""
    return "".join(one if one.isalnum() else "-" for one in name.lower())


def _by_hand(text: str) -> tuple[str, str]:
    """Return what stands before and after the made part."""
    before, _, rest = text.partition(_MADE)
    return before.strip(), rest.rpartition("-->")[2].strip()


def _html(text: str) -> Markup:
    """Return the HTML of Markdown, in which tags are escaped."""
    return Markup(_MARKDOWN.render(text))  # noqa: S704 - HTML in it is escaped


def _inline(text: str) -> Markup:
    return Markup(_MARKDOWN.renderInline(text))  # noqa: S704 - HTML in it is escaped


def _runs(stories: Sequence[Story], rows: Sequence[Row], beside: Path) -> Iterator[RunShown]:
    by_story: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_story[row.story].append(row)
    for story in sorted(stories, key=lambda one: one.name):
        run = story.run.run()
        ended = run.ended_micros or run.started_micros
        yield RunShown(
            story=story,
            anchor=anchor(story.name),
            command=f"python -m bench.arbiter run --full --only {story.name}",
            folder=quote(_from(beside, story.run.path)),
            seconds=f"{(ended - run.started_micros) / MICROS_PER_SECOND:.0f}",
            jars=[f"{Path(jar.path).name} {jar.sha256}" for jar in run.build.client_jars]
            if run.build
            else [],
            groups=[_group(row) for row in sorted(by_story[story.name], key=_order)],
        )


def _group(row: Row) -> GroupShown:
    known = predictions()
    epochs, wanted = committed(row, known), resumption(row, known)
    commits = "" if row.manner == Manner.EXTERNAL else said_commit(epochs)
    return GroupShown(
        row=row,
        commits=said_epoch(row.committed_epoch),
        came_out=said(row),
        predicted="; ".join(filter(None, (commits, said(wanted)))),
        because="; ".join(" ".join(one.because.split()) for one in (epochs, wanted)),
        line=wanted.line,
        is_otherwise=bool(differences([row])),
    )


def _order(row: Row) -> tuple[str, ...]:
    return row.hazard, row.client, row.manner, row.style, row.reset


def _from(beside: Path, folder: Path) -> str:
    """Return a folder's path from another one, as a link has it."""
    return Path(os.path.relpath(folder.resolve(), beside.resolve())).as_posix()

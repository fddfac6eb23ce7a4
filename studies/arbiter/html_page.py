"""docs/arbiter.html: the text and the tables of docs/arbiter.md, and the groups of every run."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import ChoiceLoader, FileSystemLoader
from markdown_it import MarkdownIt
from markupsafe import Markup

from analysis.report.page import environment
from studies.arbiter.markdown import PREDICTIONS
from studies.arbiter.runs_shown import RunShown, anchor
from studies.arbiter.shown import Section

_TEMPLATE = "arbiter.html.j2"
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_MADE = "<!--"


def html_page(text: str, shown: Sequence[Section], runs: Sequence[RunShown]) -> str:
    """Return the page.

    Args:
        text: of docs/arbiter.md; what stands outside of its made part is taken over.
        shown: the made part.
        runs: all runs, with the outcome of each group.
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
        runs=runs,
        inline=_inline,
        anchor=anchor,
        predictions=PREDICTIONS,
    )


def _by_hand(text: str) -> tuple[str, str]:
    """Return what stands before and after the made part."""
    before, _, rest = text.partition(_MADE)
    return before.strip(), rest.rpartition("-->")[2].strip()


def _html(text: str) -> Markup:
    """Return the HTML of Markdown, in which tags are escaped."""
    return Markup(_MARKDOWN.render(text))  # noqa: S704 - HTML in it is escaped


def _inline(text: str) -> Markup:
    return Markup(_MARKDOWN.renderInline(text))  # noqa: S704 - HTML in it is escaped

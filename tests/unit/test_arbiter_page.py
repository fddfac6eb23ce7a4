"""The arbiter's page: its tables in Markdown, and the HTML page with the groups of every run."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace
from pages_of import run_folder, verdict_of

from contract.outcomes import CommitEpoch
from contract.verdicts import Engine, Judging
from studies.arbiter.html_page import html_page
from studies.arbiter.markdown import runs_as_markdown, sections_as_markdown
from studies.arbiter.page import MADE, RUNS
from studies.arbiter.race import Ahead, RaceRow
from studies.arbiter.rows import RELEASED, Row, Story
from studies.arbiter.runs_shown import anchor, runs_shown
from studies.arbiter.sections import sections
from studies.arbiter.shown import Section
from tests import arbiter_rows

LOST = replace(arbiter_rows.LOST, story="4.3.1-released-truncated-1900")
INFLATED = replace(
    LOST,
    story="4.3.1-option-2-truncated-1900",
    build="option-2",
    committed_epoch=2,
    resumed_at=200,
    never_delivered=100,
)
RACES = [
    RaceRow(
        story="4.3.1-option-1-race-1900",
        kafka="4.3.1",
        build="option-1",
        group="g",
        client="java",
        pace="20ms",
        partition=partition,
        is_validated=partition > 0,
        followed_by="read on",
    )
    for partition in range(3)
]
AHEAD = [
    Ahead(story="4.3.1-option-1-race-1900", kafka="4.3.1", build="option-1", commits=9, ahead=4)
]
TEXT = """# A <title>

The question, with a <script>alert(1)</script>.

<!-- made by make arbiter -->

old

<!-- end of what make arbiter made -->

## Limits

- `x < y`
"""


def story_of(name: str, folder: Path) -> Story:
    run = run_folder(folder / "results" / name, started_micros=0, ended_micros=60_000_000)
    return Story(
        name=name,
        build=RELEASED,
        run=run,
        verdict=verdict_of(
            {},
            kafka="4.3.1",
            seed=1900,
            judging=Judging(engine=Engine.DUCKDB, why="few rows", seconds=1.0),
        ),
    )


@pytest.fixture
def stories(tmp_path: Path) -> list[Story]:
    names = sorted({row.story for row in (LOST, INFLATED)} | {row.story for row in RACES})
    return [story_of(name, tmp_path) for name in names]


def shown_of(stories: list[Story], rows: list[Row]) -> list[Section]:
    return list(sections(stories, rows, RACES, AHEAD))


def page_of(stories: list[Story], rows: list[Row], folder: Path) -> str:
    runs = list(runs_shown(stories, rows, folder / "docs"))
    return html_page(TEXT, shown_of(stories, rows), runs)


def unlinked(lines: Iterable[str]) -> str:
    """The text without links, except those to predictions."""
    return re.sub(r"\[([^\]]*)\]\(arbiter-runs[^)]*\)", r"\1", "\n".join(lines))


def test_the_tables_count_stories_and_groups(stories: list[Story]) -> None:
    page = unlinked(sections_as_markdown(shown_of(stories, [LOST, INFLATED])))
    assert (
        "| truncated/above | option-2 | 4.3.1 | epoch 2 | resumes at 200, skips 100 | 1 | 1 |"
        in page
    )
    assert re.search(
        r"\| option-1 \| java \| 20ms \| \[some\]\(\S+#L\d+\) \| 1 of 3 \| read on \| 1 \|", page
    )
    assert "| option-1 | 4 of 9 | 1 |" in page
    assert "2 of 2 groups came out as" in page
    assert "The runs took 3 minutes" in page
    assert "DuckDB judged 3 of them, and Spark SQL 0." in page


def test_the_first_table_has_a_column_for_each_choice(stories: list[Story]) -> None:
    page = unlinked(sections_as_markdown(shown_of(stories, [LOST, INFLATED])))
    (row,) = [line for line in page.splitlines() if line.startswith("| truncated/above | unclean")]
    costs = [one.strip() for one in row.split("|")[3:-1]]
    assert costs == ["0", "not run", "skips 100", "not run", "not run", "not run", "2", "2"]


def test_a_figure_leads_to_its_run_and_a_prediction_to_its_line(
    stories: list[Story], tmp_path: Path
) -> None:
    page = page_of(stories, [LOST, INFLATED], tmp_path)
    assert f'<a href="#{anchor(INFLATED.story)}" title="{INFLATED.story}">skips 100</a>' in page
    ids = set(re.findall(r' id="([^"]+)"', page))
    named = {one for one in re.findall(r'href="#([^"]+)"', page) if one != "content"}
    assert named - ids == set()
    assert {anchor(story.name) for story in stories} <= ids
    lines = (MADE.path.parents[1] / "studies/arbiter/predictions.yml").read_text().splitlines()
    for line in re.findall(r"predictions\.yml#L(\d+)", page):
        assert lines[int(line) - 1].startswith("  - fits:")


def test_every_group_is_shown_with_its_prediction(stories: list[Story], tmp_path: Path) -> None:
    otherwise = replace(LOST, resumed_at=150, never_delivered=50)
    page = page_of(stories, [otherwise, INFLATED], tmp_path)
    assert '<strong class="violated">resumes at 150, skips 50</strong>' in page
    assert "commits epoch 1; resumes at 100</a>" in page
    assert f"run --full --only {LOST.story}" in page
    assert f'href="../results/{LOST.story}"' in page


def test_the_page_needs_no_other_file_and_escapes_what_it_takes_over(
    stories: list[Story], tmp_path: Path
) -> None:
    page = page_of(stories, [LOST, replace(INFLATED, exception="<b>Odd</b>")], tmp_path)
    assert "<script>alert" not in page
    assert "<b>Odd" not in page
    assert "<title>A &lt;title&gt;</title>" in page
    assert "<code>x &lt; y</code>" in page
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=[\"'](?!data:)", page)
    assert "http://" not in page


def test_each_sentence_of_the_answer_has_a_run_or_a_line(stories: list[Story]) -> None:
    brief = shown_of(stories, [LOST, INFLATED])[0]
    assert len(brief.sentences) > 3
    assert all(one.stories or one.source for one in brief.sentences)
    for line in sections_as_markdown([brief]):
        if line.startswith("- "):
            assert re.search(
                r"\]\((https://github|arbiter-runs\.md#|hunt\.md)\S+?\)\)$|hunt\.md\)\)$", line
            )


def test_the_answer_counts_what_each_choice_skipped(stories: list[Story]) -> None:
    page = unlinked(sections_as_markdown(shown_of(stories, [LOST, INFLATED])[:1]))
    assert "the batch before its position: 1 of 1 group with plain commits did" in page
    assert "than the record's in 1 of 1 group; 1 of 1 group skipped records (100 in all)." in page
    assert "| option-2 | 1 | 1 of 1 groups | 1 of 1 group (100 in all) | not run |" in page


def test_a_commit_of_nothing_is_counted_where_the_client_chose_what_to_commit(
    stories: list[Story],
) -> None:
    empty = replace(LOST, committed_epoch=None, resumed_at=0)
    read_out = replace(empty, style=CommitEpoch.METADATA)
    lost_with_the_topic = replace(empty, hazard="recreated/kept")
    rows = [LOST, empty, read_out, lost_with_the_topic]
    page = unlinked(sections_as_markdown(shown_of(stories, rows)[:1]))
    assert "commits nothing, and reports no error: 1 of 2 groups" in page
    assert "commits nothing" not in unlinked(sections_as_markdown(shown_of(stories, [LOST])[:1]))


def test_the_runs_are_on_a_page_of_their_own(stories: list[Story], tmp_path: Path) -> None:
    otherwise = replace(LOST, resumed_at=150, never_delivered=50)
    runs = runs_shown(stories, [otherwise, INFLATED], tmp_path)
    page = "\n".join(runs_as_markdown(runs))
    assert f"### {INFLATED.story}" in page
    assert f"run --full --only {LOST.story}" in page
    assert "| **resumes at 150, skips 50** | [commits epoch 1; resumes at 100](" in page


def test_the_pages_that_are_kept_say_the_same() -> None:
    """Every table of the Markdown pages is in the HTML page, and every link leads to a run."""
    made, runs = MADE.path.read_text(), RUNS.path.read_text()
    page = re.sub(r"<[^>]+>", "", MADE.path.with_suffix(".html").read_text())
    for title in re.findall(r"^## (.+)$", made, re.MULTILINE):
        assert title in page
    for figure in re.findall(r"skips \d+: \d+ of \d+", made + runs):
        assert figure in page
    headings = {anchor(one) for one in re.findall(r"^##+ (.+)$", runs, re.MULTILINE)}
    assert set(re.findall(r"arbiter-runs\.md#([^)]+)\)", made + runs)) <= headings

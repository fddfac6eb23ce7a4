"""The arbiter's pages: what they count, and what shows it."""

import re
from pathlib import Path

from msgspec.structs import replace
from pages_of import run_folder, verdict_of

from contract.markdown import anchor
from contract.outcomes import CommitEpoch
from contract.verdicts import Engine, Judging
from studies.arbiter.figures import Figures, Outcome, Ran, figures_of
from studies.arbiter.page import kept, part, part_of_runs
from studies.arbiter.predictions import FILE
from studies.arbiter.race import Ahead, RaceRow
from studies.arbiter.rows import Row, Story
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
AHEAD = Ahead(story="4.3.1-option-1-race-1900", kafka="4.3.1", build="option-1", commits=9, ahead=4)


def ran(name: str, rows: list[Row]) -> Ran:
    """A run of a minute with these groups; of prefetch_race without any."""
    groups = [
        Outcome(
            row.hazard.partition("/")[2],
            **{name: getattr(row, name) for name in Outcome.__struct_fields__[1:]},
        )
        for row in rows
    ]
    hazard = rows[0].hazard.partition("/")[0] if rows else ""
    build = rows[0].build if rows else RACES[0].build
    return Ran(
        name=name,
        kafka="4.3.1",
        build=build,
        hazard=hazard,
        jars=[],
        judged_by=Engine.DUCKDB,
        seconds=60,
        groups=groups,
    )


def figures(*rows: Row) -> Figures:
    """The figures of runs with these rows, and of one race."""
    raced = figures_of([], [], [(RACES, AHEAD)])
    names = sorted({row.story for row in rows})
    runs = [ran(name, [row for row in rows if row.story == name]) for name in names]
    return replace(raced, runs=[*runs, ran(AHEAD.story, [])])


def page_of(*rows: Row) -> str:
    """The pages without links, except those to predictions."""
    text = part(figures(*rows)) + part_of_runs(figures(*rows))
    return re.sub(r"\[([^\]]*)\]\(arbiter-runs[^)]*\)", r"\1", text)


def test_figures_of_runs_have_their_groups_and_what_was_raced(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", started_micros=0, ended_micros=60_000_000)
    judging = Judging(engine=Engine.DUCKDB, why="few rows", seconds=1.0)
    verdict = verdict_of({}, kafka="4.3.1", seed=1900, judging=judging)
    story = Story(name=AHEAD.story, build="option-1", run=run, verdict=verdict)
    found = figures_of([], [story], [(RACES, AHEAD)])
    assert found.runs == [ran(AHEAD.story, [])]
    (raced,) = found.races
    assert (raced.positions, raced.not_validated, raced.followed_by) == (3, 1, {"read on": 1})
    assert (found.newer[0].newer, found.newer[0].commits, found.race_groups) == (4, 9, 1)


def test_rows_are_those_that_were_kept() -> None:
    assert figures(LOST, INFLATED).rows == [INFLATED, LOST]


def test_the_tables_count_stories_and_groups() -> None:
    page = page_of(LOST, INFLATED)
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


def test_the_first_table_has_a_column_for_each_choice() -> None:
    lines = page_of(LOST, INFLATED).splitlines()
    (row,) = [line for line in lines if line.startswith("| truncated/above | unclean")]
    costs = [one.strip() for one in row.split("|")[3:-1]]
    assert costs == ["0", "not run", "skips 100", "not run", "not run", "not run", "2", "2"]


def test_every_group_is_shown_with_its_prediction() -> None:
    otherwise = replace(LOST, resumed_at=150, never_delivered=50)
    page = part_of_runs(figures(otherwise, INFLATED))
    assert f"### {INFLATED.story}" in page
    assert f"run --full --only {LOST.story}" in page
    assert "| **resumes at 150, skips 50** | [commits epoch 1; resumes at 100](" in page


def test_each_sentence_of_the_answer_has_a_run_or_a_line() -> None:
    brief = part(figures(LOST, INFLATED)).partition("\nA newer epoch")[0]
    sentences = [line for line in brief.splitlines() if line.startswith("- ")]
    assert len(sentences) > 3
    shown_by = re.compile(r"\]\((https://github|arbiter-runs\.md#)\S+?\)\)$|hunt\.md\)\)$")
    assert [line for line in sentences if not shown_by.search(line)] == []


def test_the_answer_counts_what_each_choice_skipped() -> None:
    page = page_of(LOST, INFLATED)
    assert "the batch before its position: 1 of 1 group with plain commits did" in page
    assert "than the record's in 1 of 1 group; 1 of 1 group skipped records (100 in all)." in page
    assert "| option-2 | 1 | 1 of 1 groups | 1 of 1 group (100 in all) | not run |" in page


def test_a_commit_of_nothing_is_counted_where_the_client_chose_what_to_commit() -> None:
    empty = replace(LOST, committed_epoch=None, resumed_at=0)
    read_out = replace(empty, style=CommitEpoch.METADATA)
    lost_with_the_topic = replace(
        empty, hazard="recreated/kept", story="4.3.1-released-recreated-1900"
    )
    page = page_of(LOST, empty, read_out, lost_with_the_topic)
    assert "commits nothing, and reports no error: 1 of 2 groups" in page
    assert "commits nothing" not in page_of(LOST)


def test_the_pages_that_are_kept_name_runs_and_predictions() -> None:
    made, runs = part(), part_of_runs()
    headings = {anchor(one) for one in re.findall(r"^##+ (.+)$", runs, re.MULTILINE)}
    assert set(re.findall(r"arbiter-runs\.md#([^)]+)\)", made + runs)) <= headings
    assert {anchor(run.name) for run in kept().runs} <= headings
    lines = FILE.read_text().splitlines()
    for line in set(re.findall(r"predictions\.yml#L(\d+)", made + runs)):
        assert lines[int(line) - 1].startswith("  - ")

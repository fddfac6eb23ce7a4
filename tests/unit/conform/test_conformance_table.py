"""The table of docs/conformance.md: what is due, what a cell shows, and its predictions."""

from typing import Any

import pytest
from msgspec.structs import replace

from contract.errors import UsageError
from contract.software import Level, about
from contract.terms import ResetPolicy
from extras.conform.expected import FAILURES
from extras.conform.features import Features
from extras.conform.released import page, rows
from extras.conform.released.__main__ import choose_rows
from extras.conform.released.page import cells_of_stories, part, predictions
from extras.conform.released.rows import Row
from extras.conform.released.suite import Wanted
from extras.conform.stories import Told
from extras.conform.vocabulary import COMMITS, MEETS, QUICK, Cell, Hazard, Kind
from tests.made import make_struct
from website.figures import read_figures

KAFKA = "4.4.0"
HAS = Features(
    client="librdkafka",
    language="Python",
    level=Level.POSITIONS,
    commits=["explicit"],
    resets=[ResetPolicy.LATEST, ResetPolicy.EARLIEST],
    shares="librdkafka",
)
ROW = Row("librdkafka", "librdkafka", HAS)
ABOVE = Hazard.TRUNCATION_ABOVE


def cell(kind: Kind, meets: str = "restart", client: str = "librdkafka", **fields: Any) -> Cell:
    place = {"hazard": ABOVE, "meets": meets, "commit": "explicit", "reset": "earliest"}
    return Cell(client=client, kind=kind, **place, **fields)


def make_told(*cells: Cell, seed: int = 7) -> Told:
    versions = {"librdkafka": "2.16.0 (confluent-kafka 2.16.1)"}
    return make_struct(
        Told, hazard=ABOVE, seed=seed, kafka=KAFKA, cells=list(cells), versions=versions
    )


SKIPS = make_told(cell(Kind.SKIPS, records=100), cell(Kind.KEEPS, "live"))
NOTHING = make_told(cell(Kind.NOT_EVALUABLE, reason="the control java stands still"))


def make_wanted(stories: int = 1) -> Wanted:
    return Wanted([ROW], [ABOVE], stories, KAFKA)


def test_a_story_is_due_until_it_shows_something_or_was_tried_twice() -> None:
    assert [hazard for hazard, _ in make_wanted().due([])] == [ABOVE]
    assert list(make_wanted().due([SKIPS])) == []
    assert len(list(make_wanted(stories=2).due([SKIPS]))) == 1
    assert len(list(make_wanted().due([NOTHING]))) == 1
    assert list(make_wanted().due([NOTHING, NOTHING])) == []


def test_the_plainest_reader_has_the_policy_that_all_rows_have() -> None:
    assert str(ROW.plainest) == "librdkafka"


def test_a_cell_is_compared_with_its_prediction() -> None:
    restart, live = cells_of_stories([SKIPS], [ROW])[::-1]
    assert (live.cell.words, live.agrees) == ("keeps its place", True)
    assert (restart.cell.words, restart.prediction, restart.agrees) == (
        "skips 100",
        "skips 100",
        True,
    )
    (nothing,) = cells_of_stories([NOTHING], [ROW])
    assert nothing.agrees is None


def test_the_page_says_what_came_and_what_was_not_run() -> None:
    text = part(cells_of_stories([SKIPS], [ROW]))
    assert '<span title="1 story; predicted: skips 100">skips 100</span>' in text
    assert "librdkafka 2.16.0" not in text
    assert "2.16.0 (confluent-kafka 2.16.1), Python; shares librdkafka" in text
    assert "2 of 2 cells with a prediction came as predicted." in text
    assert "the control java stands still" in part(cells_of_stories([NOTHING], [ROW]))
    assert "not run" in part(
        cells_of_stories([make_told(cell(Kind.KEEPS, "live")), *others()], [ROW, OTHER])
    )


OTHER = Row("kafka-python", "kafka-python", HAS)


def others() -> list[Told]:
    each = [cell(Kind.KEEPS, meets, client=OTHER.name) for meets in ("restart", "live")]
    return [make_told(*each, seed=8)]


def test_an_outcome_that_depends_on_the_first_fetch_is_marked() -> None:
    cells = cell(Kind.SKIPS, records=100), cell(Kind.REPEATS, "live", records=100)
    text = part(cells_of_stories([make_told(*cells)], [ROW]))
    assert ">repeats 100</span>" not in text
    assert ">repeats 100, *by timing*</span>" in text
    assert ">skips 100</span>" in text


def test_a_claim_that_is_broken_is_bold() -> None:
    (row,) = [client_row for client_row in rows.every() if client_row.name == "librdkafka"]
    assert "**skips 100**" in part(cells_of_stories([SKIPS], [row]))


def test_every_prediction_is_of_cells_and_rows_that_there_are() -> None:
    known = {row.name for row in rows.every()}
    places = {f"{hazard}.{meets}" for hazard in Hazard for meets in MEETS[hazard]}
    for prediction in predictions():
        assert set(prediction.clients) <= known
        assert set(prediction.cells) <= places
        assert prediction.why
        words = prediction.outcome
        assert words == "keeps its place" or words.startswith(tuple(FAILURES))


def test_every_built_in_client_has_a_features_file_of_its_own() -> None:
    for row in rows.every():
        assert row.name.startswith(row.features.client.removeprefix("@").replace("/", "-"))
        assert set(row.features.commits) <= set(COMMITS)


def test_a_framework_is_in_a_table_of_its_own() -> None:
    framework = Row("kafka-python", "kafka-python", replace(HAS, framework=True))
    text = part(cells_of_stories([SKIPS, *others()], [ROW, framework]))
    clients, frameworks = text.split("Frameworks, by their own manner:")
    assert ("librdkafka<br>" in clients, "kafka-python<br>" in clients) == (True, False)
    assert "kafka-python<br>" in frameworks
    assert "Frameworks" not in part(cells_of_stories([SKIPS], [ROW]))


def test_rows_are_named() -> None:
    of_frameworks = {row.features.client for row in choose_rows("frameworks")}
    assert of_frameworks == {"kafka-streams", "kafka-connect", "spring-kafka", "spark"}
    assert not of_frameworks & {row.features.client for row in choose_rows("")}
    assert [row.name for row in choose_rows("java,kafka-python@3.0.5")] == [
        "java",
        "kafka-python@3.0.5",
    ]
    with pytest.raises(UsageError, match="nearest is kafka-python"):
        choose_rows("kafka-pythn")


def test_the_kept_figures_make_the_page() -> None:
    assert page.NAME == "conformance"
    assert part()
    assert len(QUICK) == 4


def test_kept_cells_are_marked_by_what_the_clients_claim_now() -> None:
    claimed = {row.name: row.features for row in rows.every()}
    cells = read_figures(page.NAME, list[page.Shown])
    assert [entry.broken for entry in cells] == [
        claimed[entry.row].broken_claim(entry.cell.hazard, entry.cell.kind, entry.cell.reset)
        for entry in cells
    ]


def test_what_each_client_does_by_itself_agrees_with_what_runs_are_judged_by() -> None:
    every = {row.client: row.features for row in rows.every()}
    assert all(has.by_itself for has in every.values())
    for client in rows.NEWEST:
        assert every[client].isolations[0] == about(client).isolation
        assert (every[client].epochs == "record") == about(client).commits_epochs

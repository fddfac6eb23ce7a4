"""The page of the scenarios."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.scenarios_page import PAGE, SUITE, page, parameters_in_words
from harness.commands.requirements import DEFAULT_KAFKA
from harness.nightly.suite import Entry, find_suite
from harness.session.catalog import ScenarioFile, read_scenario, scenarios


@pytest.fixture
def calm(tmp_path: Path) -> ScenarioFile:
    file = tmp_path / "calm_test.py"
    file.write_text('"""Is it calm?\n\nFault:   none.\n"""\n')
    return read_scenario(file)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| [")]


def test_the_page_is_as_the_code_makes_it() -> None:
    assert PAGE.read_text() == page(scenarios(), find_suite(SUITE).entries), "make scenarios-page"


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (({},), ""),
        (None, "see its file"),
        (({"recipe": "pause"}, {"recipe": "deaf"}), "recipe: pause, deaf"),
        (
            ({"by": 1, "of": 2}, {"by": 1, "of": 3}, {"by": 4, "of": 2}, {"by": 4, "of": 3}),
            "by: 1, 4; of: 2, 3",
        ),
        (({"by": 1, "of": 2}, {"by": 4, "of": 3}), "(by: 1, of: 2), (by: 4, of: 3)"),
    ],
)
def test_parameters_are_by_name_if_all_combinations_are_there(
    declared: tuple[Mapping[str, Any], ...] | None, words: str
) -> None:
    assert parameters_in_words(declared) == words


def test_a_scenario_has_one_row_with_its_versions_once_each(calm: ScenarioFile) -> None:
    entries = [
        Entry(scenario="calm", kafka=["4.4.0", "3.9.0"]),
        Entry(scenario="calm", kafka=["3.9.0"]),
        Entry(scenario="other", kafka=["4.3.1"]),
    ]
    assert rows(page([calm], entries)) == [
        "| [calm](../scenarios/calm_test.py) | Is it calm? |  | 4.4.0, 3.9.0 |"
    ]


def test_an_entry_without_versions_runs_on_the_default_one(calm: ScenarioFile) -> None:
    (row,) = rows(page([calm], [Entry(scenario="calm")]))
    assert row.endswith(f"|  | {DEFAULT_KAFKA} |")


def test_scenarios_that_must_fail_are_named() -> None:
    entries = [Entry(scenario="planted", expect="fail"), Entry(scenario="calm")]
    assert "A run of `planted` must fail" in page([], entries)
    assert "must fail" not in page([], entries[1:])

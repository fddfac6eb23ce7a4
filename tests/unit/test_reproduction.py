"""The table of how often a hazard was reached."""

from pathlib import Path

import pytest

from contract.errors import UsageError
from contract.nights import NightRow, Outcome
from contract.verdicts import RunVerdict
from studies.reproduction import newest, table


def row(verdict: RunVerdict, *, recipe: str = "pause", seconds: float = 30.0) -> NightRow:
    return NightRow(
        id="1",
        scenario="zombie_leader",
        parameters={"recipe": recipe},
        kafka="4.4.0",
        seed=1,
        repeat=0,
        expect=RunVerdict.PASS,
        verdict=verdict,
        outcome=Outcome.EXPECTED,
        seconds=seconds,
        checks={},
        report=None,
        error=None,
        rerun="",
    )


def test_each_recipe_has_its_line_and_each_scenario() -> None:
    rows = [
        row(RunVerdict.PASS, seconds=20),
        row(RunVerdict.PASS, seconds=30),
        row(RunVerdict.UNDECIDED, seconds=40),
        row(RunVerdict.FAIL, recipe="deaf"),
    ]
    assert table(rows) == [
        "| zombie_leader(recipe=deaf) | 4.4.0 | 1 | 0 of 1 | 1 | 0 | 30 |",
        "| zombie_leader(recipe=pause) | 4.4.0 | 3 | 2 of 3 | 0 | 1 | 30 |",
        "| zombie_leader, all | 4.4.0 | 4 | 2 of 4 | 1 | 1 | 30 |",
    ]


def test_without_a_night_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make reproduction"):
        newest(tmp_path)

"""The mutation score: what counts as found, missed and made up; every check has its line."""

from pathlib import Path
from typing import Any

from analysis.checks.registry import CHECKS
from bench.mutation import Found, Score, scores, table
from contract.checks import Check
from simulator.history import Generated
from simulator.plants import PLANTS
from simulator.universe import Place

CHECK = str(Check.LOST_RECORD)
PLANTED = Place(CHECK, "violation", 1, None, 5)


def found(topic: str = "t", *, check: str = CHECK, **row: Any) -> Found:
    values = {
        "verdict": "violation",
        "topic": topic,
        "partition": 1,
        "group": None,
        "offset_first": 4,
        "offset_last": 6,
    }
    return Found(topic, check, values | row)


def made(**expected: list[Place]) -> Generated:
    return Generated(
        planted={"t": [PLANTED]}, plants={"t": CHECK}, expected={"t": [], "clean": []} | expected
    )


def score(*ones: Found, **expected: list[Place]) -> Score:
    return scores(made(**expected), ones)[CHECK]


def test_what_is_found_where_it_was_planted() -> None:
    told = score(found())
    assert (told.planted, told.recall, told.precision, told.is_perfect) == (1, 1.0, 1.0, True)


def test_another_place_or_verdict_is_a_miss() -> None:
    elsewhere = {"partition": 0}, {"offset_first": 6}, {"verdict": "permitted"}
    for row in elsewhere:
        assert score(found(**row)).recall == 0.0
    assert score(found("clean")).recall == 0.0


def test_what_was_not_planted_is_made_up_unless_it_follows() -> None:
    extra = found("clean", partition=0)
    assert score(found(), extra).precision == 0.5
    follows = [Place(CHECK, None, 0)]
    assert score(found(), extra, clean=follows).precision == 1.0


def test_what_is_permitted_counts_only_for_checks_that_measure() -> None:
    assert score(found(), found("clean", verdict="permitted")).findings == 1


def test_every_check_has_its_line_and_every_plant_its_check() -> None:
    lines = list(table({CHECK: score(found())}))
    assert len(lines) == len(CHECKS)
    assert f"| A1 | {CHECK} | 1 | 1.000 | 1.000 | 1 |" in lines
    assert set(PLANTS) <= {str(check) for check in CHECKS}


def test_the_page_has_the_ids_of_the_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "mutation.md").read_text()
    for check, definition in CHECKS.items():
        assert f"\n| {definition.id} | {check} |" in page

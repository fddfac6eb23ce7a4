"""The mutation score: what counts as found, missed and made up; every check has its line."""

from typing import Any

import bench.figures
from analysis.statements.registry import CHECKS
from bench.mutation import CheckFigures, Found, Mutation, Score, figures_of, scores
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
    reported = score(found())
    assert (reported.planted, reported.recall, reported.precision, reported.is_perfect) == (
        1,
        1.0,
        1.0,
        True,
    )


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


def test_every_check_has_its_figures_and_every_plant_its_check() -> None:
    figures = list(figures_of({CHECK: score(found())}))
    assert [one.check for one in figures] == list(map(str, CHECKS))
    assert CheckFigures("A1", CHECK, planted=1, recall=1, precision=1, findings=1) in figures
    assert set(PLANTS) <= {str(check) for check in CHECKS}


def test_the_figures_that_are_kept_are_of_checks_that_there_are() -> None:
    kept = {(one.id, one.check) for one in bench.figures.kept("mutation", Mutation).checks}
    assert kept <= {(one.id, str(check)) for check, one in CHECKS.items()}

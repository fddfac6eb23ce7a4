"""The judge's exam: what each check must say of histories that its author did not shape."""

from pathlib import Path

import pytest
from exam import Said, is_right, judged_alone, judged_together, questions
from pyspark.sql import SparkSession

from analysis.checks.registry import CHECKS
from tests.histories.history import NONE, Question, expectations

pytestmark = pytest.mark.spark

TOGETHER = [question for question in questions() if not question.alone]
ALONE = [question for question in questions() if question.alone]
EXPECTATIONS_MIN = 150


@pytest.fixture(scope="module")
def said(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Said:
    return judged_together(spark, tmp_path_factory.mktemp("exam"), TOGETHER)


def _wrong(question: Question, said: dict[str, str]) -> dict[str, str]:
    """By check: what it said, and what the source asks for."""
    return {
        check: f"{said.get(check, NONE)}, but {question.source}: {expected}"
        for check, expected in question.expects.items()
        if not is_right(expected, said.get(check, NONE))
    }


@pytest.mark.timeout(600)
@pytest.mark.parametrize("question", TOGETHER, ids=lambda question: question.name)
def test_history(question: Question, said: Said) -> None:
    assert _wrong(question, said.get(question.name, {})) == {}, question.question


@pytest.mark.parametrize("question", ALONE, ids=lambda question: question.name)
def test_history_alone(question: Question, spark: SparkSession, tmp_path: Path) -> None:
    assert _wrong(question, judged_alone(spark, tmp_path, question)) == {}, question.question


def test_the_exam_asks_enough_of_every_check() -> None:
    asked = {check for question in questions() for check in question.expects}
    assert {str(check) for check in CHECKS} - asked == set()
    assert expectations(questions()) >= EXPECTATIONS_MIN
    assert len({question.name for question in questions()}) == len(questions())

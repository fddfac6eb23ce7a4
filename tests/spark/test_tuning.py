"""How plans for many rows differ from those for few."""

import re

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.gateway import planned_by
from analysis.tuning import for_many_rows


def _plan(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    frame.explain()
    return capsys.readouterr().out


def test_many_rows_are_planned_for_in_a_session_of_their_own(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    few = spark.range(0, 9, 1, 3).selectExpr("id % 2 as odd").groupBy("odd").count()
    many = planned_by(for_many_rows(spark, 10_000_000), few)
    assert sorted(many.collect()) == sorted(few.collect())
    of_few, of_many = _plan(few, capsys), _plan(many, capsys)
    assert re.search(r"hashpartitioning\(odd#\w+, 1\)", of_few)
    assert re.search(r"hashpartitioning\(odd#\w+, 20\)", of_many)
    assert "*(1)" not in of_few
    assert "*(1)" in of_many

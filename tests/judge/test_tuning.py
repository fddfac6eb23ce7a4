"""How plans for many rows differ from those for few."""

import re

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.engine.functions import count
from analysis.engine.spark import SparkEngine


def _plan(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    frame.explain()
    return capsys.readouterr().out


def test_many_rows_are_planned_for_in_a_session_of_their_own(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = SparkEngine(spark, rows=10_000_000)

    def counted(*, is_large: bool) -> DataFrame:
        numbers = engine.named(spark.range(0, 9, 1, 3), is_large=is_large)
        rows = numbers.selectExpr("id % 2 as odd", "id")
        return engine.planned(rows.groupBy("odd").agg(count("id").alias("rows")))

    few, many = counted(is_large=False), counted(is_large=True)
    assert sorted(many.collect()) == sorted(few.collect())
    of_few, of_many = _plan(few, capsys), _plan(many, capsys)
    assert re.search(r"hashpartitioning\(odd#\w+, 1\)", of_few)
    assert re.search(r"hashpartitioning\(odd#\w+, 20\)", of_many)
    assert "*(1)" not in of_few
    assert "*(1)" in of_many

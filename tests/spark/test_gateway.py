"""What PySpark looks up in the JVM."""

from typing import Any

import pytest
from py4j.java_gateway import JavaClass, JVMView
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def test_plans_are_made_of_classes_that_were_looked_up_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plan(spark).collect() == [(0, 0, "none")]
    asked: list[str] = []
    for kind in (JVMView, JavaClass):
        look_up = kind.__getattr__

        def noting(self: Any, name: str, look_up: Any = look_up) -> Any:
            asked.append(name)
            return look_up(self, name)

        monkeypatch.setattr(kind, "__getattr__", noting)
    plan(spark)
    assert asked == []


def plan(spark: SparkSession) -> DataFrame:
    by_id = Window.partitionBy("id").orderBy(F.col("id"))
    return spark.range(1).select(
        "id", F.max("id").over(by_id), F.when(F.col("id") > 0, "one").otherwise(F.lit("none"))
    )

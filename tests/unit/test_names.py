"""Spark reads the folder that is named, whatever characters its name has."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.engine import spark as spark_engine
from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine

pytestmark = [pytest.mark.spark, pytest.mark.extended]
NAMES = ("a*", "a1", "a[1]", "q?", "{a1,b}", "it's", "per%20cent", "a#b", "back\\slash", "ä ö")


def test_a_folder_is_no_pattern(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = pa.schema([("of", pa.string())])
    for name in NAMES:
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"of": [name]}, schema=schema), tmp_path / name / "t.parquet")
    engine = SparkEngine(spark, rows=0, scratch=Scratch(tmp_path))
    for rows in (spark_engine.LOCAL_ROWS, 0):
        monkeypatch.setattr(spark_engine, "LOCAL_ROWS", rows)
        for name in NAMES:
            engine.add_file("named", tmp_path / name / "t.parquet", schema, 1)
            assert engine.rows("select * from named", numbers={}).to_pylist() == [{"of": name}]
            engine.drop("named")

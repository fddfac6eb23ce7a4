"""Generated histories with a range for each record, which Spark SQL judges as if they were many."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from test_generated import all_reported, every_plant, split_ranges

from analysis.engine import spark as spark_engine
from analysis.runs.load import load_trace

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(900)]


def test_ranges_hide_nothing_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = every_plant(tmp_path)
    by_ranges = all_reported(load_trace(spark, folder))
    split_ranges(folder)
    monkeypatch.setattr(spark_engine, "LOCAL_ROWS", 0)
    by_records = all_reported(load_trace(spark, folder))
    for check, judged in by_ranges.items():
        assert by_records[check] == judged, check

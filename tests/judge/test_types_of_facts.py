"""The declared types of facts are those of Spark."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from analysis.engine.frames import Frame
from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine
from tests.unit.test_facts import differences, planted, types_of_facts

pytestmark = pytest.mark.spark


class Types(SparkEngine):
    """Statements are analyzed only, and nothing is left out for want of rows."""

    def table(self, content: pa.Table) -> Frame:
        return self.named(self.session.createDataFrame(content.schema.empty_table()))

    def computed(self, frame: Frame) -> Frame:
        return self.table(self.schema(frame).empty_table())

    def parquet(self, place: Path | str, schema: pa.Schema, rows: int) -> Frame:  # noqa: ARG002
        return self.table(schema.empty_table())

    def schema(self, frame: Frame) -> pa.Schema:
        return to_arrow_schema(self.planned(frame).schema)


def test_every_fact_has_the_declared_types(spark: SparkSession, tmp_path: Path) -> None:
    engine = Types(spark, rows=0, scratch=Scratch(tmp_path))
    wrong = [
        difference
        for one, frame in types_of_facts(engine, planted(tmp_path))
        for difference in differences(one, engine.schema(frame))
    ]
    assert wrong == []

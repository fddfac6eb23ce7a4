"""The declared types of facts are those of Spark."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine
from analysis.statements.files import facts
from analysis.statements.plan import PLANNED
from contract.tables import TABLES
from tests.unit.test_facts import differences

pytestmark = pytest.mark.spark
NUMBERS = dict.fromkeys(("clock_micros", "skew_micros", "jump_micros"), 0)


def test_every_fact_has_the_declared_types(spark: SparkSession, tmp_path: Path) -> None:
    """Statements are analyzed only, over tables and facts of the declared types."""
    engine = SparkEngine(spark, rows=0, scratch=Scratch(tmp_path))
    declared = {name: fact.schema for name, fact in facts().items()}
    for name, schema in {**TABLES, **PLANNED, **declared}.items():
        engine.add(name, schema.empty_table())
    stated = [fact for fact in facts().values() if fact.text]
    wrong = [
        difference
        for fact in stated
        for difference in differences(
            fact, to_arrow_schema(engine.planned(fact.text, NUMBERS).schema)
        )
    ]
    assert wrong == []
    assert len(stated) > 100

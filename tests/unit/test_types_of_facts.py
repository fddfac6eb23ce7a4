"""Spark understands every statement, and the declared types of facts are Spark's.

Statements are analyzed only, over tables and facts of the declared types. The exam, which Spark
judges as an extended test, runs them.
"""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine
from analysis.statements.files import facts
from analysis.statements.registry import CHECKS
from tests.unit.every_statement import declared_schemas, statements
from tests.unit.test_facts import differences

pytestmark = [pytest.mark.spark, pytest.mark.extended]
NUMBERS = dict.fromkeys(("clock_micros", "skew_micros", "jump_micros"), 0)


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkEngine:
    engine = SparkEngine(spark, rows=0, scratch=Scratch(tmp_path_factory.mktemp("scratch")))
    for name, schema in declared_schemas().items():
        engine.add(name, schema.empty_table())
    return engine


def test_every_statement_of_a_check_is_understood(engine: SparkEngine) -> None:
    for check, one in CHECKS.items():
        if one.header.is_by_rules:
            rows = to_arrow_schema(engine.planned(one.rows.text, NUMBERS).schema)
            engine.add(check, rows.empty_table())
    of_checks = [text for name, text in statements().items() if ": " in name]
    for text in of_checks:
        assert engine.planned(text, NUMBERS).schema
    assert len(of_checks) > 200


def test_every_fact_has_the_declared_types(engine: SparkEngine) -> None:
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

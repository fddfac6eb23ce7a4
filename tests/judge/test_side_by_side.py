"""What is asked of a trace at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import SparkSession

from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine


def test_statements_run_by_the_cores_of_the_executors(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.sparkContext.master == "local[1,3]"
    assert SparkEngine(spark, rows=0, scratch=Scratch(tmp_path)).at_once == 2


def test_answers_come_in_order(spark: SparkSession, tmp_path: Path) -> None:
    is_second_done = Event()

    def ask(number: int) -> int:
        if number == 1:
            is_second_done.set()
        else:
            is_second_done.wait()
        return number * 2

    assert SparkEngine(spark, rows=0, scratch=Scratch(tmp_path)).each(ask, [0, 1]) == [0, 2]


def test_an_interrupt_ends_what_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    engine = SparkEngine(spark, rows=0, scratch=Scratch(tmp_path))
    is_counting, broken = Event(), []

    def ask(name: str) -> None:
        if name == "interrupted":
            is_counting.wait()
            raise KeyboardInterrupt
        is_counting.set()
        try:
            endless = spark.range(1 << 20).crossJoin(spark.range(1 << 40))
            engine.named(endless.toDF("one", "other")).count()
        except Exception as error:
            broken.append(str(error))
            raise

    with ThreadPoolExecutor(1) as judging:
        judged = judging.submit(engine.each, ask, ["interrupted", "endless"])
        with pytest.raises(KeyboardInterrupt):
            judged.result()
    assert len(broken) == 1
    assert "cancelled" in broken[0]

"""What is asked of a trace at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from conftest import FOR_FEW_ROWS
from pyspark.sql import SparkSession

from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine

ENDLESS = f"select count(*) as rows from range({1 << 20}) cross join range({1 << 40})"

pytestmark = [pytest.mark.spark, pytest.mark.extended]


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> SparkEngine:
    return SparkEngine(spark, rows=0, scratch=Scratch(tmp_path))


def test_statements_run_by_the_cores_of_the_executors(engine: SparkEngine) -> None:
    assert engine.session.sparkContext.master == "local[1,3]"
    assert engine.at_once == 2


def test_a_trace_has_the_settings_of_the_session(engine: SparkEngine) -> None:
    assert {name: engine.session.conf.get(name) for name in FOR_FEW_ROWS} == FOR_FEW_ROWS


def test_answers_come_in_order(engine: SparkEngine) -> None:
    is_second_done = Event()

    def ask(number: int) -> int:
        if number == 1:
            is_second_done.set()
        else:
            is_second_done.wait()
        return number * 2

    assert engine.each(ask, [0, 1]) == [0, 2]


def test_an_interrupt_ends_what_goes_on(engine: SparkEngine) -> None:
    is_counting, broken = Event(), []

    def ask(name: str) -> None:
        if name == "interrupted":
            is_counting.wait()
            raise KeyboardInterrupt
        is_counting.set()
        try:
            engine.rows(ENDLESS, numbers={})
        except Exception as error:
            broken.append(str(error))
            raise

    with ThreadPoolExecutor(1) as judging:
        judged = judging.submit(engine.each, ask, ["interrupted", "endless"])
        with pytest.raises(KeyboardInterrupt):
            judged.result()
    assert len(broken) == 1
    assert "cancelled" in broken[0]

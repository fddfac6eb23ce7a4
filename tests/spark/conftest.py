"""One Spark session for all tests here, and micro-histories to judge."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from analysis.engine.frames import Frame
from analysis.engine.session import open_session
from analysis.engine.spark import SMALL_INPUT_ROWS, SparkEngine
from analysis.facts.trace import Trace
from contract.checks import Check
from contract.ranges import from_rows, row_schema
from contract.run_folder import Expectation, GroupPlan, TopicPlan
from contract.tables import TABLES
from tests.descriptions import description_of, plan_of

Rows = dict[str, list[dict[str, Any]]]
TraceMaker = Callable[..., Trace]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Its JVM goes on for hundreds of tests, so it is to compile as well as for a large trace.
    session = open_session("local[1]", rows=SMALL_INPUT_ROWS + 1)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def engine(spark: SparkSession) -> SparkEngine:
    return SparkEngine(spark)


@pytest.fixture(scope="session")
def empty_table(engine: SparkEngine) -> Callable[[str], Frame]:
    """By name: most tables of a micro-history are empty, and to make one anew takes a while."""
    return cache(lambda name: engine.table(TABLES[name].empty_table()))


@pytest.fixture
def make_trace(engine: SparkEngine, empty_table: Callable[[str], Frame]) -> TraceMaker:
    def make(
        rows: Rows,
        *,
        group: str = "g",
        client: str = "java",
        commit_epoch: str = "record",
        reset: str = "earliest",
        isolation: str = "read_uncommitted",
        unclean_election: bool = True,
        min_insync: int = 1,
        retention_ms: int | None = None,
        deletes: bool = False,
        groups: tuple[str, ...] | None = None,
        settings: dict[str, str | int] | None = None,
        missing: tuple[str, ...] = (),
        checks: tuple[str, ...] = (),
        expects: tuple[Expectation, ...] = (),
        error: str | None = None,
        started_micros: int = 0,
        ended_micros: int | None = None,
    ) -> Trace:
        def read(name: str) -> Frame:
            if not rows.get(name):
                return empty_table(name)
            content = pa.Table.from_pylist(rows[name], schema=row_schema(name))
            return engine.table(from_rows(name, content))

        plan = plan_of(
            scenario="micro",
            topics=[
                TopicPlan(
                    topic="t",
                    partitions=1,
                    replication=2,
                    min_insync=min_insync,
                    unclean_election=unclean_election,
                    retention_ms=retention_ms,
                    deletes=deletes,
                )
            ],
            groups=[
                GroupPlan(
                    group=name,
                    client=client,
                    topic="t",
                    commit_epoch=commit_epoch,
                    reset=reset,
                    isolation=isolation,
                    settings=settings or {},
                )
                for name in (groups if groups is not None else (group,))
            ],
            must_judge=list(checks) or [str(check) for check in Check],
            expects=list(expects),
        )
        run = description_of(
            scenario="micro",
            clients={"java": "4.4.0"},
            git_head="0",
            started_micros=started_micros,
            ended_micros=ended_micros,
            error=error,
        )
        counts = {name: len(rows.get(name, [])) for name in TABLES}
        return Trace(engine, plan, run, read, counts, frozenset(missing))

    return make

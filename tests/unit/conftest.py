"""Micro-histories to judge; and a Spark."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkContext

from analysis import judging
from analysis.engine.duckdb import Database
from analysis.engine.session import open_spark
from analysis.runs.load import trace_of
from analysis.runs.source import table_files
from analysis.statements.trace import Trace
from contract.ranges import row_schema
from contract.run_folder import GroupPlan, RunFolder, TopicPlan
from contract.tables import TABLES
from contract.terms import Check
from tests.descriptions import description_of, plan_of
from tests.records import from_rows

Rows = dict[str, list[dict[str, Any]]]
TraceMaker = Callable[..., Trace]
TraceReader = Callable[[RunFolder], Trace]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkContext]:
    # Tasks may fail twice.
    context = open_spark("local[1,3]")
    yield context
    context.stop()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """One for a file's tests, in which each trace has an engine of its own."""
    return Database(threads=1, memory="1GB", spill=tmp_path_factory.mktemp("spill"))


@pytest.fixture(scope="module")
def read_run(database: Database) -> TraceReader:
    """The tables in a run's folder."""
    return lambda folder: trace_of(database.engine(), folder, table_files(folder))


@pytest.fixture(scope="module")
def by_one_check() -> Iterator[None]:
    """For a file of tests about the folder of a run: judging it by all checks takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "judge", partial(judging.judge, only=[Check.LOST_RECORD]))
        yield


@pytest.fixture
def make_trace(database: Database) -> TraceMaker:
    def make(
        rows: Rows,
        *,
        groups: tuple[str, ...] = ("g",),
        client: str = "java",
        commit_epoch: str = "record",
        level: str = "positions",
        unclean_election: bool = True,
        missing: tuple[str, ...] = (),
        checks: tuple[str, ...] = (),
        **described: Any,
    ) -> Trace:
        engine = database.engine()

        def load(name: str) -> None:
            content = TABLES[name].empty_table()
            if rows.get(name):
                each = pa.Table.from_pylist(rows[name], schema=row_schema(name))
                content = from_rows(name, each)
            engine.add(name, content)

        topic = {"topic": "t", "partitions": 1, "replication": 2, "min_insync": 1}
        group = {"client": client, "topic": "t", "commit_epoch": commit_epoch, "level": level}
        group |= {"reset": "earliest", "isolation": "read_uncommitted"}
        plan = plan_of(
            scenario="micro",
            topics=[TopicPlan(**topic, unclean_election=unclean_election)],
            groups=[GroupPlan(**group, group=name) for name in groups],
            must_judge=list(checks) or [str(check) for check in Check],
        )
        named = {"scenario": "micro", "clients": {"java": "4.4.0"}, "git_head": "0"}
        run = description_of(**(named | {"started_micros": 0} | described))
        counts = {name: len(rows.get(name, [])) for name in TABLES}
        return Trace(engine, plan, run, load, counts, frozenset(missing))

    return make

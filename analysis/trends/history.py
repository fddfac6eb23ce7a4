"""The rows of all nights that the rules are asked about, by one statement each, in Spark."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.functions import col
from pyspark.sql.functions import min as least
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.engine import jvm
from analysis.engine.hadoop import LITERAL, in_full
from analysis.engine.session import sql_session
from analysis.store import STORED
from analysis.trends.identity import shape, subject_of
from contract.errors import AnalysisError
from contract.files import place

Row = dict[str, Any]
_PARTITIONS = 4
_OF_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": str(_PARTITIONS),
}
"""The rows of thousands of runs are few: to compile a statement takes longer than to ask it."""
VIEWS = {
    "stored_runs": """
        select night, scenario, run, kafka, expect, subject_of(parameters) as subject, plan,
          started_micros, ended_micros, run_verdict, run_verdict <> 'undecided' as is_decided
        from stored where check_name is null""",
    "clients_of_runs": """
        select night, run, explode(clients) as client from stored where check_name is null""",
    "judged_checks": """
        select night, run, explode(judged) as check_name from stored where check_name is null""",
    "resumptions": """
        select night, run, one.client, one.redelivered
        from (select night, run, explode(resumed) as one from stored where check_name is null)""",
    "stored_findings": """
        select *, subject_of(parameters) as subject from stored where check_name is not null""",
}
"""What the statements read, of the rows of the store."""


@dataclass(frozen=True)
class History:
    """The rows of nights of one suite and pool, up to a night.

    Attributes:
        nights: their names, the oldest first.
        runs: `stored_runs`.
        chances: of findings (`opportunities.sql`).
        series: of measures (`series.sql`).
    """

    nights: list[str]
    runs: list[Row]
    chances: list[Row]
    series: list[Row]


def history_of(store: str, *, night: str, suite: str, cluster: str) -> History:
    """Read the history of a night from the store, by the Spark that runs.

    Args:
        store: its folder or URI.
        night: its name; later ones do not count.
        suite: of the night.
        cluster: of the night.

    Raises:
        AnalysisError: it can't be read.
    """
    try:
        return _history(store, night, suite, cluster)
    except (PySparkException, Py4JError) as error:
        raise AnalysisError(
            f"the nights in the store {store} can't be read: {jvm.reason(error)}"
        ) from error


def _history(store: str, night: str, suite: str, cluster: str) -> History:
    spark = sql_session()
    for setting, value in _OF_FEW_ROWS.items():
        spark.conf.set(setting, value)
    # A file a run: they are read once, without the whole verdicts.
    columns = [name for name in STORED.names if name != "verdict_json"]
    rows = spark.read.options(**LITERAL).schema(from_arrow_schema(STORED))
    stored = rows.parquet(in_full(place(store))).select(columns)
    stored = stored.where((col("suite") == suite) & (col("cluster") == cluster))
    stored = stored.coalesce(_PARTITIONS).cache()
    began = stored.groupBy("night").agg(least("started_micros").alias("began")).toArrow()
    nights = in_order(began.to_pylist(), night)
    spark.udf.register("shape", shape)
    spark.udf.register("subject_of", subject_of)
    named = stored.where(col("night").isin(nights)).withColumnRenamed("check", "check_name")
    named.createOrReplaceTempView("stored")
    for view, text in VIEWS.items():
        spark.sql(text).createOrReplaceTempView(view)
    spark.sql(statement("sightings")).cache().createOrReplaceTempView("sightings")

    def ask(text: str) -> list[Row]:
        found: list[Row] = spark.sql(text).toArrow().to_pylist()
        return found

    return History(
        nights,
        ask("select * from stored_runs order by started_micros, night, run"),
        ask(statement("opportunities")),
        ask(statement("series")),
    )


def in_order(began: Sequence[Row], night: str) -> list[str]:
    """The nights that began before one, and it, the oldest first."""
    known = {row["night"]: row["began"] for row in began}
    last = known.get(night)
    names = [name for name, when in known.items() if last is not None and when <= last]
    return sorted(names, key=lambda name: (known[name], name == night, name))


def statement(name: str) -> str:
    """The text of a statement of this package."""
    return files("analysis.trends").joinpath(f"{name}.sql").read_text()

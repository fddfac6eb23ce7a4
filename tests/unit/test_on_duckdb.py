"""What the checks ask of Spark's DataFrames, on DuckDB; where `make bench-analysis` put it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

pytest.importorskip("duckdb")
pytest.importorskip("sqlglot")

from bench.on_duckdb import functions as F  # noqa: N812 - Spark's own habit
from bench.on_duckdb.columns import Window
from bench.on_duckdb.session import Session

if TYPE_CHECKING:
    from bench.on_duckdb.frames import DataFrame


@pytest.fixture
def rows(tmp_path: Path) -> "DataFrame":
    session = Session(threads=1, memory="1GB", spill=tmp_path)
    content = {"group": ["a", "a", "b"], "offset": [1, None, 3], "isr": [[1, 2], [], [3]]}
    return session.createDataFrame(pa.table(content))


def test_conditions_keep_their_parentheses(rows: "DataFrame") -> None:
    either = (F.col("group") == "b") | F.col("offset").isNull()
    found = rows.where(either & (F.col("offset") > 1)).collect()
    assert [row["group"] for row in found] == ["b"]


def test_nulls_come_first_where_an_order_ascends_and_last_where_it_descends(
    rows: "DataFrame",
) -> None:
    order = Window.orderBy("offset")
    back = Window.orderBy(F.desc("offset"))
    told = rows.select(
        "offset", F.row_number().over(order).alias("up"), F.row_number().over(back).alias("down")
    )
    assert {(row["offset"], row["up"], row["down"]) for row in told.collect()} == {
        (None, 1, 3),
        (1, 2, 2),
        (3, 3, 1),
    }


def test_joins_by_key_have_it_once_and_by_condition_know_aliases(rows: "DataFrame") -> None:
    by_key = rows.join(rows.groupBy("group").count(), on="group", how="left")
    assert by_key.columns == ["group", "offset", "isr", "count"]
    one, other = rows.alias("one"), rows.alias("other")
    joined = one.join(other, on=F.col("one.offset") < F.col("other.offset"), how="inner")
    assert [
        row["first"] for row in joined.select(F.col("one.offset").alias("first")).collect()
    ] == [1]
    assert one.join(other.where("offset = 3"), on="group", how="left_anti").count() == 2


def test_text_tells_what_is_null_and_counts_of_nothing_are_0(rows: "DataFrame") -> None:
    told = rows.groupBy("group").agg(
        F.format_string("%s of %.1f", F.max(F.expr("if(offset > 2, null, offset)")), F.count("*")),
        F.count_if(F.col("offset") > 2).alias("above"),
    )
    assert sorted(tuple(row.values()) for row in told.collect()) == [
        ("a", "1 of 2.0", 0),
        ("b", "null of 1.0", 1),
    ]


def test_structs_have_their_fields_and_the_last_of_them_may_be_null(rows: "DataFrame") -> None:
    newest = F.max_by(F.struct("offset", "isr"), F.size("isr")).alias("newest")
    told = rows.where("size(isr) = 0").groupBy("group").agg(newest).select("group", "newest.*")
    assert told.collect() == [{"group": "a", "offset": None, "isr": []}]
    exploded = rows.select("group", F.explode("isr").alias("broker")).where(
        F.expr("exists(array(1, 3), b -> b = broker)")
    )
    assert sorted(row["broker"] for row in exploded.collect()) == [1, 3]


def test_unions_by_name_fill_what_is_missing(rows: "DataFrame") -> None:
    other = rows.selectExpr("offset + 10 as later", "group")
    told = rows.drop("isr").unionByName(other, allowMissingColumns=True)
    assert told.columns == ["group", "offset", "later"]
    assert told.where("later is not null and offset is null").count() == 2

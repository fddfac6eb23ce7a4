"""Statements that frames become, without a session."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine import spelling
from analysis.engine.columns import Window, literal
from analysis.engine.duckdb import DuckDBEngine
from analysis.engine.frames import Frame, View
from analysis.engine.sharing import resolved, shared, used_once
from analysis.engine.statements import statement


def table(name: str, *columns: str) -> Frame:
    return Frame(None, columns, View(name))  # type: ignore[arg-type] - nothing is run


POLLS = table("polls", "group", "offset", "value")
GROUPS = table("groups", "group", "client")


def test_literals_are_escaped() -> None:
    assert [literal(one) for one in (None, True, 3, 2**40, 0.5, r"a'b\d")] == [
        "null",
        "true",
        "3",
        f"{2**40}L",
        "0.5D",
        r"'a\'b\\d'",
    ]
    with pytest.raises(TypeError, match="no literal"):
        literal([1])


def test_operators_keep_their_order() -> None:
    column = (F.col("a") + 1) * 2 > F.lit("x")
    assert column.sql == "(((`a` + 1) * 2) > 'x')"
    assert (~(column | F.expr("b is null"))).sql == f"(NOT ({column.sql} OR (b is null)))"
    case = F.when(F.col("a") == 1, "one").when(F.col("a") == 2, F.col("b")).otherwise(None)
    assert case.sql == "CASE WHEN (`a` = 1) THEN 'one' WHEN (`a` = 2) THEN `b` ELSE null END"


def test_nothing_is_in_an_empty_list() -> None:
    assert F.col("a").isin([]).sql == "FALSE"
    assert F.col("a").isin([1, 2]).sql == "(`a` IN (1, 2))"


def test_a_column_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="use &"):
        bool(F.col("a") == 1)


def test_windows_have_their_frame() -> None:
    before = Window.partitionBy("group").orderBy(F.desc("offset")).rowsBetween(-1, 0)
    assert F.lag("offset").over(before).sql == (
        "lag(`offset`) OVER (PARTITION BY `group` ORDER BY `offset` DESC"
        " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    )


def test_clauses_of_one_select_stay_together() -> None:
    frame = POLLS.where("offset > 1").where(F.col("group") == "g").select("group", "value")
    assert statement(frame) == (
        "SELECT `group`, `value` FROM polls AS _0\nWHERE (offset > 1) AND (`group` = 'g')"
    )


def test_what_is_selected_is_filtered_from_outside() -> None:
    frame = POLLS.withColumn("next", F.col("offset") + 1).where("next > 3")
    assert statement(frame) == (
        "SELECT `group`, `offset`, `value`, `next` FROM"
        " (SELECT `group`, `offset`, `value`, (`offset` + 1) AS `next` FROM polls AS _0) AS _0\n"
        "WHERE (next > 3)"
    )


def test_keys_of_a_join_come_once_and_first() -> None:
    joined = POLLS.join(GROUPS, on="group", how="left")
    assert joined.columns == ("group", "offset", "value", "client")
    assert statement(joined.select("client")) == (
        "SELECT `client` FROM polls AS _0\nLEFT JOIN groups AS _1 USING (`group`)"
    )
    assert POLLS.join(GROUPS, on="group", how="left_semi").columns == ("group", "offset", "value")


def test_what_is_used_twice_stands_first() -> None:
    large = POLLS.groupBy("group").agg(F.max("offset").alias("most"))
    both = large.join(large.toDF("group", "other"), on="group", how="inner")
    assert statement(both).startswith("WITH step_1 AS (SELECT `group`, max(`offset`) AS `most`")
    assert statement(both).count("max(") == 1


def test_a_union_has_the_names_of_its_first_part() -> None:
    other = POLLS.selectExpr("offset + 10 as later", "group")
    united = POLLS.drop("value").unionByName(other, allowMissingColumns=True)
    assert united.columns == ("group", "offset", "later")
    assert statement(united).count("UNION ALL") == 1
    assert "null AS `later`" in statement(united)
    assert "null AS `offset`" in statement(united)
    assert len(table("t", "a").union(table("u", "b")).union(table("v", "c")).body.parts) == 3
    with pytest.raises(ValueError, match="a union of"):
        POLLS.union(GROUPS)


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: POLLS.select(F.max("offset")), "a column needs a name: max"),
        (lambda: POLLS.select("group", F.lit(1).alias("group")), "several columns are called gr"),
        (lambda: POLLS.crossJoin(GROUPS), "several columns are called group"),
    ],
)
def test_names_that_mean_nothing_are_refused(build: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        build()  # type: ignore[operator]


def test_duckdb_spells_what_it_has_otherwise() -> None:
    spelled = spelling.in_duckdb(
        "SELECT struct(a, b AS c), filter(xs, x -> x.id > 1).id, bigint(a), xxhash64(a),"
        " last_value(a) IGNORE NULLS OVER (ORDER BY b), format_string('%,d', a) FROM t AS _0"
    )
    for part in (
        "{'a': a, 'c': b}",
        "LIST_TRANSFORM(",
        "CAST(a AS BIGINT)",
        "HASH(a)",
        "FORMAT('{:,}', a)",
    ):
        assert part in spelled
    assert "LAST_VALUE(a IGNORE NULLS)" in spelled
    assert "ORDER BY b NULLS FIRST" in spelled


def test_statements_that_differ_in_the_numbers_of_tables_are_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = "SELECT {0}.a, 't9 {0}' AS t FROM {0} JOIN {1} ON {0}.a = {1}.a"
    first = query.format("t12", "t3")
    assert spelling.in_duckdb(first) == first
    monkeypatch.delattr(spelling, "parse_one")
    for tables in (("t1", "t2"), ("t2", "t1"), ("t3", "t12")):
        assert spelling.in_duckdb(query.format(*tables)) == query.format(*tables)


def test_duckdb_runs_the_statements_of_frames(tmp_path: Path) -> None:
    engine = DuckDBEngine(threads=1, memory="1GB", spill=tmp_path)
    content = {"group": ["a", "a", "b"], "offset": [1, None, 3], "isr": [[1, 2], [], [3]]}
    rows = engine.table(pa.table(content))
    told = rows.groupBy("group").agg(
        F.format_string("%s of %.1f", F.max("offset"), F.count(F.lit(1))).alias("said"),
        F.count_if(F.col("offset") > 2).alias("above"),
        F.max_by(F.struct("offset", "isr"), F.size("isr")).alias("newest"),
    )
    found = engine.materialized(told).select("group", "said", "above", "newest.isr").collect()
    assert sorted(tuple(map(str, row.values())) for row in found) == [
        ("a", "1 of 2.0", "0", "[1, 2]"),
        ("b", "3 of 1.0", "1", "[3]"),
    ]


@pytest.mark.parametrize("name", ["it's", 'a "b"', "[1]*?", "leader=killed", "a;b%20", "ä\nb"])
def test_duckdb_reads_a_file_in_any_folder(tmp_path: Path, name: str) -> None:
    content = pa.table({"group": ["a", None], "leader": [1, 2]})
    (tmp_path / name).mkdir()
    pq.write_table(content, tmp_path / name / "rows.parquet")
    engine = DuckDBEngine(threads=1, memory="1GB", spill=tmp_path / name)
    rows = engine.parquet(tmp_path / name / "rows.parquet", content.schema, 2)
    assert rows.toArrow() == content


def test_json_has_no_nulls(tmp_path: Path) -> None:
    engine = DuckDBEngine(threads=1, memory="1GB", spill=tmp_path)
    rows = engine.table(pa.table({"one": [1, None], "more": [[1, None], None]}))
    told = rows.select(
        F.to_json(F.struct("one", F.struct("one").alias("of"))).alias("of_struct"),
        F.to_json("more").alias("of_array"),
    )
    assert [tuple(row.values()) for row in told.collect()] == [
        ('{"one":1,"of":{"one":1}}', "[1,null]"),
        ('{"of":{}}', None),
    ]


def test_duckdb_writes_null_and_collects_nothing_as_spark_does(tmp_path: Path) -> None:
    engine = DuckDBEngine(threads=1, memory="1GB", spill=tmp_path)
    rows = engine.table(pa.table({"one": [1.25, None], "name": ["a", None]}))
    said = rows.select(F.format_string("%s: %.0f, %.1f %%", "name", "one", "one").alias("said"))
    assert [row["said"] for row in said.collect()] == ["a: 1, 1.3 %", "null: , n %"]
    of_none = rows.where("one > 2").agg(
        F.collect_list("one").alias("each"),
        F.expr("sort_array(collect_set(name)) as distinct_ones"),
    )
    assert [tuple(row.values()) for row in of_none.collect()] == [([], [])]
    ahead = Window.orderBy("name").rowsBetween(1, 1)
    listed = rows.select(F.collect_list("name").over(ahead).alias("each"))
    assert [row["each"] for row in listed.collect()] == [["a"], []]


def test_duckdb_rounds_as_java_does(tmp_path: Path) -> None:
    engine = DuckDBEngine(threads=1, memory="1GB", spill=tmp_path)
    numbers = [21820.5, 1.005, -0.04, 2.0, 12345678.25]
    said = F.format_string("%.0f %.1f %.2f", "number", "number", "number").alias("said")
    told = engine.table(pa.table({"number": numbers})).select(said)
    assert [row["said"] for row in told.collect()] == [
        "21821 21820.5 21820.50",
        "1 1.0 1.01",
        "-0 -0.0 -0.04",
        "2 2.0 2.00",
        "12345678 12345678.3 12345678.25",
    ]


def test_a_select_becomes_part_of_the_one_that_reads_it() -> None:
    frame = (
        POLLS.withColumn("next", F.col("offset") + 1)
        .where("`group` = 'g'")
        .withColumn("again", F.col("value"))
        .select("group", F.col("next").alias("following"), "again")
    )
    assert statement(frame) == (
        "SELECT `group`, (`offset` + 1) AS `following`, `value` AS `again` FROM polls AS _0\n"
        "WHERE (`group` = 'g')"
    )


@pytest.mark.parametrize(
    "frame",
    [
        # What it reads is computed below it; or would be computed over other rows.
        POLLS.withColumn("next", F.col("offset") + 1).withColumn("more", F.col("next") + 1),
        POLLS.withColumn("_at", F.expr("offset + 1")).where("_at > 3"),
        POLLS.withColumn("before", F.lag("offset").over(Window.orderBy("offset"))).where(
            "offset > 1"
        ),
        POLLS.withColumn("one", F.expr("explode(value)")).select("group"),
        POLLS.groupBy("group").agg(F.max("offset").alias("most")).where("`group` = 'g'"),
        POLLS.select("group").distinct().withColumn("one", F.lit(1)),
        POLLS.limit(3).where("offset > 1"),
        # The column of the right side would be mistaken for the one that was left out.
        POLLS.drop("value").join(table("w", "offset", "value"), on="offset"),
    ],
)
def test_a_select_stays_apart_where_rows_would_change(frame: Frame) -> None:
    assert statement(frame).count("SELECT") == 2


def test_names_in_a_text_are_no_columns() -> None:
    said = POLLS.withColumn("next", F.col("offset") + 1).withColumn("said", F.lit("the next's"))
    assert statement(said).count("SELECT") == 1
    quoted = POLLS.withColumn("next", F.col("offset") + 1).where("concat('it\\'s', next, '') > 'x'")
    assert statement(quoted).count("SELECT") == 2


def test_a_filter_of_the_left_side_may_follow_its_join() -> None:
    for how, selects in (("left", 1), ("left_anti", 1), ("full_outer", 2)):
        frame = POLLS.where("offset > 1").join(GROUPS, on="group", how=how)
        assert statement(frame).count("SELECT") == selects, how


def test_what_one_place_uses_is_inlined_and_what_several_use_is_computed() -> None:
    computed: list[Frame] = []

    def compute(frame: Frame) -> Frame:
        computed.append(frame)
        return table(f"t{len(computed)}", *frame.columns)

    one = shared(POLLS.groupBy("group").agg(F.max("offset").alias("most")))
    other = shared(one.where("most > 1"))
    several = shared(POLLS.select("group").distinct())
    asked = [
        other.join(several, on="group"),
        GROUPS.join(several, on="group"),
    ]
    inlined = used_once(asked)
    texts = [statement(resolved(frame, compute, inlined)) for frame in asked]
    assert [statement(frame) for frame in computed] == ["SELECT DISTINCT `group` FROM polls AS _0"]
    assert all("JOIN t1 AS _1" in text for text in texts)
    assert "max(`offset`)" in texts[0]
    # Without a plan for all statements, whatever is shared is computed.
    assert statement(resolved(asked[0], compute, frozenset())).startswith("SELECT")
    assert [statement(frame) for frame in computed][1:] == [
        "SELECT `group`, max(`offset`) AS `most` FROM polls AS _0\nGROUP BY 1",
        "SELECT `group`, `most` FROM t2 AS _0\nWHERE (most > 1)",
    ]


def test_what_cannot_be_computed_raises_the_same_error_each_time() -> None:
    attempts = 0

    def compute(frame: Frame) -> Frame:
        nonlocal attempts
        attempts += 1
        raise ValueError(f"no {frame.columns}")

    rows = shared(POLLS.select("group"))
    for _ in range(2):
        with pytest.raises(ValueError, match="no "):
            resolved(rows.where("`group` = 'g'"), compute, frozenset())
    assert attempts == 1
